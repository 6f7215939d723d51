"""The query parameters of the HTTP API: which there are, what they mean, and how their values are read.

Separate from the routes because the OpenAPI document says of them what the routes hold a request to.

Rules:
- a query parameter that does not exist is a fault, not ignored: a misspelt filter must not look like an unfiltered list;
- a fault names the parameter, what was expected of it and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.requests import Request

from collector.config import suggestion
from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.query.reader import Fault, QueryError

ORDERS = {"recent": pb.SESSION_ORDER_RECENT, "weakest": pb.SESSION_ORDER_WEAKEST}

LIST: dict[str, tuple[dict[str, Any], str]] = {
    "page_size": ({"type": "integer", "minimum": 0, "maximum": 500}, "sessions a page; 0 or none for 50"),
    "page_token": ({"type": "string"}, "`next_page_token` of the page before"),
    "order": ({"type": "string", "enum": sorted(ORDERS)}, "the latest closed first, or the weakest first"),
    "service": ({"type": "string"}, "service.name of the session"),
    "role": ({"type": "string"}, "a role of one of its agents"),
    "grade": ({"type": "string", "enum": ["A", "B", "C", "D", "F"]}, "grade of its mean completeness"),
    "close_reason": ({"type": "string"}, "why it was closed"),
    "since": ({"type": "string", "format": "date-time"}, "closed at or after"),
    "until": ({"type": "string", "format": "date-time"}, "closed before"),
    "text": ({"type": "string"}, "part of its key, service, agents, roles or missing fields"),
    "partial": ({"type": "string", "enum": ["true", "false"]}, "whether its report is partial"),
}
"""What a list of sessions can be asked by: name -> its schema, and what it means."""


def parameters(request: Request, known: Iterable[str]) -> dict[str, str]:
    """Return the query parameters of a request. Raises QueryError for one that is not known."""
    names = dict.fromkeys(known)
    for name in request.query_params:
        if name not in names:
            raise QueryError(Fault.INVALID, f"unknown parameter '{name[:80]}'{suggestion(name, names)}")
    return dict(request.query_params)


def whole(name: str, text: str) -> int:
    """Read a whole number. Raises QueryError."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise QueryError(Fault.INVALID, f"expected {name} as a whole number, found {text[:80]!r}")
    return int(text)


def one_of(name: str, text: str, values: dict[str, Any]) -> Any:
    """Read a word that stands for a value. Raises QueryError."""
    if text not in values:
        raise QueryError(Fault.INVALID, f"expected {name} one of {', '.join(values)}, found {text[:80]!r}")
    return values[text]


def moment(name: str, text: str, target: Any) -> None:
    """Read a time into a Timestamp. Raises QueryError."""
    try:
        target.FromJsonString(text)
    except ValueError as error:
        raise QueryError(
            Fault.INVALID, f"expected {name} as an RFC 3339 time such as '2026-11-30T12:00:00Z', found {text[:80]!r}"
        ) from error
