"""Workspaces and who belongs to them."""

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal, unique


@pytest.fixture()
def user(admin):
    """A user without any workspace, with a key."""
    made = admin.post("/users", {"email": f"{unique('u')}@example.org", "name": "A User"}, status=201).json()
    key = admin.post("/api-keys", {"name": "k", "userId": made["id"]}, status=201).json()["key"]
    client = admin.with_key(key)
    client.id, client.email = made["id"], made["email"]
    return client


def test_a_workspace_is_made_found_renamed_and_deleted(admin):
    slug = unique("ws")
    made = admin.post("/workspaces", {"name": "Some Name", "slug": slug}, status=201).json()
    assert set(made) == {"id", "name", "slug", "createdAt"}
    assert (made["name"], made["slug"]) == ("Some Name", slug)
    ws = admin.workspace(made["id"])
    assert ws.get("", status=200).json() == made
    assert admin.get(f"/workspaces/slug/{slug}", status=200).json() == made
    assert made in admin.get("/workspaces", status=200).json()["workspaces"]
    renamed = ws.patch("", {"name": "Other", "slug": slug + "-2"}, status=200).json()
    assert renamed == {**made, "name": "Other", "slug": slug + "-2"}
    refusal(admin.get(f"/workspaces/slug/{slug}"), 404)
    assert ws.delete("", status=204).content == b""
    refusal(ws.get(""), 404)
    refusal(ws.delete(""), 404)
    refusal(ws.get("/systems"), 404)


def test_a_list_of_workspaces_counts_them(admin, ws):
    body = admin.get("/workspaces", status=200).json()
    assert body["total"] == len(body["workspaces"]) > 0


def test_a_change_of_nothing_changes_nothing(ws):
    before = ws.get("").json()
    assert ws.patch("", {}, status=200).json() == before
    assert ws.patch("", {"name": None, "id": new_id()}, status=200).json() == before


def test_a_slug_that_is_taken_is_409(admin, ws):
    other = admin.new_workspace()
    refusal(admin.post("/workspaces", {"name": "Name", "slug": ws.slug}), 409)
    refusal(other.patch("", {"slug": ws.slug}), 409)
    other.patch("", {"slug": other.slug}, status=200)
    assert other.get("").json()["slug"] == other.slug


def test_of_20_concurrent_creates_of_one_slug_one_wins(admin):
    slug = unique("ws")
    answers = all_at_once(20, lambda i: admin.post("/workspaces", {"name": f"Name {i}",
                                                                   "slug": slug}).status_code)
    assert sorted(answers) == [201] + [409] * 19


def test_20_workspaces_made_at_once_are_all_of_use(admin):
    def make_and_use(_):
        ws = admin.new_workspace()
        return ws.get(f"/systems/{ws.make_system()}", status=200).json()["workspaceId"] == ws.id

    assert all(all_at_once(20, make_and_use))


@pytest.mark.parametrize("body, path", [
    ({"name": "ab"}, "name"), ({"name": "x" * 31}, "name"), ({"name": ""}, "name"), ({"slug": "ab"}, "slug"),
    ({"slug": "x" * 51}, "slug"), ({"slug": "Has-Capitals"}, "slug"), ({"slug": "with blank"}, "slug"),
    ({"slug": "under_score"}, "slug"), ({"slug": "ümläut"}, "slug"), ({"name": "nul\0nul"}, "name"),
])
def test_bad_names_and_slugs_are_400(admin, ws, body, path):
    assert complaint_paths(admin.post("/workspaces",
                                      {"name": "Name", "slug": unique("ws"), **body})) == [path]
    assert complaint_paths(ws.patch("", body)) == [path]


def test_names_count_characters_not_bytes(admin):
    admin.post("/workspaces", {"name": "ü" * 30, "slug": unique("ws")}, status=201)


@pytest.mark.parametrize("make", ["make_system", "make_environment", "make_deployment", "make_resource"])
def test_a_workspace_with_something_in_it_is_not_deleted(ws, make):
    getattr(ws, make)()
    refusal(ws.delete(""), 409)
    ws.get("", status=200)


def test_a_slug_is_free_again_after_a_delete(admin, ws):
    ws.delete("", status=204)
    again = admin.post("/workspaces", {"name": "Again", "slug": ws.slug}, status=201).json()
    assert again["id"] != ws.id
    assert admin.workspace(ws.slug).get("/systems", status=200).json()["total"] == 0


def test_a_deleted_workspaces_keys_are_unknown(ws):
    narrow = ws.as_role("viewer")
    narrow.get("/systems", status=200)
    ws.delete("", status=204)
    refusal(narrow.get("/systems"), 401)


# ---- Members -------------------------------------------------------------------------------------------


def test_whoever_makes_a_workspace_is_its_administrator(user):
    ws = user.new_workspace()
    members = ws.get("/members", status=200).json()["items"]
    assert members == [{"userId": user.id, "email": user.email, "name": "A User", "role": "admin"}]
    ws.make_system()


def test_members_come_change_their_role_and_go(ws, user):
    theirs = user.workspace(ws.id)
    refusal(theirs.get("/systems"), 404)
    assert user.get("/workspaces").json() == {"workspaces": [], "total": 0}
    member = ws.put(f"/members/{user.id}", {"role": "viewer"}, status=200).json()
    assert member == {"userId": user.id, "email": user.email, "name": "A User", "role": "viewer"}
    theirs.get("/systems", status=200)
    refusal(theirs.post("/systems", {"name": "s"}), 403)
    assert [w["id"] for w in user.get("/workspaces").json()["workspaces"]] == [ws.id]
    ws.put(f"/members/{user.id}", {"role": "operator"}, status=200)
    theirs.make_system()
    assert user.get("/session").json()["workspaces"][0]["role"] == "operator"
    emails = [m["email"] for m in ws.get("/members").json()["items"]]
    assert user.email in emails and emails == sorted(emails)
    ws.delete(f"/members/{user.id}", status=204)
    refusal(theirs.get("/systems"), 404)
    refusal(ws.delete(f"/members/{user.id}"), 404)


def test_only_known_users_and_roles_become_members(ws, user):
    refusal(ws.put(f"/members/{new_id()}", {"role": "viewer"}), 404)
    assert complaint_paths(ws.put(f"/members/{user.id}", {"role": "king"})) == ["role"]
    assert complaint_paths(ws.put(f"/members/{user.id}", {})) == ["role"]


def test_a_deleted_user_is_no_member_any_more(admin, ws, user):
    ws.put(f"/members/{user.id}", {"role": "viewer"}, status=200)
    admin.delete(f"/users/{user.id}", status=204)
    assert user.id not in [m["userId"] for m in ws.get("/members").json()["items"]]
    refusal(user.get("/session"), 401)


def test_a_foreign_workspace_is_404_by_id_and_by_slug(ws, user):
    for path in (f"/workspaces/{ws.id}", f"/workspaces/{ws.slug}", f"/workspaces/slug/{ws.slug}"):
        body = refusal(user.get(path), 404)
        assert body["code"] == "not_found"
    refusal(user.patch(f"/workspaces/{ws.id}", {"name": "Mine now"}), 404)
    refusal(user.delete(f"/workspaces/{ws.id}"), 404)


def test_a_taken_slug_is_not_given_to_somebody_who_cannot_see_it(ws, user):
    refusal(user.post("/workspaces", {"name": "Name", "slug": ws.slug}), 409)


def test_a_workspace_is_of_use_at_once(admin):
    ws = admin.new_workspace()
    for _ in range(3):
        ws.make_system()
    assert ws.get("/systems", status=200).json()["total"] == 3
