"""The OpenAPI document: bodies come from the structs that parse them, the hot calls are added by hand."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from precompact_api import bodies
from precompact_api.problems import KINDS

_SESSION = "/v1/sessions/{session}"
BODIES: dict[tuple[str, str], type] = {
    (f"{_SESSION}/prepare", "post"): bodies.PrepareBody,
    (f"{_SESSION}/messages", "post"): bodies.AppendBody,
    ("/v1/sessions", "post"): bodies.CreateBody,
    (f"{_SESSION}/rewind", "post"): bodies.RewindBody,
    (f"{_SESSION}/fork", "post"): bodies.ForkBody,
    (f"{_SESSION}/adopt", "post"): bodies.AdoptBody,
    (f"{_SESSION}/decline", "post"): bodies.DeclineBody,
    (f"{_SESSION}/compact", "post"): bodies.CompactBody,
    ("/v1/compactions/{job}/result", "post"): bodies.ResultBody,
    ("/v1/tenants", "post"): bodies.TenantBody,
    ("/v1/keys", "post"): bodies.KeyBody,
}
_HOT = {
    f"{_SESSION}/prepare": "Record what is new and state the context of the next model call",
    f"{_SESSION}/messages": "Add entries without asking for a context",
}
_OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
_HEADERS: dict[str, tuple[tuple[str, str], ...]] = {
    f"{_SESSION}/prepare": (("Idempotency-Key", "Wanted where `seen` is missing."),),
    f"{_SESSION}/messages": (("Idempotency-Key", "Wanted where `seen` is missing."),),
    f"{_SESSION}/adopt": (("If-Match", 'The state adopted on, as `"<history_version>-<length>"`.'),),
    f"{_SESSION}/compact": (("Prefer", "`wait=N`: seconds to wait for the candidate."),),
}
PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What to do next."},
        "code": {"type": "string", "enum": [code.value for code in KINDS]},
        "where": {"type": "string", "description": "JSON path of what is wrong."},
    },
    "additionalProperties": True,
}


def describe(app: FastAPI) -> None:
    """Lets `app` serve the whole document at /openapi.json."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def document(app: FastAPI) -> dict[str, Any]:
    """The document."""
    made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    paths = made.setdefault("paths", {})
    for path, summary in _HOT.items():
        paths[path] = {"post": _hot_operation(path, summary)}
    _, schemas = msgspec.json.schema_components(
        list(BODIES.values()), ref_template="#/components/schemas/{name}"
    )
    for (path, method), kind in BODIES.items():
        reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
        paths[path][method]["requestBody"] = {"content": {"application/json": {"schema": reference}}}
    for path, operations in paths.items():
        for operation in operations.values():
            _finish(path, operation)
    components = made.setdefault("components", {})
    components["schemas"] = {**schemas, "Problem": PROBLEM_SCHEMA}
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return made


def _hot_operation(path: str, summary: str) -> dict[str, Any]:
    session = {"name": "session", "in": "path", "required": True, "schema": {"type": "string"}}
    name = path.rsplit("/", 1)[-1]
    return {
        "tags": ["hot"],
        "summary": summary,
        "operationId": f"{name}_session",
        "parameters": [session],
        "responses": {"200": {"description": "Done", "content": {"application/json": {"schema": {}}}}},
    }


def _finish(path: str, operation: dict[str, Any]) -> None:
    if path not in _OPEN:
        operation["security"] = [{"key": []}]
    for name, about in _HEADERS.get(path, ()):
        header = {
            "name": name,
            "in": "header",
            "required": False,
            "description": about,
            "schema": {"type": "string"},
        }
        operation.setdefault("parameters", []).append(header)
    operation["responses"].pop("422", None)
    operation["responses"]["4XX"] = {
        "description": "A problem with a stable code",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
