"""Which traces make one session: connected by a key they share, or by a causal link.

Separate and pure because it is the law that the assembler's quick ways must agree with, whatever the order of arrival.

Rules:
- a trace's top key is its highest; traces of one top key are one session;
- traces that share a lower key are one session, too, unless their top keys name two different sessions of one kind:
  then that lower key (a chat group, a thread resumed elsewhere) says nothing, and joins only those who have none better;
- a causal link joins always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from collector.sessions.keys import kind_of


class Member(Protocol):
    """What grouping reads of a trace: references to its keys, highest first, and the traces its links name as causes."""

    @property
    def trace_id(self) -> str: ...
    @property
    def refs(self) -> Sequence[str]: ...
    @property
    def causes(self) -> Iterable[str]: ...


M = TypeVar("M", bound=Member)


def components(members: Iterable[M], ambiguous: Callable[[str], bool] | None = None) -> list[list[M]]:
    """Partition traces into sessions. `ambiguous`: what is known of a key beyond these traces."""
    traces = {member.trace_id: member for member in members}
    leader = {trace_id: trace_id for trace_id in traces}

    def find(trace_id: str) -> str:
        while leader[trace_id] != trace_id:
            leader[trace_id] = leader[leader[trace_id]]
            trace_id = leader[trace_id]
        return trace_id

    def join(ids: Sequence[str]) -> None:
        for other in ids[1:]:
            leader[find(other)] = find(ids[0])

    carriers: dict[str, list[M]] = {}
    for trace in traces.values():
        join([trace.trace_id, *(cause for cause in trace.causes if cause in traces)])
        for ref in trace.refs:
            carriers.setdefault(ref, []).append(trace)
    for ref, having in carriers.items():
        higher = {trace.refs[0] for trace in having} - {ref}
        unclear = not is_clear(higher) or (ambiguous is not None and ambiguous(ref))
        join([trace.trace_id for trace in having if not unclear or trace.refs[0] == ref])
    groups: dict[str, list[M]] = {}
    for trace_id, trace in traces.items():
        groups.setdefault(find(trace_id), []).append(trace)
    return list(groups.values())


def is_clear(tops: Iterable[str]) -> bool:
    """Whether top keys other than a key itself name at most one session of each kind; looks at no more than it must."""
    kinds: set[str] = set()
    for top in tops:
        kind = kind_of(top)
        if kind in kinds:
            return False
        kinds.add(kind)
    return True
