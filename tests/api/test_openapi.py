"""The description itself, the check that holds answers to it, and that the tests have seen all of it."""

import json
import re

import jsonschema
import pytest

from contract import Contract, DESCRIBED, EXERCISED
from harness import new_id


# ---- The document --------------------------------------------------------------------------------------


def test_operation_ids_are_unique_words(server):
    ids = [operation.id for operation in server.contract.operations]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z][A-Za-z]+", name) for name in ids)


def references(value):
    if isinstance(value, dict):
        for name, child in value.items():
            if name == "$ref":
                yield child
            yield from references(child)
    elif isinstance(value, list):
        for child in value:
            yield from references(child)


def test_every_reference_leads_somewhere_and_every_schema_is_used(server):
    document = server.contract.document
    schemas = document["components"]["schemas"]
    used = set(references(document))
    assert used <= {f"#/components/schemas/{name}" for name in schemas}
    unused = {name for name in schemas if f"#/components/schemas/{name}" not in used}
    assert not unused, f"described and used by nothing: {sorted(unused)}"


def test_every_schema_is_a_valid_json_schema(server):
    for schema in server.contract.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_parameter_of_a_path_is_described_and_every_operation_says_who_may(server):
    for operation in server.contract.operations:
        described = {p["name"] for p in operation.described.get("parameters", []) if p["in"] == "path"}
        assert described == set(re.findall(r"\{(\w+)\}", operation.path)), operation.id
        public = operation.described.get("security") == []
        assert public != bool(operation.permission), operation.id
        assert operation.described["summary"] and operation.described["tags"], operation.id
        assert "default" in operation.described["responses"], operation.id


def test_every_described_path_is_served(server, ws):
    """With every method that is described; what is wrong with the request is another matter."""
    for operation in server.contract.operations:
        if operation.id in ("streamEvents", "deleteWorkspace"):
            continue
        path = re.sub(r"\{(\w+)\}", lambda m: ws.id if m.group(1) == "workspaceId" else new_id(),
                      operation.path)
        answer = ws.root.request(operation.method, path)
        assert answer.status_code != 405, operation.id
        assert "there is nothing at" not in answer.text, operation.id


def test_methods_that_are_not_described_are_405(server, ws):
    methods = {}
    for operation in server.contract.operations:
        methods.setdefault(operation.path, set()).add(operation.method)
    for path, described in methods.items():
        concrete = re.sub(r"\{(\w+)\}", lambda m: ws.id if m.group(1) == "workspaceId" else new_id(), path)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - described:
            answer = ws.root.request(method, concrete, described=False)
            assert answer.status_code == 405, f"{method} {path}: {answer.status_code}"
            assert described <= set(re.split(r",\s*", answer.headers["Allow"]))


# ---- The check -----------------------------------------------------------------------------------------


class Answer:
    def __init__(self, status, body, kind="application/json"):
        self.status_code = status
        self.headers = {"Content-Type": kind, "Cache-Control": "no-store"}
        self.text = body if isinstance(body, str) else json.dumps(body)
        self.content = self.text.encode()

    def json(self):
        return json.loads(self.text)


@pytest.fixture()
def small():
    """A description of one operation."""
    def ref(name):
        return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}

    schemas = {
        "Base": {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}},
                 "required": ["id"]},
        "Thing": {"allOf": [{"$ref": "#/components/schemas/Base"},
                            {"type": "object",
                             "properties": {"at": {"type": "string", "format": "date-time"}}}]},
        "Error": {"type": "object",
                  "properties": {"message": {"type": "string"}, "error": {"type": "string"}},
                  "required": ["message", "error"]},
    }
    get = {"operationId": "getThing", "responses": {"200": ref("Thing"), "204": {}, "default": ref("Error")}}
    return Contract({"paths": {"/things/{id}": {"get": get}}, "components": {"schemas": schemas}})


GOOD = {"id": "01a1def2-18c6-7e2a-a588-1bd6a783d11b", "at": "2026-01-02T03:04:05.123456Z"}
SORRY = {"message": "no", "error": "no"}


@pytest.mark.parametrize("answer", [Answer(200, GOOD), Answer(404, SORRY), Answer(204, "")])
def test_a_fitting_answer_passes(small, answer):
    small.check("GET", "/things/1", answer)
    EXERCISED.discard("getThing")


@pytest.mark.parametrize("answer", [
    Answer(200, {**GOOD, "more": 1}), Answer(200, {"at": GOOD["at"]}), Answer(200, {**GOOD, "id": "x"}),
    Answer(200, {**GOOD, "at": "2026-01-02 03:04:05Z"}), Answer(200, {**GOOD, "at": "2026-13-02T03:04:05Z"}),
    Answer(200, {**GOOD, "at": "2026-01-02T03:04:05+00:00"}), Answer(200, {**GOOD, "id": GOOD["id"].upper()}),
    Answer(200, GOOD, "text/plain"), Answer(201, GOOD), Answer(200, "{"), Answer(204, "x"),
    Answer(404, {"message": "no"}), Answer(404, {**SORRY, "error": "other"}),
    Answer(404, {**SORRY, "stack": "x"}),
    Answer(503, SORRY), Answer(429, SORRY), Answer(200, []),
    Answer(500, {"message": "a.cpp:3", "error": "a.cpp:3"}),
])
def test_an_answer_that_does_not_fit_is_refused(small, answer):
    with pytest.raises(AssertionError):
        small.check("GET", "/things/1", answer)


def test_an_operation_that_is_not_described_is_refused(small):
    for method, path in (("POST", "/things/1"), ("GET", "/things"), ("GET", "/other/1")):
        with pytest.raises(AssertionError):
            small.check(method, path, Answer(404, SORRY))
        small.check(method, path, Answer(404, SORRY), described=False)


# ---- At the end of a whole run -------------------------------------------------------------------------


def test_every_operation_was_answered_with_success_in_some_test():
    """Runs last, and only where all the tests run."""
    assert len(DESCRIBED) > 80
    missing = sorted(DESCRIBED - EXERCISED)
    assert not missing, f"no test has had success with: {', '.join(missing)}"
