"""Holds every answer of the server to what its own /api/openapi.json says.

A description that is too generous hides mistakes, so records are taken as closed: an answer with a
member that the description does not name is refused too.
"""

import copy
import json
import re
import uuid
from datetime import datetime

import jsonschema

DESCRIBED = set()  # operationIds of the servers under test
EXERCISED = set()  # those that some test has had answered with success

JSON_TYPES = ("application/json", "application/json; charset=utf-8")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

formats = jsonschema.FormatChecker(formats=())


@formats.checks("uuid")
def is_uuid(value):
    if not isinstance(value, str):
        return True
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False


@formats.checks("date-time")
def is_instant(value):
    """RFC 3339 in UTC, as docs/api.md promises."""
    if not isinstance(value, str):
        return True
    if not INSTANT.fullmatch(value):
        return False
    try:
        datetime.strptime(value[:19], "%Y-%m-%dT%H:%M:%S")
        return True
    except ValueError:
        return False


def closed(schema, open_top=False):
    """The schema without room for undescribed members; `open_top` leaves the outermost record open."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        parts = [closed_part(part) for part in schema["allOf"]]
        return {"allOf": parts} if open_top else {"allOf": parts, "unevaluatedProperties": False}
    out = {}
    for name, value in schema.items():
        if name == "properties":
            out[name] = {member: closed(of) for member, of in value.items()}
        elif name in ("items", "anyOf", "additionalProperties"):
            out[name] = closed(value)
        else:
            out[name] = copy.deepcopy(value)
    if "properties" in schema and "additionalProperties" not in schema and not open_top:
        out["additionalProperties"] = False
    return out


def closed_part(part):
    if "$ref" in part:
        return {"$ref": part["$ref"] + "~open"}
    return closed(part, open_top=True)


class Operation:
    def __init__(self, method, path, described):
        self.method = method
        self.path = path
        self.segments = path.split("/")[1:]
        self.described = described
        self.id = described["operationId"]
        self.permission = described.get("x-permission")
        self.takes_body = "requestBody" in described

    def fits(self, segments):
        """None, or how many of its segments are words rather than parameters."""
        if len(segments) != len(self.segments):
            return None
        words = 0
        for own, asked in zip(self.segments, segments):
            if own.startswith("{"):
                continue
            if own != asked:
                return None
            words += 1
        return words


class Contract:
    def __init__(self, document):
        self.document = document
        schemas = document["components"]["schemas"]
        self.components = {name: closed(schema) for name, schema in schemas.items()}
        self.components.update({name + "~open": closed(schema, True) for name, schema in schemas.items()})
        self.validators = {}
        self.operations = [
            Operation(method.upper(), path, described)
            for path, methods in document["paths"].items()
            for method, described in methods.items()
        ]

    def operation(self, method, path):
        """The described operation at this path: words before parameters, as in the router."""
        segments = path.split("?")[0].split("/")[1:]
        if segments and segments[-1] == "":
            segments.pop()
        method = "GET" if method == "HEAD" else method
        best, most = None, -1
        for operation in self.operations:
            if operation.method != method:
                continue
            words = operation.fits(segments)
            if words is not None and words > most:
                best, most = operation, words
        return best

    def validator(self, schema):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            whole = {"components": {"schemas": self.components}, **closed(schema)}
            self.validators[key] = jsonschema.Draft202012Validator(whole, format_checker=formats)
        return self.validators[key]

    def complaint(self, schema, body):
        """What is wrong with the body, or None. The first is enough."""
        for error in self.validator(schema).iter_errors(body):
            place = "/".join(str(part) for part in error.absolute_path)
            return f"at '{place}': {error.message[:500]}"
        return None

    # ---- One answer ------------------------------------------------------------------------------------

    def check(self, method, path, response, described=True):
        """Raises AssertionError unless the answer is as described."""
        operation = self.operation(method, path)
        what = f"{method} {path} answered {response.status_code}"
        assert operation or not described, f"{what}, but openapi.json does not describe this operation"
        if response.status_code >= 400:
            self.check_refusal(what, method, operation, response)
            return
        assert operation, f"{what} although nothing is described there"
        entry = operation.described["responses"].get(str(response.status_code))
        assert entry is not None, f"{what}, which {operation.id} does not describe: {response.text[:300]}"
        self.check_content(what, method, entry, response)
        if response.status_code < 300:
            EXERCISED.add(operation.id)

    def check_refusal(self, what, method, operation, response):
        responses = operation.described["responses"] if operation else {}
        error = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
        entry = responses.get(str(response.status_code)) or responses.get("default") or error
        self.check_content(what, method, entry, response)
        if entry.get("content", {}) != error["content"]:
            return
        if response.status_code in (429, 503):
            assert "Retry-After" in response.headers, f"{what} without Retry-After"
        if method == "HEAD":
            return
        body = response.json()
        assert body["message"] and body["error"] == body["message"], f"{what}: {body}"
        inside = re.search(r"\.cpp|\.h:|0x[0-9a-f]{6}", body["message"])
        assert not inside, f"{what} tells of its insides: {body}"

    def check_content(self, what, method, entry, response):
        if "content" not in entry:
            assert response.content == b"", f"{what} with a body where none is described"
            return
        sent = response.headers.get("Content-Type", "")
        kind = next((k for k in entry["content"] if k == sent.split(";")[0]), next(iter(entry["content"])))
        described = entry["content"][kind]
        assert sent.split(";")[0] == kind, f"{what} as '{sent}', described as '{kind}'"
        if kind != "application/json" or method == "HEAD":
            return
        assert sent in JSON_TYPES, f"{what} as '{sent}'"
        assert response.headers.get("Cache-Control") == "no-store", f"{what} may be cached"
        try:
            body = response.json()
        except ValueError as error:
            raise AssertionError(f"{what} with a body that is not JSON: {response.text[:300]}") from error
        wrong = self.complaint(described["schema"], body)
        assert wrong is None, f"{what}: {wrong}\n{response.text[:1000]}"
