"""`convert`, from dumps to documents."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collector import convert
from collector.dumps import ReadNote
from collector.offline import Telling
from collector.otlp import encode
from collector.otlp.model import Batch, Resource, Scope, Span

CASES = Path(__file__).parents[1] / "conformance" / "cases"
CAPTURES = Path(__file__).parents[1] / "conformance" / "captures"
START = 1_780_000_000_000_000_000
MS = 1_000_000


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    convert.add_arguments(parser)
    return convert.run(parser.parse_args([str(argument) for argument in arguments]))


def documents(out: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_bytes()) for path in sorted(out.glob("*.trace.json"))}


def agent(name: str, number: int, session: str = "s-1", **attributes: Any) -> Span:
    """A visit of an agent, the root of its trace; visits follow each other by number."""
    return Span(
        trace_id="5b8efff798038103d269b633813fc60c",
        span_id=f"{number:016x}",
        name=f"invoke_agent {name}",
        start_unix_nano=START + number * 1000 * MS,
        end_unix_nano=START + number * 1000 * MS + 800 * MS,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "session.id": session,
            **attributes,
        },
        scope=Scope("demo"),
        resource=Resource({"service.name": "desk"}),
    )


def in_trace(span: Span, trace_id: str) -> Span:
    return msgspec.structs.replace(span, trace_id=trace_id)


def dump(*spans: Span) -> bytes:
    return encode.encode_traces_json(Batch(spans=spans))


def edges(document: Any) -> list[tuple[str, str, int]]:
    return [(h["source_agent"], h["target_agent"], h["latency_ms"]) for h in document["handoffs"]]


def test_lines_that_are_cut_give_their_session_and_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(CASES / "09-json-lines-cut-tail" / "input.jsonl", "--out", tmp_path) == 3

    (document,) = documents(tmp_path).values()
    assert edges(document) == [("ann", "bob", 200)]
    told = capsys.readouterr()
    assert [line.partition("input.jsonl: ")[2] for line in told.err.splitlines()] == [
        "line 3: 1 log record tied to no span",
        "line 4: expected an object, found null",
        "line 6: incomplete: the line ends in the middle (a writer may still be at it)",
        "read as OTLP JSON lines",
    ]
    assert told.out.splitlines() == [
        "1 session, 1 handoff from 2 spans; 2 parts unreadable",
        str(tmp_path / "index.md"),
    ]


def test_spellings_of_ids_are_one_trace_and_bad_ids_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(CASES / "07-id-encodings" / "input.json", "--out", tmp_path) == 3

    (document,) = documents(tmp_path).values()
    assert {item["agent_id"] for item in document["agents"]} == {"alpha", "beta", "epsilon"}
    assert "spans[2].traceId: expected an id, found zeros" in capsys.readouterr().err


def test_lenient_json_is_no_fault(tmp_path: Path) -> None:
    assert run(CASES / "08-lenient-json" / "input.json", "--out", tmp_path) == 0

    (document,) = documents(tmp_path).values()
    assert [(h["source_agent"], h["target_agent"], h["origin"]["mode"]) for h in document["handoffs"]] == [
        ("one", "two", "delegate"),
        ("two", "one", "return"),
    ]
    assert sum(turn["tokens"] or 0 for turn in document["turns"]) == 14


@pytest.mark.parametrize(
    "capture", ["google-adk__native-transfer", "langgraph-swarm__openinference", "autogen-agentchat__native"]
)
def test_a_capture_gives_the_same_bytes_from_either_file_and_from_parts_in_any_order(
    capture: str, tmp_path: Path
) -> None:
    lines = (CAPTURES / capture / "traces.otlp.jsonl").read_bytes().splitlines()
    parts = tmp_path / "in-parts"
    parts.mkdir()
    for i, line in enumerate(reversed(lines)):
        (parts / f"{i:03}.bin").write_bytes(gzip.compress(line))

    for name, inputs in (
        ("jsonl", [CAPTURES / capture / "traces.otlp.jsonl"]),
        ("pb", [CAPTURES / capture / "traces.otlp.pb"]),
        ("twice", [CAPTURES / capture / "traces.otlp.pb", CAPTURES / capture / "traces.otlp.jsonl"]),
        ("parts", [parts]),
    ):
        assert run(*inputs, "--out", tmp_path / name) == 0

    def content(name: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    first = content("jsonl")
    assert len(first) == 3
    assert content("pb") == content("twice") == content("parts") == first


def test_contracts_are_held_against_what_was_handed_over(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(
        dump(
            agent("planner", 1, **{"output.value": '{"goal": "x"}'}),
            agent("writer", 2, **{"input.value": '{"goal": "x"}'}),
        )
    )
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text("version: 1\nrules:\n  - contract:\n      writer: [goal, deadline]\n")

    assert run(tmp_path / "dump.json", "--out", tmp_path / "out", "--contracts", contracts) == 0

    document = documents(tmp_path / "out")["s-1.trace.json"]
    assert document["contract"] == {"writer": ["goal", "deadline"]}
    assert "deadline" in (tmp_path / "out" / "s-1.dossier.md").read_text()


def test_the_index_says_where_nothing_was_required(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(
        dump(agent("planner", 1), agent("writer", 2, **{"input.value": '{"goal": "x"}'}))
    )

    assert run(tmp_path / "dump.json", "--out", tmp_path) == 0

    assert (tmp_path / "index.md").read_text().splitlines()[-1] == (
        "| `s-1` | `desk` | 2 | 1 | 1 | 0.980 | A | `planner -> writer` "
        "| [dossier](<s-1.dossier.md>), [trace](<s-1.trace.json>) | no contract |"
    )


def test_the_index_has_the_weakest_first_and_those_without_a_score_last(tmp_path: Path) -> None:
    handed = {"a-whole": '{"goal": "x", "deadline": "y"}', "b-unknown": None, "c-half": '{"goal": "x"}'}
    spans = []
    for number, (session, text) in enumerate(handed.items(), 1):
        content = {} if text is None else {"input.value": text}
        pair = agent("planner", 1, session), agent("writer", 2, session, **content)
        spans += [in_trace(span, f"{number:032x}") for span in pair]
    (tmp_path / "dump.json").write_bytes(dump(*spans))
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text("version: 1\nrules:\n  - contract:\n      writer: [goal, deadline]\n")

    assert run(tmp_path / "dump.json", "--out", tmp_path, "--contracts", contracts) == 0

    assert (tmp_path / "index.md").read_text().splitlines()[6:] == [
        "| `c-half` | `desk` | 2 | 1 | 1 | 0.700 | C | `planner -> writer` "
        "| [dossier](<c-half.dossier.md>), [trace](<c-half.trace.json>) |  |",
        "| `a-whole` | `desk` | 2 | 1 | 1 | 1.000 | A | `planner -> writer` "
        "| [dossier](<a-whole.dossier.md>), [trace](<a-whole.trace.json>) |  |",
        "| `b-unknown` | `desk` | 2 | 1 | 0 |  |  |  "
        "| [dossier](<b-unknown.dossier.md>), [trace](<b-unknown.trace.json>) |  |",
    ]


HOSTILE = {
    "a path": "../../etc/passwd",
    "an absolute path": "/etc/passwd",
    "a device": "CON",
    "a control sequence": "\x1b[2J\x07",
    "Markdown": "|x`](javascript:alert(1))<script>",
    "a right-to-left override": "\u202egpj.exe",
    "a hidden file": ".bashrc",
    "nothing but dots": "...",
    "a long name": "x" * 5000,
    "blanks": "a b\nc",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_session_name_stays_inside_the_folder_the_table_and_the_terminal(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = HOSTILE[kind]
    (tmp_path / "dump.json").write_bytes(
        dump(agent("a", 1, session=name), agent("b", 2, session=name, **{"input.value": '{"goal": "x"}'}))
    )
    out = tmp_path / "deep" / "out"

    assert run(tmp_path / "dump.json", "--out", out) == 0

    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*"))
    assert len(files) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9._~@=+-]{1,140}", file) and not file.startswith(".") for file in files)
    table = (out / "index.md").read_text().splitlines()[6:]
    assert len(table) == 1
    assert len(re.split(r"(?<!\\)\|", table[0])) == 12
    assert table[0].isprintable()
    told = capsys.readouterr()
    assert all(line.isprintable() for line in (told.out + told.err).splitlines())


def test_names_that_differ_by_case_alone_get_files_of_their_own(tmp_path: Path) -> None:
    spans = [agent(who, i, session=name) for name in ("Run", "RUN", "run") for i, who in ((1, "a"), (2, "b"))]
    spans = [in_trace(span, f"{i // 2 + 1:032x}") for i, span in enumerate(spans)]
    (tmp_path / "dump.json").write_bytes(dump(*spans))

    assert run(tmp_path / "dump.json", "--out", tmp_path / "out") == 0

    names = [path.name for path in (tmp_path / "out").glob("*.trace.json")]
    assert len({name.casefold() for name in names}) == len(names) == 3
    assert {document["trace_id"] for document in documents(tmp_path / "out").values()} == {"Run", "RUN", "run"}


def test_nothing_that_could_be_done_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise.json").write_bytes(b"\x00\x01\x02 noise")
    (tmp_path / "bad.yaml").write_text("rulez: []\n")
    good = CASES / "08-lenient-json" / "input.json"
    (tmp_path / "file").write_text("")

    assert run(tmp_path / "noise.json", "--out", tmp_path / "out") == 2
    assert run(tmp_path / "nowhere.json", "--out", tmp_path / "out") == 2
    assert "no such file" in capsys.readouterr().err
    assert run(good, "--out", tmp_path / "out", "--contracts", tmp_path / "bad.yaml") == 2
    assert "did you mean 'rules'" in capsys.readouterr().err
    assert run(good, "--out", tmp_path / "file") == 2
    assert capsys.readouterr().err.endswith("file exists\n")


def test_one_bad_file_among_good_ones_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "noise.json").write_bytes(b"\x00\x01\x02 noise")

    assert run(tmp_path / "noise.json", CASES / "08-lenient-json" / "input.json", "--out", tmp_path / "out") == 3


def test_a_dump_without_agents_is_read_and_gives_an_empty_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump.json").write_bytes(dump(Span("a" * 32, "b" * 16, "GET /", start_unix_nano=START)))

    assert run(tmp_path / "dump.json", "--out", tmp_path / "out", "--quiet") == 0

    assert capsys.readouterr().out.startswith("0 sessions, 0 handoffs from 1 span\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.md"]


def test_results_inside_the_input_folder_are_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes((CASES / "08-lenient-json" / "input.json").read_bytes())

    for out in (tmp_path / "out", tmp_path):
        for _ in range(2):
            assert run(tmp_path / "dump.json", tmp_path, "--out", out) == 0
            assert len(documents(out)) == 1
        shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_very_many_bad_lines_are_named_up_to_a_bound_and_then_counted(tmp_path: Path) -> None:
    stream = io.StringIO()
    telling = Telling(stream=stream)
    for i in range(1, 251):
        telling.note(ReadNote("x", "unreadable", "bad", f"line {i}"))
    telling.done()

    lines = stream.getvalue().splitlines()
    assert lines[:1] == ["orbitrelay-collector: x: line 1: bad"]
    assert lines[-1] == "orbitrelay-collector: x: and 150 parts more"
    assert (len(lines), telling.unread) == (101, 250)


def test_a_terminal_sees_how_far_it_is_and_notes_on_lines_of_their_own() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    telling = Telling(stream=stream)
    telling.expect(2_000_000)
    telling.advance(1_000_000)
    telling.note(ReadNote("x", "format", "read as OTLP JSON"))
    telling.done()

    shown = "read 1.0/2.0 MB, 0 spans"
    assert stream.getvalue() == f"{shown}\r{' ' * len(shown)}\rorbitrelay-collector: x: read as OTLP JSON\n"


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO((CASES / "08-lenient-json" / "input.json").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)

    assert run("-", "--out", tmp_path) == 0
    assert len(documents(tmp_path)) == 1


def sessions(megabytes: int) -> Iterator[tuple[Span, ...]]:
    """Sessions of sixteen visits, each with 24 KB of input."""
    for session in range(megabytes * 1000 // (16 * 24)):
        yield tuple(
            in_trace(
                agent(f"a{i % 4}", i + 1, f"s-{session}", **{"input.value": f'{{"goal": "{"x" * 24_000}"}}'}),
                f"{session + 1:032x}",
            )
            for i in range(16)
        )


def large_protobuf(path: Path, megabytes: int) -> None:
    """One request a session, length-delimited."""
    with path.open("wb") as file:
        for spans in sessions(megabytes):
            body = encode.encode_traces(Batch(spans=spans))
            file.write(len(body).to_bytes(4, "big") + body)


def large_document(path: Path, megabytes: int) -> None:
    """All in one request of one resource, on one line."""
    opening, closing = b'{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"demo"},"spans":[', b"]}]}]}"
    with path.open("wb") as file:
        file.write(opening)
        for number, spans in enumerate(sessions(megabytes)):
            request = encode.encode_traces_json(Batch(spans=spans))
            file.write((b"," if number else b"") + request.partition(b'"spans":[')[2].removesuffix(closing))
        file.write(closing)


# VmHWM is of the program alone; what getrusage says of a child counts the parent that it was forked from.
MEASURE = """
import argparse, pathlib, re, sys
from collector import convert
parser = argparse.ArgumentParser()
convert.add_arguments(parser)
assert convert.run(parser.parse_args(sys.argv[1:])) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def peak_mb(dump_file: Path, out: Path) -> int:
    """The most memory that converting takes, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, dump_file, "--out", out, "--quiet"], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1]) // 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    large_protobuf(tmp_path / "small.pb", 8)
    large_protobuf(tmp_path / "large.pb", 32)

    small, big = (peak_mb(tmp_path / f"{name}.pb", tmp_path / name) for name in ("small", "large"))

    assert big - small < 20  # a third of what reading it all at once would add


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("write", [large_protobuf, large_document])
def test_memory_is_flat_on_200_mb(write: Callable[[Path, int], None], tmp_path: Path) -> None:
    write(tmp_path / "large", 200)

    assert peak_mb(tmp_path / "large", tmp_path / "out") < 150
