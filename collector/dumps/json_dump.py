"""JSON dumps: which of the known shapes each value has, and the reader for it.

A file is read by lines where its first line is a whole value, else as documents in pieces; either way as a run of values,
of which any may be of another shape. A bad line costs itself. Text between values (a console's log) is passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from collector.dumps import flat, jaeger, langfuse, otlp_json
from collector.dumps.json_pieces import JsonCursor
from collector.dumps.model import MAX_LINE, DumpError, ReadNote
from collector.dumps.reader import ByteReader
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch

READS = "OTLP (JSON, protobuf), Jaeger, Tempo, Langfuse and flattened or nested spans"

_LISTS = frozenset({"data", "traces", "observations", "results", "items"})
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANY = msgspec.json.Decoder()

Item = Batch | ReadNote


class JsonDump:
    """Reads one input. Notes of one kind are counted and told once, at the end, where they would repeat for every line."""

    def __init__(self, source: str, reader: ByteReader) -> None:
        self._source = source
        self._reader = reader
        self._formats: Counter[str] = Counter()
        self._metrics: Counter[str] = Counter()
        self._passed = 0

    def read(self) -> Iterator[Item]:
        lines = self._starts_with_whole_line()
        try:
            yield from self._lines() if lines else self._documents()
        finally:
            self._reader.skip(self._reader.available)
        how = " lines" if lines else ""
        for name in self._formats:
            yield ReadNote(self._source, "format", f"read as {name}{how}")
        if self._metrics:
            names = ", ".join(sorted(self._metrics)[:5]) + (", ..." if len(self._metrics) > 5 else "")
            yield ReadNote(self._source, "passed_over", f"{self._metrics.total()} metrics ({names}): no spans in them")
        if self._passed:
            yield ReadNote(self._source, "passed_over", f"{self._passed} lines of text between the values")

    # ------------------------------------------------------------------ lines

    def _starts_with_whole_line(self) -> bool:
        """Looks at the first line that is not blank. One that is longer than a line may be makes a document."""
        size = 1 << 12
        while True:
            ahead = self._reader.peek(size)
            text = ahead.lstrip(b"\xef\xbb\xbf \t\r\n")
            line, end, _ = text.partition(b"\n")
            if end or len(ahead) < size:
                break
            if size >= MAX_LINE:
                return False
            size *= 4
        try:
            msgspec.json.decode(line, type=msgspec.Raw)
            return line[:1] in (b"{", b"[") or line.strip() == b"null"
        except msgspec.DecodeError:
            # A first line may be bad, too: if the next is whole, these are lines.
            following = text.partition(b"\n")[2].partition(b"\n")[0]
            try:
                return isinstance(_ANY.decode(following), dict)
            except (msgspec.DecodeError, RecursionError):
                return False
        except RecursionError:
            return True

    def _lines(self) -> Iterator[Item]:
        number = 0
        while True:
            number += 1
            where = f"line {number}"
            line = self._reader.line(MAX_LINE)
            if line is None:
                yield from self._document(JsonCursor(self._reader), where)
                self._reader.line(MAX_LINE)
                continue
            if not line:
                return
            text = line.strip().removeprefix(b"\xef\xbb\xbf")
            if not text:
                continue
            last = not line.endswith(b"\n")
            yield from self._value(text, where, last)

    def _value(self, text: bytes, where: str, last: bool) -> Iterator[Item]:
        """One value in one piece."""
        try:
            if text[:1] == b"[":
                for index, raw in enumerate(msgspec.json.decode(text, type=list[msgspec.Raw])):
                    yield from self._object(bytes(raw), f"{where}, item {index}")
            elif text[:1] == b"{":
                yield from self._object(text, where)
            else:
                found = _kind(text)
                yield self._bad(where, f"expected an object, found {found}")
        except (msgspec.DecodeError, RecursionError) as err:
            if last and "truncated" in str(err):
                yield self._bad(where, "incomplete: the line ends in the middle (a writer may still be at it)")
            else:
                yield self._bad(where, f"expected JSON, found text that is none ({_first_line(err)})")

    # -------------------------------------------------------------- documents

    def _documents(self) -> Iterator[Item]:
        if self._reader.peek(3) == b"\xef\xbb\xbf":
            self._reader.skip(3)
        number = 0
        cursor = JsonCursor(self._reader)
        while True:
            mark = cursor.peek()
            if not mark:
                return
            if mark not in b"{[":
                self._passed += 1
                self._skip_line()
                continue
            number += 1
            yield from self._document(cursor, f"value {number}" if number > 1 else "")

    def _document(self, cursor: JsonCursor, where: str) -> Iterator[Item]:
        try:
            if cursor.peek() == b"[":
                for index in cursor.items():
                    place = f"{where}, item {index}".lstrip(", ")
                    if cursor.peek() == b"{":
                        yield from self._pieces(cursor, place)
                    else:
                        yield from self._value(cursor.value(), place, last=False)
            else:
                yield from self._pieces(cursor, where)
        except DumpError as err:
            yield self._bad(err.where or where, err.message)
            self._skip_line()

    def _pieces(self, cursor: JsonCursor, where: str) -> Iterator[Item]:
        """One object. Lists that may be long are read as they come, the other members kept until its shape is known."""
        kept: dict[str, bytes] = {}
        streamed = False
        for name in cursor.members():
            if name in otlp_json.SIGNALS:
                streamed = True
                self._formats[_otlp_format((name,))] += 1
                yield from self._batches(iter(otlp_json.Pieces(cursor, name)), where)
            elif name in _LISTS and not kept.get("id") and cursor.peek() == b"[":
                streamed = True
                for index in cursor.items():
                    place = f"{where}, {name}[{index}]".lstrip(", ")
                    if cursor.peek() == b"{":
                        yield from self._pieces(cursor, place)
                    else:
                        yield from self._value(cursor.value(), place, last=False)
            else:
                kept[name] = cursor.value()
        if not streamed:
            raw = b"{%s}" % b",".join(msgspec.json.encode(name) + b":" + value for name, value in kept.items())
            yield from self._value(raw, where, last=False)

    def _skip_line(self) -> None:
        """Passes the rest of a line, of any length."""
        while (line := self._reader.line(MAX_LINE)) is None:
            self._reader.skip(self._reader.available)
        del line

    # ----------------------------------------------------------------- shapes

    def _object(self, raw: bytes, where: str) -> Iterator[Item]:
        """One value whose text is at hand: tells its shape by its members, and reads it."""
        if raw.lstrip()[:1] != b"{":
            yield self._bad(where, f"expected an object, found {_kind(raw.strip())}")
            return
        members = _OBJECT.decode(raw)
        names = frozenset(members)
        if names & otlp_json.SIGNALS.keys():
            self._formats[_otlp_format(names)] += 1
            yield from self._batches(otlp_json.read_request(raw, names), where)
            return
        if "trace" in names and not names & {"spans", "observations"} and bytes(members["trace"])[:1] == b"{":
            yield from self._object(bytes(members["trace"]), where)
            return
        listed = next((name for name in ("data", "traces", "results", "items") if name in names), None)
        if listed and bytes(members[listed])[:1] == b"[" and "id" not in names:
            for index, item in enumerate(msgspec.json.decode(bytes(members[listed]), type=list[msgspec.Raw])):
                yield from self._object(bytes(item), f"{where}, {listed}[{index}]".lstrip(", "))
            return
        record: dict[str, Any] = _ANY.decode(raw)
        read = self._shape(record)
        if read is None:
            keys = ", ".join(sorted(names)[:8]) or "no members"
            found = f"an object with {keys}, which is no telemetry that is read ({READS})"
            if {"trace_id", "handoffs"} <= names:
                found = "a trace document, which is read by `orbitrelay`, as it is"
            yield self._bad(where, f"found {found}")
            return
        yield from self._batches(iter((read,)), where)

    def _shape(self, record: Mapping[str, Any]) -> Batch | None:
        """The batch of one record, or None where its shape is not known."""
        record = dict(record)
        if isinstance(record.get("spans"), list) and ("processes" in record or "traceID" in record):
            self._formats[jaeger.FORMAT] += 1
            return jaeger.read_trace(record)
        if isinstance(record.get("observations"), list):
            held = record.get("trace")
            trace = (held if isinstance(held, dict) else record) | {"observations": record["observations"]}
            self._formats[langfuse.FORMAT] += 1
            return langfuse.read_trace(trace)
        if langfuse.is_observation(record):
            self._formats[langfuse.FORMAT] += 1
            return langfuse.read_observation(record)
        if flat.is_frame(record):
            self._formats[flat.FRAME_FORMAT] += 1
            return flat.read_frame(record)
        if flat.is_tree(record):
            self._formats[flat.TREE_FORMAT] += 1
            return flat.read_tree(record)
        if flat.is_span(record):
            self._formats[flat.FORMAT] += 1
            return flat.read_span(record)
        return None

    def _batches(self, batches: Iterator[Batch | Counter[str]], where: str) -> Iterator[Item]:
        try:
            for item in batches:
                if isinstance(item, Counter):
                    self._metrics += item
                    continue
                yield item
                loose = sum(1 for log in item.logs if not log.trace_id)
                if loose:
                    yield ReadNote(self._source, "passed_over", _loose(loose), where)
                for bad in item.rejections:
                    yield self._bad(f"{where} {bad.path}".strip(), bad.reason)
        except MalformedError as err:
            yield self._bad(f"{where} {err.where}".strip(), f"expected {err.expected}, found {err.found}")

    def _bad(self, where: str, message: str) -> ReadNote:
        return ReadNote(self._source, "unreadable", message, where)


def _otlp_format(names: Any) -> str:
    return otlp_json.TEMPO_FORMAT if "batches" in names else otlp_json.FORMAT


def _loose(count: int) -> str:
    return f"{count} log record{'s' if count > 1 else ''} tied to no span"


def _kind(text: bytes) -> str:
    for start, name in (
        (b"null", "null"),
        (b"[", "a list"),
        (b'"', "a string"),
        (b"true", "true"),
        (b"false", "false"),
    ):
        if text.startswith(start):
            return name
    return "a number" if text[:1] in b"-0123456789" else "text"


def _first_line(err: BaseException) -> str:
    return str(err).partition("\n")[0].lower()
