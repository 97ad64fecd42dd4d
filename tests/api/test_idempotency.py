"""Idempotency-Key: a repeated POST has one effect and one answer."""

import pytest

from harness import all_at_once, refusal, unique


def keyed(key=None):
    return {"Idempotency-Key": key or unique("key")}


def test_a_repeat_gets_the_first_answer_and_has_no_effect(ws):
    headers = keyed()
    first = ws.post("/systems", {"name": "s"}, headers=headers, status=202)
    again = ws.post("/systems", {"name": "s"}, headers=headers, status=202)
    assert again.content == first.content
    assert ws.get("/systems").json()["total"] == 1


def test_without_a_key_a_repeat_is_another_request(ws):
    ids = {ws.post("/systems", {"name": "s"}, status=202).json()["id"] for _ in range(2)}
    assert len(ids) == 2
    ws.post("/systems", {"name": "s"}, headers={"Idempotency-Key": ""}, status=202)
    ws.post("/systems", {"name": "s"}, headers={"Idempotency-Key": ""}, status=202)
    assert ws.get("/systems").json()["total"] == 4


def test_every_kind_of_create_can_be_repeated(admin, world):
    ws, slug = world.ws, unique("ws")
    email = f"{unique('u')}@example.org"
    requests = [
        (admin, "/workspaces", {"name": "Name", "slug": slug}, 201),
        (admin, "/users", {"email": email, "password": "a long password"}, 201),
        (ws, "/systems", {"name": "s"}, 202),
        (ws, "/environments", {"name": "e"}, 202),
        (ws, "/deployments", {"name": "d", "slug": "d"}, 202),
        (ws, f"/deployments/{world.deployment}/versions", {"tag": "v1"}, 200),
    ]
    for client, path, body, status in requests:
        headers = keyed()
        first = client.post(path, body, headers=headers, status=status)
        again = client.post(path, body, headers=headers, status=status)
        assert again.json() == first.json(), path


def test_a_claim_can_be_repeated(world):
    world.publish()
    world.wait_for_jobs(3)
    headers, path = keyed(), f"/job-agents/{world.agent}/claim"
    first = world.ws.post(path, {"instanceId": "one"}, headers=headers, status=200).json()
    world.report(first["id"], "inProgress", instanceId="one")
    again = world.ws.post(path, {"instanceId": "one"}, headers=headers, status=200).json()
    assert again["id"] == first["id"]
    assert len(world.queued()) == 2


def test_a_claim_of_nothing_is_repeated_as_nothing(world):
    headers, path = keyed(), f"/job-agents/{world.agent}/claim"
    world.ws.post(path, {"instanceId": "one"}, headers=headers, status=204)
    world.publish()
    world.wait_for_jobs(3)
    world.ws.post(path, {"instanceId": "one"}, headers=headers, status=204)


def test_a_redeploy_and_a_cancel_can_be_repeated(world):
    world.publish()
    world.wait_for_jobs(3)
    world.finish_everything()
    headers, path = keyed(), f"/release-targets/{world.key('prod-a')}/redeploy"
    first = world.ws.post(path, headers=headers, status=202).json()
    assert world.ws.post(path, headers=headers, status=202).json() == first
    headers, path = keyed(), f"/jobs/{first['id']}/cancel"
    cancelled = world.ws.post(path, headers=headers, status=202).json()
    assert world.ws.post(path, headers=headers, status=202).json() == cancelled
    refusal(world.ws.post(path), 409)


def test_the_same_key_with_another_body_is_409(ws):
    headers = keyed()
    ws.post("/systems", {"name": "one"}, headers=headers, status=202)
    refusal(ws.post("/systems", {"name": "two"}, headers=headers), 409)
    assert [s["name"] for s in ws.get("/systems").json()["items"]] == ["one"]


def test_the_same_key_on_another_path_is_another_request(ws):
    headers = keyed()
    system = ws.post("/systems", {"name": "same"}, headers=headers, status=202).json()["id"]
    environment = ws.post("/environments", {"name": "same"}, headers=headers, status=202).json()["id"]
    assert system != environment


def test_the_same_key_in_another_workspace_is_another_request(admin, ws):
    body, headers = {"name": "s"}, keyed()
    clients = (ws, admin.new_workspace())
    ids = {client.post("/systems", body, headers=headers, status=202).json()["id"] for client in clients}
    assert len(ids) == 2


def test_the_same_key_of_another_user_is_another_request(admin, ws):
    made = admin.post("/users", {"email": f"{unique('u')}@example.org"}, status=201).json()
    ws.put(f"/members/{made['id']}", {"role": "operator"}, status=200)
    key = admin.post("/api-keys", {"name": "k", "userId": made["id"]}, status=201).json()["key"]
    headers, theirs = keyed(), ws.with_key(key)
    body, clients = {"name": "s"}, (ws, theirs)
    ids = {client.post("/systems", body, headers=headers, status=202).json()["id"] for client in clients}
    assert len(ids) == 2
    refusal(theirs.post("/systems", {"name": "other"}, headers=headers), 409)


def test_a_refusal_is_not_remembered(ws):
    headers = keyed()
    ws.make_environment("taken")
    refusal(ws.post("/environments", {"name": "taken"}, headers=headers), 409)
    ws.delete(f"/environments/{ws.get('/environments/name/taken').json()['id']}", status=202)
    ws.post("/environments", {"name": "taken"}, headers=headers, status=202)


@pytest.mark.parametrize("path, body", [("/systems", {"name": "s"}), ("/environments", {"name": "e"})])
def test_20_concurrent_repeats_have_one_effect_and_one_answer(ws, path, body):
    headers = keyed()
    answers = all_at_once(20, lambda i: ws.post(path, body, headers=headers, status=202).json()["id"])
    assert len(set(answers)) == 1
    assert ws.get(path).json()["total"] == 1


def test_concurrent_versions_with_one_key_are_one_version(ws):
    path, headers = f"/deployments/{ws.make_deployment()}/versions", keyed()
    answers = all_at_once(20, lambda i: ws.post(path, {"tag": "v1"}, headers=headers, status=200).json())
    assert all(answer == answers[0] for answer in answers)
    assert ws.get(path).json()["total"] == 1


def test_the_answer_is_the_first_also_when_things_have_changed(ws):
    deployment, headers = ws.make_deployment(), keyed()
    path = f"/deployments/{deployment}/versions"
    first = ws.post(path, {"tag": "v1"}, headers=headers, status=200).json()
    ws.patch(f"/deployment-versions/{first['id']}", {"status": "rejected"}, status=202)
    assert ws.post(path, {"tag": "v1"}, headers=headers, status=200).json() == first


def test_a_key_that_is_lost_its_right_gets_no_answer_of_the_past(ws):
    """Whoever may not do it any more does not get the answer either."""
    operator, headers = ws.as_role("operator"), keyed()
    operator.post("/systems", {"name": "s"}, headers=headers, status=202)
    viewer = ws.as_role("viewer")  # the same user
    refusal(viewer.post("/systems", {"name": "s"}, headers=headers), 403)


def test_strange_keys_are_keys(ws):
    for key in ("x" * 8000, "with blank", "ümläut", "1"):
        headers = {"Idempotency-Key": key.encode()}
        ids = {ws.post("/systems", {"name": "s"}, headers=headers, status=202).json()["id"] for _ in range(2)}
        assert len(ids) == 1
