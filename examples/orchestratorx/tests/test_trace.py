"""Tests of trace.py: the chain shows every kind of tampering."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestratorx.trace import KINDS, Trace, digest, path_of, verify
from scripted import Tick, book, tells, world

Document = dict[str, Any]


def whole() -> Document:
    return world(compliance=[tells("CMP-002")]).run(book(), run_id="run-1").trace.document()


def rehash(document: Document, start: int) -> None:
    """Forge the hashes from an entry on, as somebody with write access could."""
    previous = document["entries"][start - 1]["hash"]
    for entry in document["entries"][start:]:
        entry["previous"] = previous
        previous = entry["hash"] = digest({name: value for name, value in entry.items() if name != "hash"})
    document["head"] = previous


def change(document: Document) -> None:
    document["entries"][2]["detail"]["reason"] = "something else"


def change_and_rehash_one(document: Document) -> None:
    entry = document["entries"][2]
    entry["detail"]["reason"] = "something else"
    entry["hash"] = digest({name: value for name, value in entry.items() if name != "hash"})


def remove(document: Document) -> None:
    del document["entries"][4]


def insert(document: Document) -> None:
    document["entries"].insert(4, copy.deepcopy(document["entries"][4]))


def swap(document: Document) -> None:
    document["entries"][3], document["entries"][4] = document["entries"][4], document["entries"][3]


def cut(document: Document) -> None:
    document["entries"] = document["entries"][:-2]
    document["head"] = document["entries"][-1]["hash"]


def rename(document: Document) -> None:
    document["run_id"] = "run-2"


def behead(document: Document) -> None:
    document["head"] = "0" * 64


@pytest.mark.parametrize("tamper", [change, change_and_rehash_one, remove, insert, swap, cut, rename, behead])
def test_tampering_shows(tamper: Callable[[Document], None]) -> None:
    document = whole()
    assert verify(document) == []
    tamper(document)
    assert verify(document)


def test_a_changed_entry_is_named() -> None:
    document = whole()
    change(document)
    assert verify(document) == ["entries[2]: was changed after it was written"]


def test_a_cut_tail_is_named() -> None:
    document = whole()
    cut(document)
    assert verify(document) == ["the run has no end: the trace was cut, or the run is still going or was interrupted"]


def test_a_forged_chain_shows_only_against_the_head_that_was_kept() -> None:
    document = whole()
    kept = document["head"]
    change(document)
    rehash(document, 2)
    assert verify(document) == []
    assert verify(document, head=kept) == ["the last entry is not the one that was kept as head"]


anything = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(anything)
@settings(max_examples=10)
def test_nothing_that_is_not_a_trace_verifies(document: Any) -> None:
    assert verify(document)
    assert verify({"format": "orchestratorx-trace/1", "run_id": "r", "entries": [document], "head": ""})
    assert verify({"format": "orchestratorx-trace/1", "run_id": "r", "entries": document, "head": ""})


def test_the_document_survives_a_file(tmp_path: Path) -> None:
    trace = Trace("run-é\ud800", clock=Tick())
    trace.append("run_started", text="ünïcode \ud800", amount=0.1)
    trace.append("run_ended", status="clean")
    trace.write_json(tmp_path / "t.json")
    read = json.loads((tmp_path / "t.json").read_text())
    assert read == trace.document()
    assert verify(read) == []
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_an_entry_shows_its_whole_form() -> None:
    trace = Trace("run-1", clock=Tick())
    entry = trace.append("note", agent="Reporter", text="x")
    assert dict(entry) == {
        "seq": 1,
        "kind": "note",
        "at": "2026-04-17T09:00:00.001000+00:00",
        "detail": {"agent": "Reporter", "text": "x"},
        "previous": digest(["orchestratorx-trace/1", "run-1"]),
        "hash": trace.head,
    }


def test_a_kind_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="found 'gossip'"):
        Trace("run-1").append("gossip")


def test_the_path_of_no_hops_is_empty() -> None:
    assert path_of([]) == ()


def test_the_specification_lists_the_kinds() -> None:
    page = (Path(__file__).parents[1] / "SPECIFICATION.md").read_text(encoding="utf-8")
    for kind, about in KINDS.items():
        assert f"| `{kind}` | {about} |" in page
