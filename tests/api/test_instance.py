"""What holds for every request: routing, media types, limits, the instance's own pages."""

import http.client
import json
import re
import socket

import pytest

from harness import complaint_paths, eventually, new_id, raw_request, refusal, unique

SYSTEM = json.dumps({"name": "a system"}).encode()
JSON = {"Content-Type": "application/json"}


# ---- Pages of the instance -----------------------------------------------------------------------------


def test_health_is_open_to_everyone(admin):
    assert admin.with_key(None).root.get("/api/healthz", status=200).json() == {"status": "ok"}


def test_readiness_is_open_to_everyone(admin):
    anybody = admin.with_key(None).root
    eventually(lambda: anybody.get("/api/readyz").status_code == 200, what="readiness")
    assert anybody.get("/api/readyz", status=200).json() == {"status": "ok"}


def test_a_server_that_says_it_serves_is_ready(own_server):
    own_server.client().root.get("/api/readyz", status=200)


def test_the_version_names_the_program_and_its_schema(admin):
    version = admin.with_key(None).root.get("/api/version", status=200).json()
    assert version["api"] == version["workspaceEngine"] == version["version"] != ""
    assert version["schema"] >= 1


def test_the_description_is_open_and_complete_enough_to_use(admin):
    document = admin.with_key(None).root.get("/api/openapi.json", status=200).json()
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 50


def test_the_reference_page_is_html_that_loads_nothing_foreign(admin):
    page = admin.with_key(None).root.get("/api/ui", status=200)
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page.text)


def test_metrics_are_in_the_format_of_prometheus_and_count_requests(admin):
    def count():
        text = admin.with_key(None).root.get("/metrics", status=200).text
        found = re.search(r'^ctrlplane_http_requests_total\{operation="whoAmI",status="2xx"\} (\d+)$', text,
                          re.M)
        return int(found.group(1)) if found else 0

    before = count()
    admin.get("/session", status=200)
    assert count() == before + 1
    sample = re.compile(r'[a-z_0-9]+(\{([a-z_0-9]+="[^"\n]*",?)*\})? -?[0-9.e+-]+')
    for line in admin.root.get("/metrics").text.splitlines():
        assert line.startswith("# ") or sample.fullmatch(line), line


def test_metrics_name_no_secret(admin, server):
    assert server.key.split(".")[1] not in admin.root.get("/metrics").text


# ---- Routing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/api/v1/nothing", "/api/v2/workspaces",
                                  "/index.html",
                                  "/api/v1/workspaces/x/nothing/here"])
def test_an_unknown_path_is_404_in_json(admin, path):
    body = refusal(admin.root.get(path, described=False), 404, "not_found")
    assert "there is nothing at" in body["message"]


def test_an_unknown_path_is_404_also_without_a_key(admin):
    refusal(admin.with_key(None).root.get("/api/v1/nothing", described=False), 404)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FROB"])
def test_a_wrong_method_is_405_and_says_which_there_are(admin, method):
    answer = admin.request(method, "/workspaces", described=False)
    refusal(answer, 405)
    allowed = set(re.split(r",\s*", answer.headers["Allow"]))
    assert {"GET", "POST"} <= allowed <= {"GET", "HEAD", "POST"}


@pytest.mark.parametrize("path", ["/api/healthz", "/api/openapi.json", "/api/v1/workspaces", "/metrics"])
def test_head_is_get_without_the_body(admin, path):
    got = admin.root.get(path, status=200)
    head = admin.root.request("HEAD", path, status=200)
    assert head.content == b""
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    if path != "/metrics":  # whose length changes with each request
        assert head.headers["Content-Length"] == got.headers["Content-Length"]


def test_head_of_what_is_not_there_is_404_without_a_body(ws):
    answer = ws.request("HEAD", f"/systems/{new_id()}")
    assert (answer.status_code, answer.content) == (404, b"")


@pytest.mark.parametrize("path", ["/systems", "/deployments", "/job-agents", "/resources",
                                  "/resource-providers"])
def test_a_trailing_slash_changes_nothing(ws, path):
    assert ws.get(path + "/", status=200).json() == ws.get(path, status=200).json()


def test_a_trailing_slash_behind_an_id_changes_nothing(ws):
    system = ws.make_system()
    assert ws.get(f"/systems/{system}/", status=200).json()["id"] == system


def test_the_slug_stands_for_the_workspace_in_every_path(admin, ws):
    system = ws.make_system()
    by_slug = admin.workspace(ws.slug)
    assert by_slug.get(f"/systems/{system}", status=200).json()["workspaceId"] == ws.id
    assert by_slug.get("", status=200).json()["slug"] == ws.slug
    refusal(admin.workspace("no-such-slug").get("/systems"), 404)


def test_the_nil_workspace_is_404(admin):
    refusal(admin.workspace("00000000-0000-0000-0000-000000000000").get("/resources"), 404)


# ---- Percent-encoded paths -----------------------------------------------------------------------------


@pytest.mark.parametrize("identifier, encoded", [
    ("org/project/one", "org%2Fproject%2Fone"),
    ("arn:aws:eks:eu-west-1:1:cluster/prod", "arn:aws:eks:eu-west-1:1:cluster%2Fprod"),
    ("a+b", "a+b"),
    ("a+c", "a%2Bc"),
    ("with blank", "with%20blank"),
    ("100%", "100%25"),
    ("ümläut-✓", "%C3%BCml%C3%A4ut-%E2%9C%93"),
    ("..", "%2E%2E"),
    ("a?b#c", "a%3Fb%23c"),
    ("k=v&x@y$z", "k=v&x@y$z"),
])
def test_an_identifier_arrives_as_it_was_meant(ws, server, identifier, encoded):
    body = json.dumps({"name": "n", "kind": "K", "version": "v1"}).encode()
    target = f"/api/v1/workspaces/{ws.id}/resources/identifier/{encoded}"
    key = {"x-api-key": ws.key}
    status, _, answer = raw_request(server, "PUT", target, {**key, **JSON}, body)
    assert status == 202, answer
    status, _, answer = raw_request(server, "GET", target, key)
    assert (status, json.loads(answer)["identifier"]) == (200, identifier)
    found = ws.post("/resources/search", {"identifiers": [identifier]}, status=200).json()
    assert found["total"] == 1
    status, _, answer = raw_request(server, "DELETE", target, key)
    assert status == 202, answer


@pytest.mark.parametrize("tail", ["%", "%2", "%zz", "%C3%28", "a%00b"])
def test_a_badly_encoded_path_is_refused(ws, server, tail):
    target = f"/api/v1/workspaces/{ws.id}/resources/identifier/{tail}"
    status, _, answer = raw_request(server, "GET", target, {"x-api-key": ws.key})
    assert status in (400, 404), answer
    assert json.loads(answer)["message"]


@pytest.mark.parametrize("target, status", [
    ("/api/v1/workspaces/%FF/systems", 404), ("/api/v1/workspaces/W/systems?%FF=1", 400),
    ("/api/v1/workspaces/W/systems?limit=%FF", 400), ("/api/v1/workspaces/W/resources?cel=%FF", 400),
    ("/api/v1/workspaces/W/deployments/name/%FF", 404), ("/api/v1/workspaces/W/systems/%FF", 404),
    ("/nothing/%FF", 404),
])
def test_what_is_no_utf_8_is_refused_in_proper_json(ws, server, target, status):
    """The answer tells of the request, and must be UTF-8 all the same."""
    found, _, answer = raw_request(server, "GET", target.replace("/W/", f"/{ws.id}/"), {"x-api-key": ws.key})
    assert found in (400, status), answer
    assert json.loads(answer.decode("utf-8"))["message"]


def test_an_empty_segment_is_404(ws, server):
    for method, tail in (("GET", "/resources/identifier/"), ("PUT", "/resource-providers//set")):
        target = f"/api/v1/workspaces/{ws.id}{tail}"
        body = b'{"resources":[]}' if method == "PUT" else None
        status, _, answer = raw_request(server, method, target, {"x-api-key": ws.key, **JSON}, body)
        assert status == 404, answer


# ---- Query ---------------------------------------------------------------------------------------------


def test_an_unknown_query_parameter_is_400_and_named(ws):
    assert complaint_paths(ws.get("/systems?colour=red")) == ["colour"]
    assert complaint_paths(ws.get("/systems?limit=1&Limit=2")) == ["Limit"]


@pytest.mark.parametrize("value", ["0", "1001", "-1", "abc", "1.5", "1e2", "", " 5", "0x10",
                                   "99999999999999999999"])
def test_a_bad_limit_is_400(ws, value):
    assert complaint_paths(ws.get("/systems", params={"limit": value})) == ["limit"]


@pytest.mark.parametrize("value", ["-1", "abc", "", "9223372036854775808"])
def test_a_bad_offset_is_400(ws, value):
    assert complaint_paths(ws.get("/systems", params={"offset": value})) == ["offset"]


@pytest.mark.parametrize("path", ["/systems", "/resources", "/jobs", "/audit", "/release-targets"])
def test_an_offset_beyond_the_end_is_an_empty_page(ws, path):
    ws.make_system()
    for offset in (1000, 2**31, 2**63 - 1):
        page = ws.get(f"{path}?limit=1000&offset={offset}", status=200).json()
        assert (page["items"], page["limit"], page["offset"]) == ([], 1000, offset)


# ---- Bodies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8",
                                  "application/json;charset=UTF-8",
                                  "application/json; utf-8", "APPLICATION/JSON",
                                  "application/merge-patch+json"])
def test_json_by_any_of_its_names_is_read(ws, kind):
    ws.request("POST", "/systems", data=SYSTEM, headers={"Content-Type": kind}, status=202)


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded",
                                  "application/jsonp",
                                  "multipart/form-data; boundary=x"])
def test_another_content_type_is_415_and_writes_nothing(ws, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    refusal(ws.request("POST", "/systems", data=SYSTEM, headers=headers), 415)
    assert ws.get("/systems").json()["total"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b'{"name":}', b'{"name":"a"} x', b"{'name':'a'}", b"\xff\xfe",
                                  b"nil",
                                  b'{"name":"\xff"}', b'{"name":"\\ud800"}', b'{"name":"a",}'])
def test_malformed_json_is_400(ws, body):
    refusal(ws.request("POST", "/systems", data=body, headers=JSON), 400)
    assert ws.get("/systems").json()["total"] == 0


@pytest.mark.parametrize("body", [b"[]", b"null", b'"name"', b"17", b"true", b'[{"name":"a"}]'])
def test_json_that_is_no_object_is_400(ws, body):
    refusal(ws.request("POST", "/systems", data=body, headers=JSON), 400)


def test_nesting_too_deep_is_400_and_deep_enough_is_fine(ws):
    def config(depth):
        text = '{"a":' * depth + "1" + "}" * depth
        return f'{{"name":"d","slug":"d","jobAgentConfig":{text}}}'.encode()

    ws.request("POST", "/deployments", data=config(30), headers=JSON, status=202)
    for depth in (100, 1000, 100_000):
        refusal(ws.request("POST", "/deployments", data=config(depth), headers=JSON), 400)


def test_a_body_over_one_megabyte_is_413(ws):
    fits = json.dumps({"name": "fits", "description": "x" * 100, "ignored": "x" * (1024 * 1024 - 1000)})
    ws.request("POST", "/systems", data=fits, headers=JSON, status=202)
    for size in (1024 * 1024 + 1, 5_000_000):
        answer = ws.request("POST", "/systems", data=b" " * size, headers=JSON)
        refusal(answer, 413, "too_large")


def test_a_body_said_to_be_huge_is_413_before_it_is_sent(ws, server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", f"/api/v1/workspaces/{ws.id}/systems")
    for name, value in (("x-api-key", ws.key), ("Content-Type", "application/json"),
                        ("Content-Length", "1" + "0" * 12)):
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["code"] == "too_large"
    connection.close()


def test_unknown_members_are_ignored(ws):
    system = ws.post("/systems", {"name": "s", "colour": "red", "nested": {"a": [1]}},
                     status=202).json()["id"]
    assert "colour" not in ws.get(f"/systems/{system}").json()


def test_a_body_where_none_is_described_is_ignored(ws, world):
    path = f"/systems/{world.system}/deployments/{world.deployment}"
    ws.request("PUT", path, data=b"no json at all", headers={"Content-Type": "text/plain"}, status=202)


def test_several_complaints_come_together(ws):
    answer = ws.post("/resources/search", {"limit": 0, "offset": -1, "kinds": "Cluster", "order": "up"})
    assert sorted(complaint_paths(answer)) == ["kinds", "limit", "offset", "order"]


# ---- Connections ---------------------------------------------------------------------------------------


def test_one_connection_carries_many_requests(server, ws):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.connect()
    first = connection.sock
    for path in ("systems", "nothing", f"systems/{new_id()}", "systems?limit=0", "resources"):
        connection.request("GET", f"/api/v1/workspaces/{ws.id}/{path}", headers={"x-api-key": ws.key})
        connection.getresponse().read()
        assert connection.sock is first, f"closed after {path}"
    connection.close()


def test_a_connection_is_closed_when_the_client_asks_for_it(server):
    status, headers, _ = raw_request(server, "GET", "/api/healthz", {"Connection": "close"})
    assert (status, headers["Connection"].lower()) == (200, "close")


def test_a_request_that_is_no_http_is_400(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
        plain.sendall(b"HELLO\r\n\r\n")
        assert plain.recv(1000).startswith(b"HTTP/1.1 400 ")


def test_headers_without_end_are_refused(server, ws):
    status, _, _ = raw_request(server, "GET", "/api/healthz", {"x-padding": "x" * 20_000})
    assert status in (400, 431)


def test_names_in_answers_are_what_was_sent_byte_for_byte(ws):
    name = "quote \" backslash \\ slash / tab \t ümläut ✓ 🙂 <b>&amp;</b> " + unique("n")
    system = ws.make_system(name)
    assert ws.get(f"/systems/{system}").json()["name"] == name
