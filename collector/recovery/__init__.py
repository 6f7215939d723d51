"""From spans to handoffs: `extract` reads facts off each span alone, `recover` builds one session's graph from facts and writes its document.

Both are pure. `recover` gives the same document for the same set of facts, in whatever order and however often they came.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from collector.contracts.model import NO_CONTRACT, ResolvedContract
from collector.conventions import carriers_of, extract
from collector.facts import Facts, SpanFacts
from collector.recovery import histories
from collector.recovery.carried import Reader
from collector.recovery.document import Writer
from collector.recovery.edges import find_edges
from collector.recovery.notes import Note
from collector.recovery.signals import find
from collector.recovery.stand_ins import complete
from collector.recovery.tree import Tree
from collector.recovery.visits import Visits

__all__ = ["Facts", "Note", "Recovered", "SpanFacts", "extract", "recover"]


class Recovered(msgspec.Struct, frozen=True):
    """One session's trace document (without `trace_id` and session metadata) and what is to be said about it."""

    document: dict[str, Any]
    notes: tuple[Note, ...] = ()
    visits: int = 0


def recover(spans: Iterable[SpanFacts], contract: ResolvedContract | None = None) -> Recovered:
    """Recover the handoffs of one session. Never raises on what telemetry holds; linear in spans."""
    tree = Tree(spans)
    visits = complete(Visits(tree))
    histories.fill(visits.all)
    edges = find_edges(tree, visits, find(tree, visits))
    contract = contract or NO_CONTRACT
    writer = Writer(tree, visits, contract)
    document = writer.write(edges, Reader(tree, visits, edges, carriers_of, contract).read)
    return Recovered(document, writer.notes.all(), len(visits.all))
