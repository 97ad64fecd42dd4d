"""Users, sessions and API keys, and who may do what."""

import re
from datetime import datetime, timedelta, timezone

import pytest

from harness import Client, PASSWORD, all_at_once, complaint_paths, eventually, new_id, refusal, unique

# The table of docs/api.md.
ROLES = ["viewer", "agent", "deployer", "operator", "admin"]
MAY = {
    "workspace.read": set(ROLES),
    "workspace.write": {"admin"},
    "deployment_freeze.read": set(ROLES),
    "deployment_freeze.create": {"deployer", "operator", "admin"},
    "notification.write": {"admin"},
    "members.write": {"admin"},
    "system.write": {"operator", "admin"},
    "environment.write": {"operator", "admin"},
    "deployment.write": {"operator", "admin"},
    "resource.write": {"operator", "admin"},
    "agent.write": {"operator", "admin"},
    "agent.register": {"agent", "operator", "admin"},
    "version.write": {"deployer", "operator", "admin"},
    "target.deploy": {"deployer", "operator", "admin"},
    "target.force_deploy": {"operator", "admin"},
    "version.approve": {"deployer", "operator", "admin"},
    "policy.write": {"operator", "admin"},
    "policy.skip": {"operator", "admin"},
    "bracket.act": {"operator", "admin"},
    "job.cancel": {"deployer", "operator", "admin"},
    "job.work": {"agent", "operator", "admin"},
}


def instant(**ahead):
    return (datetime.now(timezone.utc) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_email():
    return f"{unique('user')}@example.org"


def new_user(admin, **more):
    """A client for a new user with a key; `made` is its row."""
    email = new_email()
    made = admin.post("/users", {"email": email, "name": "A User", **more}, status=201).json()
    key = admin.post("/api-keys", {"name": "k", "userId": made["id"]}, status=201).json()["key"]
    client = admin.with_key(key)
    client.made, client.email = made, email
    return client


@pytest.fixture()
def user(admin):
    return new_user(admin)


@pytest.fixture()
def person(admin):
    """A user who can sign in; hashing a password takes long on purpose, so others have none."""
    return new_user(admin, password=PASSWORD)


class Session(Client):
    """A client that shows the cookie of a session in place of a key."""

    def __init__(self, server, token):
        super().__init__(server, None)
        self.headers = {"Cookie": f"ctrlplane_session={token}", "x-requested-with": "test"}


def sign_in(server, email, password=PASSWORD, status=200):
    anybody = Client(server, None)
    answer = anybody.post("/session", {"email": email, "password": password}, status=status)
    if status != 200:
        return answer
    token = re.match(r"ctrlplane_session=([0-9a-f]+);", answer.headers["Set-Cookie"]).group(1)
    return Session(server, token)


# ---- Users ---------------------------------------------------------------------------------------------


def test_a_user_is_made_read_changed_and_deleted(admin):
    email = new_email()
    made = admin.post("/users", {"email": email.upper(), "name": "N", "password": PASSWORD},
                      status=201).json()
    assert (made["email"], made["admin"], made["hasPassword"]) == (email, False, True)
    assert admin.get(f"/users/{made['id']}", status=200).json() == made
    changed = admin.patch(f"/users/{made['id']}", {"name": "M", "admin": True}, status=200).json()
    assert changed == {**made, "name": "M", "admin": True}
    assert admin.patch(f"/users/{made['id']}", {}, status=200).json() == changed
    admin.delete(f"/users/{made['id']}", status=204)
    refusal(admin.get(f"/users/{made['id']}"), 404)
    refusal(admin.delete(f"/users/{made['id']}"), 404)
    refusal(admin.patch(f"/users/{made['id']}", {"name": "x"}), 404)


def test_users_are_listed_by_address(admin, user):
    page = admin.get("/users?limit=1000", status=200).json()
    emails = [u["email"] for u in page["items"]]
    assert user.email in emails and emails == sorted(emails) and page["total"] == len(emails)


def test_an_address_is_used_once_whatever_its_case(admin, user):
    refusal(admin.post("/users", {"email": user.email.upper()}), 409)
    other = admin.post("/users", {"email": new_email()}, status=201).json()
    refusal(admin.patch(f"/users/{other['id']}", {"email": user.email}), 409)


def test_of_20_concurrent_creates_of_one_address_one_wins(admin):
    email = new_email()
    answers = all_at_once(20, lambda i: admin.post("/users", {"email": email}).status_code)
    assert sorted(answers) == [201] + [409] * 19


@pytest.mark.parametrize("body, path", [
    ({"email": "nobody"}, "email"), ({"email": "@example.org"}, "email"), ({"email": "a@"}, "email"),
    ({"email": "a b@example.org"}, "email"), ({"email": ""}, "email"), ({"email": "a@" + "x" * 300}, "email"),
    ({"email": "a@b@c"}, "email"), ({"password": "short"}, "password"),
    ({"password": "x" * 1025}, "password"),
    ({"name": "x" * 256}, "name"), ({"admin": "yes"}, "admin"), ({"name": "a\0"}, "name"),
])
def test_bad_users_are_400(admin, user, body, path):
    assert complaint_paths(admin.post("/users", {"email": new_email(), **body}))[0] == path
    assert complaint_paths(admin.patch(f"/users/{user.made['id']}", body))[0] == path


def test_the_last_administrator_stays(own_server):
    admin = own_server.client()
    me = admin.get("/session").json()["user"]["id"]
    refusal(admin.delete(f"/users/{me}"), 409)
    refusal(admin.patch(f"/users/{me}", {"admin": False}), 409)
    admin.get("/users", status=200)


def test_users_are_for_administrators_of_the_instance(user):
    for answer in (user.get("/users"), user.post("/users", {"email": new_email()}),
                   user.get(f"/users/{user.made['id']}"), user.delete(f"/users/{user.made['id']}"),
                   user.patch(f"/users/{user.made['id']}", {"admin": True})):
        assert "instance.admin" in refusal(answer, 403, "forbidden")["message"]


# ---- Sessions ------------------------------------------------------------------------------------------


def test_a_session_begins_says_who_it_is_and_ends(server, person):
    session = sign_in(server, person.email.upper())
    me = session.get("/session", status=200).json()
    assert (me["user"], me["via"], me["workspaces"]) == (person.made, "session", [])
    assert me["expiresAt"] > instant(days=6)
    out = session.delete("/session", status=204)
    assert "Max-Age=0" in out.headers["Set-Cookie"]
    refusal(session.get("/session"), 401)
    refusal(session.delete("/session"), 401)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(server, person):
    answer = Client(server, None).post("/session", {"email": person.email, "password": PASSWORD}, status=200)
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    token = cookie.split("=")[1].split(";")[0]
    assert token not in answer.text and len(token) >= 32


def test_the_cookie_is_for_https_only_where_the_server_is(start_server):
    server = start_server(["--secure-cookies"])
    answer = Client(server, None).post("/session", {"email": server.email, "password": server.password},
                                       status=200)
    assert "Secure" in answer.headers["Set-Cookie"].split("; ")


def test_a_write_with_a_session_needs_the_header_that_other_sites_cannot_send(server, person):
    session = sign_in(server, person.email)
    del session.headers["x-requested-with"]
    session.get("/workspaces", status=200)
    body = {"name": "Name", "slug": unique("ws")}
    assert "x-requested-with" in refusal(session.post("/workspaces", body), 403)["message"]
    refusal(session.delete("/session"), 403)
    session.post("/workspaces", body, headers={"X-Requested-With": ""}, status=201)


def test_a_session_does_what_its_user_may(server, ws, person):
    ws.put(f"/members/{person.made['id']}", {"role": "deployer"}, status=200)
    session = sign_in(server, person.email).workspace(ws.id)
    refusal(session.post("/systems", {"name": "s"}), 403)
    session.get("/systems", status=200)


@pytest.mark.parametrize("email, password", [("nobody@example.org", PASSWORD), (None, "wrong"),
                                             (None, PASSWORD + " ")])
def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(server, person, email, password):
    answer = sign_in(server, email or person.email, password, status=401)
    assert answer.json()["message"] == "the e-mail address or the password is wrong"
    assert "Set-Cookie" not in answer.headers


def test_a_user_without_a_password_cannot_sign_in(admin, server):
    email = new_email()
    admin.post("/users", {"email": email}, status=201)
    for password in ("x", " "):
        sign_in(server, email, password, status=401)
    refusal(Client(server, None).post("/session", {"email": email, "password": ""}), 400)


def test_after_ten_failures_further_tries_wait(server, person):
    for _ in range(10):
        sign_in(server, person.email, "wrong", status=401)
    for password in ("wrong", PASSWORD):
        answer = sign_in(server, person.email, password, status=429)
        assert int(answer.headers["Retry-After"]) > 60, "the message speaks of a quarter of an hour"
    person.get("/session", status=200)  # keys are another matter


def test_tries_at_the_same_time_are_counted_too(server, person):
    body = {"email": person.email, "password": "wrong"}
    answers = all_at_once(30, lambda i: Client(server, None).post("/session", body).status_code)
    assert answers.count(401) <= 10 and answers.count(401) + answers.count(429) == 30


def test_one_users_failures_are_not_anothers(server, person, admin):
    other = new_email()
    admin.post("/users", {"email": other, "password": PASSWORD}, status=201)
    for _ in range(11):
        sign_in(server, new_email(), "wrong", status=401)
    sign_in(server, other)


def test_a_success_forgets_the_failures(server, person):
    for _ in range(2):
        for _ in range(6):
            sign_in(server, person.email, "wrong", status=401)
        sign_in(server, person.email)


def test_a_new_password_ends_the_sessions_and_the_old_one(admin, server, person):
    session = sign_in(server, person.email)
    admin.patch(f"/users/{person.made['id']}", {"password": "another long password"}, status=200)
    refusal(session.get("/session"), 401)
    sign_in(server, person.email, PASSWORD, status=401)
    sign_in(server, person.email, "another long password")


@pytest.mark.parametrize("cookie", ["", "ctrlplane_session=", "ctrlplane_session=zz",
                                    "ctrlplane_session=" + "0" * 64,
                                    "other=1"])
def test_a_wrong_cookie_is_401(server, cookie):
    client = Client(server, None)
    client.headers = {"Cookie": cookie}
    refusal(client.get("/session"), 401)


def test_a_key_stands_above_a_cookie(server, person):
    session = sign_in(server, person.email)
    bad = {"x-api-key": "0" * 16 + "." + "0" * 64}
    refusal(session.get("/session", headers=bad), 401)
    me = session.get("/session", headers={"x-api-key": server.key}, status=200).json()
    assert (me["via"], me["user"]["email"]) == ("apiKey", server.email)


def test_a_key_cannot_sign_out(person):
    refusal(person.delete("/session"), 400)


@pytest.mark.parametrize("body", [{}, {"email": "a@b"}, {"password": "x"}, {"email": 1, "password": "x"},
                                  {"email": "a@b", "password": "x" * 1025}, {"email": "", "password": "x"}])
def test_bad_sign_ins_are_400(server, body):
    refusal(Client(server, None).post("/session", body), 400)


def test_a_repeated_sign_in_with_a_key_of_its_own_gives_a_cookie_that_works(server, person):
    """Idempotency-Key on any POST: the answer of a repeat must be as good as the first."""
    body = {"email": person.email, "password": PASSWORD}
    for _ in range(2):
        answer = Client(server, None).post("/session", body, headers={"Idempotency-Key": person.email})
        if answer.status_code == 400:
            return  # refused as a whole is fine too
        token = re.match(r"ctrlplane_session=([0-9a-f]+);", answer.headers["Set-Cookie"]).group(1)
        Session(server, token).get("/session", status=200)


# ---- API keys ------------------------------------------------------------------------------------------


def test_a_key_is_made_shown_once_and_revoked(admin, user):
    made = user.post("/api-keys", {"name": "ci"}, status=201).json()
    assert re.fullmatch(r"[0-9a-f]{16}\.[0-9a-f]{64}", made["key"])
    assert made["key"].startswith(made["prefix"] + ".")
    listed = user.get("/api-keys", status=200).json()["items"]
    assert {k: v for k, v in made.items() if k != "key"} in listed
    with_it = admin.with_key(made["key"])
    assert with_it.get("/session", status=200).json()["user"]["email"] == user.email
    user.delete(f"/api-keys/{made['id']}", status=204)
    refusal(with_it.get("/session"), 401)
    refusal(user.delete(f"/api-keys/{made['id']}"), 404)


def test_a_bearer_token_is_a_key_too(server, admin):
    bearer = Client(server, None)
    bearer.headers = {"Authorization": f"Bearer {server.key}"}
    assert bearer.get("/session", status=200).json()["via"] == "apiKey"
    bearer.headers = {"Authorization": f"Basic {server.key}"}
    refusal(bearer.get("/session"), 401)


@pytest.mark.parametrize("damage", [
    lambda key: "", lambda key: "x", lambda key: key[:-1], lambda key: key + "0", lambda key: key.upper(),
    lambda key: key[:17] + "0" * 64, lambda key: "0" * 16 + key[16:], lambda key: key.replace(".", ""),
    lambda key: key + "." + "0" * 64, lambda key: key.split(".")[0], lambda key: "x" * 10_000,
    lambda key: key[:-1] + "g",
])
def test_a_damaged_key_is_401(server, damage):
    answer = Client(server, damage(server.key) or None).get("/session")
    refusal(answer, 401, "unauthenticated")
    assert "WWW-Authenticate" in answer.headers


def test_a_key_that_has_expired_is_401(admin, user):
    made = user.post("/api-keys", {"name": "brief", "expiresAt": instant(seconds=1)}, status=201).json()
    brief = admin.with_key(made["key"])
    brief.get("/session", status=200)
    eventually(lambda: brief.get("/session").status_code == 401, within=5)
    assert made["id"] in [k["id"] for k in user.get("/api-keys").json()["items"]]


@pytest.mark.parametrize("body, path", [
    ({}, "name"), ({"name": ""}, "name"), ({"name": "k", "role": "king"}, "role"),
    ({"name": "k", "workspaceId": "none"}, "workspaceId"), ({"name": "k", "expiresAt": "soon"}, "expiresAt"),
    ({"name": "k", "expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"), ({"name": "x" * 256}, "name"),
    ({"name": "k", "userId": "me"}, "userId"),
])
def test_bad_keys_are_400(user, body, path):
    assert complaint_paths(user.post("/api-keys", body)) == [path]
    assert user.get("/api-keys").json()["total"] == 1


def test_a_key_for_a_workspace_one_cannot_see_is_404(user, ws):
    refusal(user.post("/api-keys", {"name": "k", "workspaceId": ws.id}), 404)
    refusal(user.post("/api-keys", {"name": "k", "workspaceId": new_id()}), 404)


def test_a_key_for_one_workspace_sees_that_one_only(admin, ws):
    other = admin.new_workspace()
    bound = admin.with_key(admin.new_key(workspaceId=ws.id))
    bound.workspace(ws.id).make_system()
    refusal(bound.workspace(other.id).get("/systems"), 404)
    assert [w["id"] for w in bound.get("/workspaces").json()["workspaces"]] == [ws.id]
    refusal(bound.get(f"/workspaces/slug/{other.slug}"), 404)


def test_a_narrowed_key_never_acts_for_the_instance(admin, ws):
    for narrowed in ({"role": "admin"}, {"workspaceId": ws.id}):
        key = admin.with_key(admin.new_key(**narrowed))
        refusal(key.get("/users"), 403)
        refusal(key.post("/workspaces", {"name": "Name", "slug": unique("ws")}), 403)


def test_a_narrowed_key_hands_on_no_more_than_it_has(admin, ws):
    viewer = admin.with_key(admin.new_key(role="viewer", workspaceId=ws.id))
    refusal(viewer.post("/api-keys", {"name": "k"}), 403)
    refusal(viewer.post("/api-keys", {"name": "k", "role": "admin", "workspaceId": ws.id}), 403)
    refusal(viewer.post("/api-keys", {"name": "k", "role": "viewer"}), 403)
    viewer.post("/api-keys", {"name": "k", "role": "viewer", "workspaceId": ws.id}, status=201)


def test_a_key_that_expires_hands_on_no_key_that_does_not(admin, ws):
    brief = admin.with_key(admin.new_key(role="viewer", expiresAt=instant(hours=1)))
    refusal(brief.post("/api-keys", {"name": "k", "role": "viewer"}), 403)
    refusal(brief.post("/api-keys", {"name": "k", "role": "viewer", "expiresAt": instant(hours=2)}), 403)
    brief.post("/api-keys", {"name": "k", "role": "viewer", "expiresAt": instant(minutes=30)}, status=201)


def test_a_narrowed_key_does_not_revoke_wider_ones(admin, user):
    full = user.post("/api-keys", {"name": "full"}, status=201).json()
    viewer = admin.with_key(user.new_key(role="viewer"))
    answer = viewer.delete(f"/api-keys/{full['id']}")
    assert answer.status_code in (403, 404), answer.text
    admin.with_key(full["key"]).get("/session", status=200)


def test_only_administrators_see_and_make_keys_of_others(admin, user):
    me = admin.get("/session").json()["user"]["id"]
    refusal(user.get(f"/api-keys?userId={me}"), 403)
    refusal(user.post("/api-keys", {"name": "k", "userId": me}), 403)
    assert admin.get(f"/api-keys?userId={user.made['id']}", status=200).json()["total"] == 1
    theirs = admin.get("/api-keys?limit=1000").json()["items"][0]["id"]
    refusal(user.delete(f"/api-keys/{theirs}"), 404)
    own = user.get("/api-keys").json()["items"][0]["id"]
    admin.delete(f"/api-keys/{own}", status=204)
    refusal(user.get("/session"), 401)


def test_a_new_key_cannot_be_asked_for_twice(user):
    refusal(user.post("/api-keys", {"name": "k"}, headers={"Idempotency-Key": "once"}), 400)
    assert user.get("/api-keys").json()["total"] == 1


# ---- Secrets -------------------------------------------------------------------------------------------


def every_get(client, contract):
    """The text of every GET that can be asked without knowing an id of its own."""
    for operation in contract.operations:
        if operation.method != "GET" or operation.id == "streamEvents":
            continue
        path = operation.path.replace("{workspaceId}", client.id)
        if "{" not in path:
            yield operation.id, client.root.get(path, status=200).text


def test_secrets_appear_in_no_answer_and_no_log(server, ws, person):
    session = sign_in(server, person.email)
    token = session.headers["Cookie"].split("=")[1]
    refusal(Client(server, person.key[:-1] + "x").get("/session"), 401)
    secrets = [server.key.split(".")[1], person.key.split(".")[1], token, PASSWORD, "$argon2", "secretHash",
               "passwordHash", "tokenHash", "secret_hash", "password_hash"]
    seen = 0
    for operation, text in every_get(ws, server.contract):
        if operation in ("openapi", "reference"):
            continue
        seen += 1
        for secret in secrets:
            assert secret not in text, f"{operation} tells a secret"
    assert seen > 15
    user_row = ws.at("/api/v1").get(f"/users/{person.made['id']}", status=200).text
    assert not any(secret in user_row for secret in secrets)
    for secret in secrets[:4]:
        assert secret not in server.output(), "a secret is in the log"


# ---- Roles and permissions, from openapi.json ----------------------------------------------------------


def guarded(contract):
    """(operation, path) of what asks for a permission in a workspace; ids in the path exist nowhere."""
    for operation in contract.operations:
        if operation.permission in (None, "self", "instance.admin"):
            continue
        path = re.sub(r"\{(?!workspaceId)\w+\}", lambda _: new_id(), operation.path)
        yield operation, path


def test_every_permission_is_in_the_documented_table(server):
    named = {o.permission for o in server.contract.operations} - {None, "self", "instance.admin"}
    assert named == set(MAY)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("by", ["key", "membership"])
def test_a_role_may_do_what_the_table_says(server, admin, ws, user, role, by):
    """A request without a body: whoever may is told that it is incomplete, whoever may not is told why."""
    if by == "key":
        client = ws.as_role(role)
    else:
        ws.put(f"/members/{user.made['id']}", {"role": role}, status=200)
        client = user
    wrong = []
    for operation, path in guarded(server.contract):
        if operation.id in ("deleteWorkspace", "streamEvents"):
            continue  # have tests of their own: one ends the workspace, the other does not end
        answer = client.root.request(operation.method, path.replace("{workspaceId}", ws.id))
        if role in MAY.get(operation.permission, ()):
            if answer.status_code in (401, 403):
                wrong.append(f"{operation.id} is refused: {answer.text[:200]}")
        elif answer.status_code != 403 or operation.permission not in answer.json()["message"]:
            wrong.append(f"{operation.id} ({operation.permission}): {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("role", ROLES[:-1])
def test_only_administrators_delete_a_workspace(ws, role):
    assert "workspace.write" in refusal(ws.as_role(role).delete(""), 403)["message"]
    ws.as_role("admin").delete("", status=204)


def test_a_key_with_a_wide_role_does_not_widen_its_user(admin, ws, user):
    ws.put(f"/members/{user.made['id']}", {"role": "viewer"}, status=200)
    client = admin.with_key(user.new_key(role="admin")).workspace(ws.id)
    client.get("/systems", status=200)
    refusal(client.post("/systems", {"name": "s"}), 403)


def test_everything_in_a_foreign_workspace_is_404(server, ws, user):
    wrong = []
    for operation, path in guarded(server.contract):
        answer = user.root.request(operation.method, path.replace("{workspaceId}", ws.id))
        if answer.status_code != 404:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)


def test_everything_that_is_not_public_is_401_without_a_key(server, ws):
    anybody = Client(server, None, "")
    public, wrong = set(), []
    for operation in server.contract.operations:
        path = re.sub(r"\{(?!workspaceId)\w+\}", lambda _: new_id(), operation.path)
        if operation.permission is None:
            public.add(operation.id)
            assert operation.described["security"] == []
            continue
        answer = anybody.request(operation.method, path.replace("{workspaceId}", ws.id))
        if answer.status_code != 401:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)
    assert public == {"healthz", "readyz", "version", "openapi", "reference", "metrics", "signIn"}


def test_every_operation_of_the_instance_is_403_for_others(server, user):
    wrong = []
    for operation in server.contract.operations:
        if operation.permission != "instance.admin":
            continue
        path = re.sub(r"\{\w+\}", lambda _: new_id(), operation.path)
        answer = user.root.request(operation.method, path)
        if answer.status_code != 403 or "instance.admin" not in answer.json()["message"]:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)
