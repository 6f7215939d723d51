"""One span in the tree: its facts, where it hangs, and its times on the session's common clock.

Separate from the tree, which builds it, so that what reads single spans needs no more than them.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.facts import SpanFacts

SpanKey = tuple[str, str]


class Node:
    """One span with the facts of its log records merged in, and where it hangs."""

    __slots__ = ("children", "guessed", "key", "logs", "missing_end", "order", "parent", "shift", "span")

    def __init__(self, span: SpanFacts) -> None:
        self.span = span
        self.key: SpanKey = (span.trace_id, span.span_id)
        self.logs: list[SpanFacts] = []
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.guessed = False  # stands for a span that never came, where times put it
        self.missing_end = 0  # of a span that never came: the latest end of what stands below it
        self.order = 0
        self.shift = 0  # nanoseconds that put a skewed clock's span where its cause says it was

    @property
    def start(self) -> int:
        """Start on the session's common clock."""
        return self.span.start_ns + self.shift

    @property
    def end(self) -> int:
        """End on the common clock; the start where the end is not recorded or lies before it (a broken duration counts as none)."""
        return max(self.span.end_ns, self.span.start_ns, self.missing_end) + self.shift

    @property
    def ended(self) -> bool:
        """Whether `end` is more than the start in an end's place."""
        return bool(self.missing_end) or 0 < self.span.end_ns >= self.span.start_ns

    @property
    def clock(self) -> tuple[str, str]:
        """Spans of one process share a clock."""
        return (self.span.service, self.span.instance)

    def ancestors(self) -> Iterator[Node]:
        """From the parent up."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent
