"""Wrong requests to every operation, made from openapi.json: so a new operation is covered when it appears.

Each test looks at all operations and reports all that answer wrongly.
"""

import json

import pytest

from harness import new_id

JSON = {"Content-Type": "application/json"}
PUBLIC = "/api/v1/session"  # sign-in counts failures per name; it has tests of its own
WRONG_VALUES = [17, True, "", "x" * 2000, [], {}, [None], {"a": 1}]


@pytest.fixture()
def operations(server):
    return server.contract.operations


def path_of(operation, ws, **given):
    """The operation's path with ids that exist nowhere, except where given."""
    parts = []
    for part in operation.segments:
        name = part[1:-1] if part.startswith("{") else None
        if name is None:
            parts.append(part)
        elif name == "workspaceId":
            parts.append(ws.id)
        elif name == "releaseTargetKey":
            parts.append(given.get(name, "-".join(new_id() for _ in range(3))))
        else:
            parts.append(given.get(name, new_id()))
    return "/" + "/".join(parts)


def ids_in(operation):
    """The parameters of its path that are ids, not names."""
    named = {"workspaceId", "name", "slug", "identifier"}
    return [p[1:-1] for p in operation.segments if p.startswith("{") and p[1:-1] not in named]


def resolve(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def body_schema(document, operation):
    return resolve(document, operation.described["requestBody"]["content"]["application/json"]["schema"])


def with_body(operations):
    return [o for o in operations if o.takes_body and o.path != PUBLIC]


def all_fit(wrong):
    assert not wrong, "\n".join(wrong)


# ---- Bodies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"{", b"nil", b"[]", b"null", b'"text"', b"17", b'{"a":"\xff"}'])
def test_no_operation_takes_a_body_that_is_no_json_object(ws, operations, body):
    wrong = []
    for operation in with_body(operations):
        answer = ws.root.request(operation.method, path_of(operation, ws), data=body, headers=JSON)
        if answer.status_code != 400:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    all_fit(wrong)


def test_every_required_body_is_required_and_typed(ws, operations):
    wrong = []
    for operation in with_body(operations):
        path = path_of(operation, ws)
        optional = not operation.described["requestBody"].get("required")
        absent = ws.root.request(operation.method, path)
        untyped = ws.root.request(operation.method, path, data=b"{}")
        empty = ws.root.request(operation.method, path, data=b"", headers=JSON)
        if absent.status_code != (404 if optional else 415):
            wrong.append(f"{operation.id} without body: {absent.status_code} {absent.text[:200]}")
        if untyped.status_code != 415:
            wrong.append(f"{operation.id} without type: {untyped.status_code} {untyped.text[:200]}")
        if empty.status_code != (404 if optional else 400):
            wrong.append(f"{operation.id} with an empty body: {empty.status_code} {empty.text[:200]}")
    all_fit(wrong)


def test_every_required_member_is_asked_for(ws, server, operations):
    wrong = []
    for operation in with_body(operations):
        required = body_schema(server.contract.document, operation).get("required", [])
        if not required:
            continue
        answer = ws.root.request(operation.method, path_of(operation, ws), json={})
        paths = [d["path"] for d in answer.json().get("details", [])] if answer.status_code == 400 else []
        if sorted(paths) != sorted(required):
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:300]}")
    all_fit(wrong)


def fits(contract, schema, value):
    return contract.complaint(schema, value) is None


def test_every_member_of_a_body_has_its_type_checked(ws, server, operations):
    """A member with a wrong value is complained about by its path."""
    wrong, tried = [], 0
    for operation in with_body(operations):
        members = body_schema(server.contract.document, operation).get("properties", {})
        for name, schema in members.items():
            for value in WRONG_VALUES:
                # Extra members of a record are no mistake in a request.
                is_record = isinstance(value, dict) and "properties" in json.dumps(schema)
                if is_record or fits(server.contract, schema, value):
                    continue
                tried += 1
                answer = ws.root.request(operation.method, path_of(operation, ws), json={name: value})
                details = answer.json().get("details", []) if answer.status_code == 400 else []
                if not any(d["path"].startswith(name) for d in details):
                    sent = f"{operation.id} {name}={str(value)[:30]}"
                    wrong.append(f"{sent}: {answer.status_code} {answer.text[:300]}")
    assert tried > 200
    all_fit(wrong)


# ---- Ids in paths --------------------------------------------------------------------------------------


def sample_body(document, schema, depth=0):
    """The smallest body that fits."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        return sample_body(document, schema["anyOf"][0], depth)
    if "enum" in schema:
        return "successful" if "successful" in schema["enum"] else schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", [])
        return {name: sample_body(document, schema["properties"][name], depth + 1) for name in required}
    if kind == "array":
        return []
    if kind == "string":
        return new_id() if schema.get("format") == "uuid" else "x" * max(schema.get("minLength", 1), 1)
    return {"integer": 0, "number": 0, "boolean": False}.get(kind)


def body_for(document, operation):
    if not operation.takes_body:
        return None
    if operation.id.startswith("updateDeploymentVersion"):
        return {"status": "ready"}
    return sample_body(document, body_schema(document, operation))


@pytest.mark.parametrize("bad", ["nonsense", "0", "a" * 36, "00000000-0000-0000-0000-00000000000g",
                                 "x" * 5000],
                         ids=["word", "digit", "letters", "almost", "huge"])
def test_a_malformed_id_in_a_path_is_404(ws, server, operations, bad):
    wrong = []
    for operation in operations:
        for parameter in ids_in(operation):
            path = path_of(operation, ws, **{parameter: bad})
            answer = ws.root.request(operation.method, path,
                                     json=body_for(server.contract.document, operation))
            if answer.status_code != 404:
                wrong.append(f"{operation.id} {parameter}: {answer.status_code} {answer.text[:200]}")
    all_fit(wrong)


# What makes something under a new id, or answers for ids of any kind.
MAKES_OR_ANSWERS = {"upsertSystem", "upsertEnvironment", "upsertDeployment", "upsertJobAgent",
                    "upsertResource", "upsertPolicy", "listReleaseTargetJobs", "upsertNotificationChannel"}


def test_what_is_not_there_is_404(ws, server, operations):
    wrong = []
    for operation in operations:
        if not (ids_in(operation) or "{name}" in operation.path or "{identifier}" in operation.path):
            continue
        if operation.id in MAKES_OR_ANSWERS:
            continue
        body = body_for(server.contract.document, operation)
        answer = ws.root.request(operation.method, path_of(operation, ws), json=body)
        if answer.status_code != 404:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    all_fit(wrong)


# ---- Queries -------------------------------------------------------------------------------------------


def test_no_operation_takes_an_unknown_query_parameter(ws, operations):
    wrong = []
    for operation in operations:
        if operation.path == PUBLIC and operation.method == "POST":
            continue
        answer = ws.root.request(operation.method, path_of(operation, ws) + "?colour=red")
        if answer.status_code != 400 or answer.json()["details"][0]["path"] != "colour":
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
    all_fit(wrong)


def test_every_query_parameter_has_its_type_checked(ws, server, operations):
    wrong, tried = [], 0
    for operation in operations:
        for parameter in operation.described.get("parameters", []):
            schema = resolve(server.contract.document, parameter["schema"])
            if parameter["in"] != "query" or schema == {"type": "string"}:
                continue
            tried += 1
            answer = ws.root.request(operation.method, path_of(operation, ws),
                                     params={parameter["name"]: "~"})
            if answer.status_code != 400 or answer.json()["details"][0]["path"] != parameter["name"]:
                wrong.append(f"{operation.id} {parameter['name']}: {answer.status_code} {answer.text[:200]}")
    assert tried > 40
    all_fit(wrong)


def test_every_list_is_paged_and_says_how(ws, operations):
    def is_list(operation):
        names = [p["name"] for p in operation.described.get("parameters", [])]
        of_something = ids_in(operation) or "name" in names or "identifier" in names
        return operation.method == "GET" and "limit" in names and not of_something

    lists = list(filter(is_list, operations))
    assert len(lists) >= 10
    for operation in lists:
        page = ws.root.get(path_of(operation, ws) + "?limit=7&offset=3", status=200).json()
        assert (page["limit"], page["offset"]) == (7, 3), operation.id
        page = ws.root.get(path_of(operation, ws), status=200).json()
        assert (page["limit"], page["offset"]) == (50, 0), operation.id
