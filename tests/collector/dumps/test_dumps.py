"""Dumps are told by what is in them, and read whole or with each missing part named."""

from __future__ import annotations

import gc
import gzip
import io
import json
import random
import weakref
import zlib
from pathlib import Path

import pytest
import zstandard

from collector.dumps import Batch, ReadNote, compression, inputs, open_dump, read_dump
from collector.dumps.model import DumpError
from collector.otlp import encode
from collector.otlp.model import LogRecord
from tests.collector.dumps.worlds import BRIEF, JSON, PROTOBUF, SPANS, brief, read, said

CASES = Path(__file__).parents[2] / "conformance" / "cases"
CAPTURES = Path(__file__).parents[2] / "conformance" / "captures"


def big_endian(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def delimited(*bodies: bytes) -> bytes:
    return b"".join(encode_varint(len(body)) + body for body in bodies)


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


PRETTY = json.dumps(json.loads(JSON), indent=2).encode()
ZSTD = zstandard.ZstdCompressor().compress

WAYS = {
    "one JSON document": (JSON, "OTLP JSON lines", 1),
    "a pretty-printed document": (PRETTY, "OTLP JSON", 1),
    "documents one after the other": (PRETTY + b"\n" + PRETTY, "OTLP JSON", 2),
    "a list of requests": (b"[" + JSON + b",\n" + JSON + b"]", "OTLP JSON", 2),
    "a list on one line": (b"[" + JSON + b"," + JSON + b"]", "OTLP JSON lines", 2),
    "lines": (JSON + b"\n" + JSON + b"\n", "OTLP JSON lines", 2),
    "lines with CRLF and empty ones": (JSON + b"\r\n\r\n\n" + JSON + b"\r\n", "OTLP JSON lines", 2),
    "a byte order mark": (b"\xef\xbb\xbf" + JSON + b"\n", "OTLP JSON lines", 1),
    "a byte order mark before a document": (b"\xef\xbb\xbf" + PRETTY, "OTLP JSON", 1),
    "one protobuf message": (PROTOBUF, "OTLP protobuf, one message", 1),
    "two protobuf messages without any framing": (PROTOBUF + PROTOBUF, "OTLP protobuf, one message", 2),
    "protobuf with four bytes of length": (big_endian(PROTOBUF, PROTOBUF), "OTLP protobuf, length-delimited", 2),
    "protobuf with varint lengths": (delimited(PROTOBUF, PROTOBUF), "OTLP protobuf, varint-delimited", 2),
    "records that are each zstd": (big_endian(ZSTD(PROTOBUF), ZSTD(PROTOBUF)), "OTLP protobuf, length-delimited", 2),
    "JSON records that are each zstd": (big_endian(ZSTD(JSON)), "OTLP protobuf, length-delimited", 1),
    "Tempo": (JSON.replace(b'"resourceSpans"', b'"batches"'), "Tempo JSON lines", 1),
    "Tempo, pretty-printed": (PRETTY.replace(b'"resourceSpans"', b'"batches"'), "Tempo JSON", 1),
    "Tempo version 2": (b'{"trace":' + JSON + b',"metrics":{}}', "OTLP JSON lines", 1),
    "Tempo version 2, pretty-printed": (b'{\n"trace":' + PRETTY + b',\n"status":"COMPLETE"}', "OTLP JSON", 1),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_otlp_is_read_the_same(way: str) -> None:
    data, format_name, times = WAYS[way]

    spans, notes = read(data)

    assert sorted(spans, key=repr) == sorted(SPANS * times, key=repr)
    assert said(notes) == [f"format: dump: read as {format_name}"]


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (gzip.compress, " (gzip)"),
        (lambda data: gzip.compress(data[:40]) + gzip.compress(data[40:]) + b"\0" * 8, " (gzip)"),
        (ZSTD, " (zstd)"),
        (lambda data: ZSTD(data[:40]) + b"\x50\x2a\x4d\x18\x04\0\0\0skip" + ZSTD(data[40:]), " (zstd)"),
        (lambda data: gzip.compress(ZSTD(data)), " (gzip) (zstd)"),
    ],
    ids=["gzip", "gzip of two members", "zstd", "zstd of two frames", "zstd in gzip"],
)
@pytest.mark.parametrize(
    "data", [JSON + b"\n" + JSON, PRETTY, big_endian(PROTOBUF)], ids=["lines", "document", "protobuf"]
)
def test_compression_is_told_by_content(pack: object, name: str, data: bytes) -> None:
    spans, notes = read(pack(data))  # type: ignore[operator]

    assert set(brief(spans)) == set(BRIEF)
    assert [note.message.endswith(name) for note in notes] == [True]


def test_lines_are_read_although_some_are_bad_and_the_last_is_cut() -> None:
    spans, notes = read((CASES / "09-json-lines-cut-tail" / "input.jsonl").read_bytes())

    assert [span.name for span in spans] == ["invoke_agent ann", "invoke_agent bob"]
    assert said(notes) == [
        "passed_over: dump: line 3: 1 log record tied to no span",
        "unreadable: dump: line 4: expected an object, found null",
        "unreadable: dump: line 6: incomplete: the line ends in the middle (a writer may still be at it)",
        "format: dump: read as OTLP JSON lines",
    ]


METRICS_JSON = (
    b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[]}},{"name":"b"}]}]}]}'
)
LOGS = Batch(logs=(LogRecord(body="x", time_unix_nano=1),))


def metrics_protobuf() -> bytes:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="a")
    metric.gauge.data_points.add(as_int=1)
    return request.SerializeToString()


BAD_LINES = {
    "not JSON": (b"hello", "unreadable: dump: line 2: expected an object, found text"),
    "a number": (b"17", "unreadable: dump: line 2: expected an object, found a number"),
    "a list with a string": (b'["a"]', "unreadable: dump: line 2, item 0: expected an object, found a string"),
    "an unknown object": (
        b'{"level":"info"}',
        "unreadable: dump: line 2: found an object with level, which is no telemetry",
    ),
    "a trace document": (
        b'{"trace_id":"t","agents":[],"turns":[],"handoffs":[]}',
        "unreadable: dump: line 2: found a trace document, which is read by `orbitrelay`, as it is",
    ),
    "no object at all": (b"{}", "unreadable: dump: line 2: found an object with no members"),
    "spans that are a string": (
        b'{"resourceSpans":"x"}',
        "unreadable: dump: line 2 $.resourceSpans: expected array | null",
    ),
    "broken text": (b'{"resourceSpans":[}', "unreadable: dump: line 2: expected JSON, found text that is none"),
    "deep nesting": (b"[" * 100_000, "unreadable: dump: line 2: expected JSON, found text that is none"),
    "a cut line in the middle": (JSON[:50], "unreadable: dump: line 2: expected JSON, found text that is none"),
    "metrics": (METRICS_JSON, "passed_over: dump: 2 metrics (a, b): no spans in them"),
    "a log of no span": (encode.encode_logs_json(LOGS), "passed_over: dump: line 2: 1 log record tied to no span"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_one_line_that_is_no_telemetry_costs_itself(kind: str) -> None:
    line, expected = BAD_LINES[kind]

    spans, notes = read(JSON + b"\n" + line + b"\n" + JSON + b"\n")

    assert len(spans) == 4
    assert next(text for text in said(notes) if not text.startswith("format")).startswith(expected)


def test_a_bad_first_line_costs_itself_too() -> None:
    spans, notes = read(JSON[20:] + b"\n" + JSON + b"\n")

    assert len(spans) == 2
    assert [note.where for note in notes] == ["line 1", ""]


def test_metrics_and_logs_between_protobuf_records_are_named() -> None:
    spans, notes = read(big_endian(metrics_protobuf(), PROTOBUF, encode.encode_logs(LOGS), b"\x0a\x00"))

    assert len(spans) == 2
    assert said(notes) == [
        "format: dump: read as OTLP protobuf, length-delimited",
        "passed_over: dump: 1 log record tied to no span",
        "passed_over: dump: 1 metrics (a): no spans in them",
    ]


@pytest.mark.parametrize("framing", [big_endian, delimited, lambda *bodies: b"".join(bodies)])
def test_a_cut_protobuf_dump_gives_what_came_before_the_cut(framing: object) -> None:
    spans, notes = read(framing(PROTOBUF, PROTOBUF)[:-5])  # type: ignore[operator]

    assert brief(spans) == BRIEF
    size = len(PROTOBUF) if framing in (big_endian, delimited) else len(PROTOBUF) - 3
    assert notes[-1].message == f"record 2 is incomplete: {size} bytes announced, {size - 5} there"


def test_a_bad_protobuf_record_costs_itself() -> None:
    spans, notes = read(big_endian(PROTOBUF, b"\xff" * 9, PROTOBUF))

    assert len(spans) == 4
    assert said(notes)[1:] == [
        "unreadable: dump: record 2: expected an OTLP request, found bytes that are none at byte 0"
    ]


def test_a_cut_document_gives_what_came_before_the_cut() -> None:
    spans, notes = read(PRETTY[:-60])

    assert [note.message for note in notes] == ["incomplete: the document ends in the middle", "read as OTLP JSON"]
    assert spans == []  # the only resource is cut, so what its spans stood under is not known

    spans, notes = read(b'{\n "resourceSpans": [\n' + _resource() + b",\n" + _resource()[:-30])
    assert brief(spans) == BRIEF
    assert notes[0].kind == "unreadable"


def _resource() -> bytes:
    return json.dumps(json.loads(JSON)["resourceSpans"][0], indent=1).encode()


@pytest.mark.parametrize("pack", [gzip.compress, ZSTD], ids=["gzip", "zstd"])
def test_a_cut_compressed_dump_gives_what_came_before_the_cut(pack: object) -> None:
    noise = random.Random(0).randbytes(4_000_000).hex().encode()
    lines = b"".join(JSON.replace(b"planner", noise[i : i + 2000]) + b"\n" for i in range(0, 8_000_000, 80_000))

    spans, notes = read(pack(lines)[:-2000])  # type: ignore[operator]

    assert 0 < len(spans) < 200
    assert any(note.kind == "unreadable" for note in notes)


def drain(stream: io.BytesIO) -> None:
    reader, _ = compression.plain(stream)
    while reader.take(1 << 20):
        pass


@pytest.mark.parametrize("cut", [gzip.compress(JSON)[:-3], zstandard.ZstdCompressor().compress(JSON)[:-3] + b"x" * 9])
def test_what_held_a_broken_stream_goes_at_once_and_not_when_the_collector_comes_by(cut: bytes) -> None:
    gc.collect()
    gc.disable()  # a zstd window is up to 128 MiB: seventeen of them are two gigabytes
    try:
        stream = io.BytesIO(cut)
        kept = weakref.ref(stream)
        with pytest.raises(DumpError):
            drain(stream)
        del stream
        assert kept() is None
    finally:
        gc.enable()


def test_broken_gzip_says_so() -> None:
    data = bytearray(gzip.compress(JSON * 50))
    data[40] ^= 0xFF

    _, notes = read(bytes(data))

    assert notes[-1].kind == "unreadable"
    assert "gzip data is broken" in notes[-1].message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04 zip", "found a zip archive, which is not read"),
        (b"PAR1\x15\x04", "found Parquet, which is not read"),
        (b"BZh91AY", "found bzip2, which is not read"),
        (b"name,span\nx,y\n", "found text that begins with 'name,span', which is not read"),
        ("{}".encode("utf-16"), "found UTF-16 text, which is not read"),
        (bytes(range(128, 256)), "found bytes that begin with 80 81 82 83 84 85 86 87, which is not read"),
        (b"\x1b]0;owned\x07 text", "found bytes that begin with 1b 5d 30 3b 6f 77 6e 65, which is not read"),
        (zlib.compress(JSON), "found bytes that begin with 78 9c"),
    ],
)
def test_what_is_not_read_is_refused_in_one_line_that_names_it(data: bytes, message: str) -> None:
    spans, notes = read(data)

    assert spans == []
    assert [note.kind for note in notes] == ["unreadable"]
    assert notes[0].message.startswith(message)
    assert "OTLP" in notes[0].message
    assert "\n" not in str(notes[0])
    assert str(notes[0]).isprintable()


@pytest.mark.parametrize("data", [b"", b" \n\n", gzip.compress(b"", mtime=0)])  # no time in a test's name
def test_an_empty_dump_is_no_fault(data: bytes) -> None:
    assert [note.kind for note in read(data)[1]] == ["passed_over"]


def test_a_document_larger_than_a_line_may_be_is_read_in_pieces_like_a_small_one() -> None:
    """One resource, its spans before it, bad ones among them: the paths are those of the whole document."""
    request = json.loads(JSON)
    resource = request["resourceSpans"][0]
    spans = resource["scopeSpans"][0]["spans"] * 4
    spans[5] = {"traceId": "x"}
    many = [dict(span, attributes=[{"key": "pad", "value": {"stringValue": "p" * 900_000}}]) for span in spans]
    document = {
        "resourceSpans": [
            {"scopeSpans": [{"spans": many, "scope": {"name": "late"}}], "resource": resource["resource"]}
        ]
    }

    read_spans, notes = read(json.dumps(document, indent=1).encode())

    assert len(read_spans) == 7
    assert {span.resource.service for span in read_spans} == {"desk"}
    assert said(notes)[0].startswith("unreadable: dump: $.resourceSpans[0].scopeSpans[0].spans[5].traceId: expected")


def test_text_around_the_values_of_a_console_is_passed_over() -> None:
    spans, notes = read(b"starting up\n" + PRETTY + b"\nINFO: done {}\n" + PRETTY + b"\nbye\n")

    assert len(spans) == 4
    assert "passed_over: dump: 3 lines of text between the values" in said(notes)


def test_every_capture_is_the_same_from_either_file() -> None:
    for path in (CAPTURES / "google-adk__native-transfer", CAPTURES / "autogen-agentchat__native"):
        lines = [item for item in open_dump(str(path / "traces.otlp.jsonl")) if isinstance(item, Batch)]
        records = [item for item in open_dump(str(path / "traces.otlp.pb")) if isinstance(item, Batch)]
        assert lines == records


def test_inputs_are_files_folders_and_globs_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b/2.json", "b/1.json", "a.pb", "b/.hidden", ".git/x"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(JSON)

    def found(*names: str) -> list[str]:
        return [str(item) if isinstance(item, ReadNote) else Path(item).name for item in inputs(names)]

    assert found(str(tmp_path)) == ["a.pb", "1.json", "2.json"]
    assert found(str(tmp_path / "b" / "*.json"), "-") == ["1.json", "2.json", "-"]
    assert found("nowhere.json") == ["nowhere.json: no such file"]


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    assert [str(item) for item in open_dump(str(tmp_path))] == [f"{tmp_path}: cannot be read (Is a directory)"]


def test_progress_is_told_every_byte_of_the_input() -> None:
    data = gzip.compress(JSON)
    told: list[int] = []

    list(read_dump("x", io.BytesIO(data), told.append))

    assert sum(told) == len(data)
