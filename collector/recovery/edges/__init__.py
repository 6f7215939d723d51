"""From visits and signals to handoffs: who handed over to whom, in which mode, on what evidence.

Separate from content: an edge stands or falls by spans, order, markers and whose words are whose; what was passed is `carried.py`'s.

The ladder, highest first: a signal that the target's visit takes up (explicit); a visit that stands in another agent's visit or names
who it came from (structural); the order of visits of one trace, or words that reappear (inferred). A lower rung never overrides a higher.
Every step is a sweep over sorted lists: linear in visits and signals, but for the logarithm.
"""

from __future__ import annotations

from collector.recovery.edges.asked import dropped, signalled
from collector.recovery.edges.edge import Edge, Edges
from collector.recovery.edges.guesses import by_order, by_words
from collector.recovery.edges.nested import nested
from collector.recovery.edges.structure import beside, by_time, caused, named_on_visit
from collector.recovery.edges.ways_back import answered, made_again, resumed, returns
from collector.recovery.signals import Signal
from collector.recovery.tree import Tree
from collector.recovery.visits import Visits

_STEPS = (
    nested,
    signalled,
    named_on_visit,
    by_time,
    beside,
    caused,
    by_order,
    by_words,
    answered,
    resumed,
    made_again,
    returns,
    dropped,
)


def find_edges(tree: Tree, visits: Visits, signals: list[Signal]) -> list[Edge]:
    """Find all handoffs of a session, unordered."""
    edges = Edges(tree, visits, signals)
    for step in _STEPS:
        step(edges)
    return edges.all
