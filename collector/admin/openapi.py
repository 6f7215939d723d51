"""The OpenAPI document of the HTTP API: paths from here, schemas from the protocol files' own descriptors.

Separate from the routes because it is what others build clients from: docs/openapi.json is generated from it (`make docs`), it is served at
/api/v1/openapi.json, and a test holds routes and real answers to it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from collector.admin.parameters import LIST
from collector.pb.orbitrelay.v1 import query_pb2 as pb

_SCALARS: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.TYPE_UINT32: {"type": "integer", "minimum": 0},
    FieldDescriptor.TYPE_UINT64: {"type": "string", "pattern": "^[0-9]+$"},
}
_TIMESTAMP = "google.protobuf.Timestamp"


def document() -> dict[str, Any]:
    """The whole document."""
    schemas: dict[str, Any] = {"Error": _error_schema()}
    for message in (pb.ListSessionsResponse, pb.GetReportResponse, pb.WatchReportsResponse):
        _add(message.DESCRIPTOR, schemas)
    session = "/api/v1/sessions/{session_id}"
    revision = _query("revision", {"type": "integer", "minimum": 0}, "the report's revision; 0 or none for the latest")
    path_id = {"name": "session_id", "in": "path", "required": True, "schema": {"type": "string"}}
    resume = _query(
        "after", {"type": "integer", "minimum": 0}, "reports after this sequence number; 0 for all that are kept"
    )
    event = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "OrbitRelay collector",
            "version": "1",
            "description": "The HTTP twin of orbitrelay.v1.QueryService (proto/orbitrelay/v1/query.proto).",
        },
        "paths": {
            "/api/v1/sessions": {
                "get": _operation(
                    "ListSessions",
                    "Sessions, a page at a time.",
                    [_query(name, *said) for name, said in LIST.items()],
                    _json("ListSessionsResponse"),
                    "400",
                )
            },
            session + "/report": {
                "get": _operation("GetReport", "The report.", [path_id, revision], _json("GetReportResponse"))
            },
            session + "/trace": {
                "get": _operation(
                    "GetTrace",
                    "The trace document, as canonical JSON.",
                    [path_id, revision],
                    {"application/json": {"schema": {"type": "object"}}},
                )
            },
            session + "/dossier": {
                "get": _operation(
                    "GetDossier", "The dossier.", [path_id, revision], {"text/markdown": {"schema": {"type": "string"}}}
                )
            },
            session: {"delete": _operation("DeleteSession", "Delete a session and its content.", [path_id], None)},
            "/api/v1/reports/watch": {
                "get": _operation(
                    "WatchReports",
                    "Reports as they are made, as server-sent events: `event: report`, `id` the sequence number, `data` a WatchReportsResponse.",
                    [resume],
                    event,
                    "400",
                )
            },
        },
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _operation(
    name: str, summary: str, parameters: list[dict[str, Any]], content: dict[str, Any] | None, *faults: str
) -> dict[str, Any]:
    good = (
        {"204": {"description": "deleted"}}
        if content is None
        else {"200": {"description": "the answer", "content": content}}
    )
    bad = {
        "400": "a request that cannot be meant",
        "401": "no accepted bearer token",
        "404": "no such session or revision",
    }
    chosen = {*faults, "401"} if faults else set(bad)
    errors = {code: {"description": text, "content": _json("Error")} for code, text in bad.items() if code in chosen}
    return {"operationId": name, "summary": summary, "parameters": parameters, "responses": good | errors}


def _query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _add(message: Any, schemas: dict[str, Any]) -> None:
    if message.name in schemas:
        return
    properties: dict[str, Any] = {}
    required: list[str] = []
    schemas[message.name] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    for field in message.fields:
        schema = _field(field, schemas)
        properties[field.name] = {"type": "array", "items": schema} if field.is_repeated else schema
        if field.is_repeated or not field.has_presence:
            required.append(field.name)


def _field(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    if field.enum_type is not None:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    if field.message_type is None:
        return dict(_SCALARS[field.type])
    if field.message_type.full_name == _TIMESTAMP:
        return {"type": "string", "format": "date-time"}
    _add(field.message_type, schemas)
    return {"$ref": f"#/components/schemas/{field.message_type.name}"}


def _error_schema() -> dict[str, Any]:
    fields = {"status": {"type": "integer"}, "message": {"type": "string"}}
    error = {"type": "object", "properties": fields, "required": ["status", "message"]}
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}


def text() -> str:
    """As docs/openapi.json has it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
