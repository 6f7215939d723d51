"""An OTLP/JSON body as a request of `json_schema`: in one go where its types hold, item by item where they do not.

Separate from what is read of a request, because here a body is mended: other spellings of names, text that is no UTF-8, one bad item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from collector.otlp.errors import MalformedError
from collector.otlp.json_schema import (
    AnyValueJson,
    EventJson,
    KeyValueJson,
    LinkJson,
    LogRecordJson,
    LogsJson,
    ResourceJson,
    ResourceLogsJson,
    ResourceSpansJson,
    ScopeJson,
    ScopeLogsJson,
    ScopeSpansJson,
    SpanJson,
    StatusJson,
    TracesJson,
)

T = TypeVar("T")

_TRACES = msgspec.json.Decoder(TracesJson[SpanJson])
_TRACES_LOOSE = msgspec.json.Decoder(TracesJson[msgspec.Raw])
_SPAN = msgspec.json.Decoder(SpanJson)
_LOGS = msgspec.json.Decoder(LogsJson[LogRecordJson])
_LOGS_LOOSE = msgspec.json.Decoder(LogsJson[msgspec.Raw])
_LOG = msgspec.json.Decoder(LogRecordJson)

Lost = dict[str, tuple[str, str]]


def load_traces(body: bytes) -> tuple[TracesJson[SpanJson], Lost]:
    """A trace request, and what was lost of it."""

    def salvage(body: bytes, lost: Lost) -> TracesJson[SpanJson]:
        loose = _TRACES_LOOSE.decode(body)
        return TracesJson(
            [
                ResourceSpansJson(
                    rs.resource,
                    [
                        ScopeSpansJson(
                            ss.scope,
                            _items(ss.spans, _SPAN, SpanJson, f"$.resourceSpans[{r}].scopeSpans[{s}].spans", lost),
                            ss.schema_url,
                        )
                        for s, ss in enumerate(rs.scope_spans or ())
                    ],
                    rs.schema_url,
                )
                for r, rs in enumerate(loose.resource_spans or ())
            ]
        )

    return _load(body, _TRACES, salvage)


def load_logs(body: bytes) -> tuple[LogsJson[LogRecordJson], Lost]:
    """A log request, and what was lost of it."""

    def salvage(body: bytes, lost: Lost) -> LogsJson[LogRecordJson]:
        loose = _LOGS_LOOSE.decode(body)
        return LogsJson(
            [
                ResourceLogsJson(
                    rl.resource,
                    [
                        ScopeLogsJson(
                            sl.scope,
                            _items(
                                sl.log_records,
                                _LOG,
                                LogRecordJson,
                                f"$.resourceLogs[{r}].scopeLogs[{s}].logRecords",
                                lost,
                            ),
                            sl.schema_url,
                        )
                        for s, sl in enumerate(rl.scope_logs or ())
                    ],
                    rl.schema_url,
                )
                for r, rl in enumerate(loose.resource_logs or ())
            ]
        )

    return _load(body, _LOGS, salvage)


def _items(
    raws: Sequence[msgspec.Raw] | None, decoder: msgspec.json.Decoder[T], empty: Callable[[], T], path: str, lost: Lost
) -> list[T]:
    """The items of one list, each on its own. A bad one leaves an empty item, so that indices stay as they came."""
    items: list[T] = []
    for i, raw in enumerate(raws or ()):
        try:
            items.append(decoder.decode(raw))
        except msgspec.ValidationError as err:  # any other fault is one of the text: `_load` mends that
            expected, found, where = _explain(err, len(raw))
            lost[f"{path}[{i}]"] = (where.removeprefix("$"), f"expected {expected}, found {found}")
            items.append(empty())
    return items


def _load(body: bytes, typed: msgspec.json.Decoder[T], salvage: Callable[[bytes, Lost], T]) -> tuple[T, Lost]:
    """The request, and the items that were emptied so that the rest could be read: path -> (path below it, why)."""
    lost: Lost = {}
    try:
        request = typed.decode(body)
        if not _misnamed(request):
            return request, lost
    except (msgspec.DecodeError, RecursionError):
        pass
    body = _OTHER_NAME.sub(lambda m: b'"%s"' % _OTHER_NAMES[m[1].decode()].encode(), body)
    try:
        return salvage(body, lost), lost
    except msgspec.ValidationError as err:
        raise MalformedError(*_explain(err, len(body))) from None
    except (msgspec.DecodeError, RecursionError):
        body = _flatten(_mend_text(body))
        lost.clear()
    try:
        return salvage(body, lost), lost
    except msgspec.DecodeError as err:
        raise MalformedError(*_explain(err, len(body))) from None


# Every other name a field goes by: snake_case, and what scopes were called before OTLP 0.19.
_OTHER_NAMES = {
    "instrumentation_library_spans": "scopeSpans",
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentation_library_logs": "scopeLogs",
    "instrumentationLibraryLogs": "scopeLogs",
    "instrumentation_library": "scope",
    "instrumentationLibrary": "scope",
} | {
    name: camel
    for struct in (
        *(
            AnyValueJson,
            KeyValueJson,
            EventJson,
            LinkJson,
            StatusJson,
            SpanJson,
            LogRecordJson,
            ResourceJson,
            ScopeJson,
        ),
        *(ScopeSpansJson, ResourceSpansJson, TracesJson, ScopeLogsJson, ResourceLogsJson, LogsJson),
    )
    for name, camel in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    if name != camel
}
# A quote inside a JSON string is escaped, so only the name of a member can match.
_OTHER_NAME = re.compile(b'"(%s)"(?=\\s*:)' % "|".join(_OTHER_NAMES).encode())


def _misnamed(request: object) -> bool:
    """Whether fields that every request has are absent: then they may go by another name.

    Looked for in the result, since a search of the bytes costs as much as decoding them.
    """
    if isinstance(request, TracesJson):
        for resource_spans in request.resource_spans or (None,):
            for scope_spans in (resource_spans and resource_spans.scope_spans) or (None,):
                for span in (scope_spans and scope_spans.spans) or (None,):
                    if span is None or None in (span.trace_id, span.span_id, span.start_time_unix_nano):
                        return True
        return False
    assert isinstance(request, LogsJson)
    for resource_logs in request.resource_logs or (None,):
        for scope_logs in (resource_logs and resource_logs.scope_logs) or (None,):
            for log in (scope_logs and scope_logs.log_records) or (None,):
                if log is None or (log.time_unix_nano is None and log.observed_time_unix_nano is None):
                    return True
    return False


# Every escape in turn, so that an escaped backslash is not taken for the start of one; group 1 is half a pair.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def _mend_text(body: bytes) -> bytes:
    """The body without a byte order mark, bytes that are no UTF-8, and halves of surrogate pairs."""
    text = body.decode("utf-8-sig", "replace")
    return _ESCAPE.sub(lambda m: "\\ufffd" if m[1] else m[0], text).encode()


# A string or one bracket. Possessive, and closed at the latest by the end, so that it runs in linear time on anything.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_MAX_BRACKETS = 200


def _flatten(body: bytes) -> bytes:
    """The body with null in place of what nests deeper than any value that is kept."""
    out: list[bytes] = []
    depth = kept = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth == _MAX_BRACKETS + 1:
                out += (body[kept : token.start()], b"null")
        elif first in b"]}":
            if depth == _MAX_BRACKETS + 1:
                kept = token.end()
            depth -= 1
    if depth > _MAX_BRACKETS:
        return b"".join(out)
    return b"".join(out) + body[kept:]


_EXPLAINED = re.compile(r"Expected (.+), got (.+?)(?: - at `(.+)`)?", re.DOTALL)
_MALFORMED = re.compile(r"JSON is malformed: (.+) \(byte (\d+)\)")


def _explain(err: msgspec.DecodeError, size: int) -> tuple[str, str, str]:
    """What was expected, what was found and where, from msgspec's own words."""
    text = str(err)
    if match := _EXPLAINED.fullmatch(text):
        return match[1].replace("`", ""), match[2].replace("`", ""), match[3] or "$"
    if match := _MALFORMED.fullmatch(text):
        return "JSON", match[1], f"byte {match[2]}"
    if "truncated" in text:
        return "JSON", "an end in the middle", f"byte {size}"
    what, _, where = text.partition(" - at ")
    return "OTLP/JSON", what[:1].lower() + what[1:], where.strip("`") or "$"
