"""What is fuzzed: every reader of bytes from outside, and what must hold of it for any bytes at all.

A target takes bytes and raises for a broken promise. That input is refused is no fault; that the wrong error is raised, that
two ways of reading disagree, or that what was read cannot be written again, is.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from types import ModuleType

from collector.contracts import ContractError
from collector.contracts import load as load_contracts
from collector.conventions import extract
from collector.dumps import ReadNote, read_dump
from collector.dumps.compression import plain
from collector.dumps.model import DumpError
from collector.journal import segment
from collector.journal.segment import HEADER
from collector.otlp import encode, json, protobuf
from collector.otlp.checked import Checked
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch
from collector.otlp.rewrite import rewrite_traces
from collector.receive.inflate import ENCODINGS, InflateError, TooLargeError, inflate
from collector.recovery import recover
from orbitrelay import TraceError, analyse, loads

Target = Callable[[bytes], None]
MARKER = b"8 bytes."
_CAP = 1 << 20


def _traces(decoder: ModuleType, write: Callable[[Batch], bytes], data: bytes) -> Batch | None:
    try:
        batch: Batch = decoder.decode_traces(data)
    except MalformedError:
        _refuses(decoder.check_traces, data)
        return None
    assert decoder.check_traces(data) == Checked(len(batch.spans), batch.rejections)
    for span in batch.spans:
        assert len(span.trace_id) == 32
        assert len(span.span_id) == 16
        assert len(span.parent_span_id) in (0, 16)
    again = decoder.decode_traces(write(batch))
    assert sorted(map(repr, again.spans)) == sorted(map(repr, batch.spans))
    return batch


def _logs(decoder: ModuleType, write: Callable[[Batch], bytes], data: bytes) -> None:
    try:
        batch: Batch = decoder.decode_logs(data)
    except MalformedError:
        _refuses(decoder.check_logs, data)
        return
    assert decoder.check_logs(data) == Checked(len(batch.logs), batch.rejections)
    again = decoder.decode_logs(write(batch))
    assert sorted(map(repr, again.logs)) == sorted(map(repr, batch.logs))


def _refuses(check: Callable[[bytes], object], data: bytes) -> None:
    try:
        check(data)
    except MalformedError:
        return
    raise AssertionError("what cannot be decoded passed the check")


def otlp_protobuf(data: bytes) -> None:
    """Traces in protobuf; redaction must be able to rewrite what decodes."""
    if _traces(protobuf, encode.encode_traces, data):
        protobuf.decode_traces(rewrite_traces(data, lambda key, text: text[::-1]))


def otlp_protobuf_logs(data: bytes) -> None:
    """Logs in protobuf."""
    _logs(protobuf, encode.encode_logs, data)


def otlp_json(data: bytes) -> None:
    """Traces in JSON; they must say the same as the protobuf made of them."""
    batch = _traces(json, encode.encode_traces_json, data)
    if batch:
        same = protobuf.decode_traces(encode.traces_to_protobuf(data))
        assert sorted(map(repr, same.spans)) == sorted(map(repr, batch.spans))


def otlp_json_logs(data: bytes) -> None:
    """Logs in JSON."""
    _logs(json, encode.encode_logs_json, data)


def dump(data: bytes) -> None:
    """A file of any format: all of it is read or named, in notes of one line."""
    spans = 0
    for item in read_dump("dump", io.BytesIO(data)):
        if isinstance(item, ReadNote):
            assert "\n" not in item.message
        else:
            spans += len(item.spans)
            encode.encode_traces(item)
    assert spans <= len(data)


def compression(data: bytes) -> None:
    """A compressed stream: read to its end, or refused."""
    for stream in (data, b"\x1f\x8b" + data, b"\x28\xb5\x2f\xfd" + data, zlib.compress(data, wbits=31)[:-3]):
        try:
            reader, _ = plain(io.BytesIO(stream))
            for _ in range(64):
                if not reader.take(1 << 16):
                    break
        except DumpError:
            pass


def content_encoding(data: bytes) -> None:
    """A body under a content encoding: what its own library makes of it, or refused, and never over the cap."""
    whole: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}
    for encoding in ENCODINGS:
        try:
            body = inflate(data, encoding, _CAP)
        except (InflateError, TooLargeError):
            continue
        assert len(body) <= _CAP
        if encoding in whole and (encoding != "deflate" or data[:1] == b"\x78"):
            assert body == whole[encoding](data)


def journal(data: bytes) -> None:
    """A segment of the journal: records that stand there as they were written, and the damage between them, without a gap."""
    at = HEADER.size
    try:
        for found in segment.read(data, 1, MARKER):
            if isinstance(found, segment.Damage):
                assert found.offset in {0, at}
                at = max(at, found.end)
            else:
                assert found.position.offset == at
                at = found.end.offset
    except segment.UnknownVersionError:
        return
    assert at >= len(data)


def recovery(data: bytes) -> None:
    """Any spans at all: facts, a document, and an analysis of it."""
    try:
        batch = json.decode_traces(data)
    except MalformedError:
        return
    facts = extract(batch)
    if facts.spans:
        recover(facts.spans)


def contracts(data: bytes) -> None:
    """A contracts file: used, or every fault named."""
    problems: tuple[object, ...] = (1,)
    try:
        load_contracts(data)
    except ContractError as error:
        problems = error.problems
    assert problems


def trace_document(data: bytes) -> None:
    """A trace document: analysed, or refused with the record at fault."""
    message = ""
    try:
        analyse(loads(data))
    except TraceError as error:
        message = str(error)
    assert "\n" not in message


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        otlp_protobuf,
        otlp_protobuf_logs,
        otlp_json,
        otlp_json_logs,
        dump,
        compression,
        content_encoding,
        journal,
        recovery,
        contracts,
        trace_document,
    )
}
