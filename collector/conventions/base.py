"""What a mapper is, and how the mapper of a span is found.

Separate from the mappers so that adding one is adding a file and a row in `registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from collector.facts import Fact
from collector.otlp.model import Link, LogRecord, Span


@dataclass(frozen=True, slots=True)
class Carriers:
    """What a producer passes at a boundary, and where its spans show it.

    `arguments`: a call's arguments can carry; then an empty object says that nothing was passed. `beside`: words in the same answer as the
    call are passed too where the arguments are empty. `without_call`: for a handoff with no call, in order of trust: `input` (the target's
    own), `told` (the same, where nothing else says that control was handed over), `output` (the source's last words), `asked` (the arguments
    of the one call that the source's last answer is), `state` (what the source wrote to a shared state), `envelope` (a message delivered).
    `with_call`: the same for a handoff by a call that carries nothing itself, and `result` (the call's), `note` (what a tool call of the
    source wrote and a tool call of the target read back, word for word).
    `delegate_input`: a delegate called without a recorded call shows what it was given as its own input.
    `unwrap`: takes a producer's template off a text (returns the text, or an object).
    """

    arguments: bool = True
    beside: bool = True
    without_call: tuple[str, ...] = ("envelope", "state", "input", "output")
    with_call: tuple[str, ...] = ()
    delegate_input: bool = True
    unwrap: Callable[[Any], Any] | None = None


_NOTHING: tuple[Fact, ...] = ()


def no_log_facts(_record: LogRecord) -> Iterable[Fact]:
    """For producers that write no content to logs."""
    return _NOTHING


def no_cause(_span: Span, _link: Link) -> bool:
    """For producers whose links mean no causality (or that make none)."""
    return False


def every_cause(_span: Span, _link: Link) -> bool:
    """For producers whose links all mean causality."""
    return True


def no_mark(_span: Span) -> bool:
    """For producers that their scope's name alone tells."""
    return False


@dataclass(frozen=True, slots=True)
class Convention:
    """One producer's spans, and what they mean.

    `scopes`: prefixes of the instrumentation scope's name. `marks`: tells a span of this producer by its attributes or name, where the scope
    does not (a processor that rewrites another's spans, hand-made spans); it must be cheap. `shapes`: attributes (and a part of their text) that only
    this producer writes, for spans whose scope a pipeline lost. `facts` maps one span, `log_facts` one log
    record. `causes`: whether a link of a span means that its target caused it. `carriers`: what is passed at a boundary, and where it shows.
    `content_switch`: what to set so that content is recorded, as `doctor` says it.
    """

    name: str
    facts: Callable[[Span], Iterable[Fact]]
    scopes: tuple[str, ...] = ()
    marks: Callable[[Span], bool] = no_mark
    shapes: tuple[tuple[str, str], ...] = ()
    log_facts: Callable[[LogRecord], Iterable[Fact]] = no_log_facts
    causes: Callable[[Span, Link], bool] = no_cause
    carriers: Carriers = Carriers()
    content_switch: str = ""


class Registry:
    """An ordered set of conventions: of several that claim a span, the longest scope prefix wins, then the order given; scopes before marks."""

    def __init__(self, conventions: Sequence[Convention]) -> None:
        self.conventions = tuple(conventions)
        self._by_name = {c.name: c for c in conventions}
        self._by_scope: dict[str, Convention | None] = {}
        self._marked = [c for c in conventions if c.marks is not no_mark]
        self._shapes: dict[str, list[tuple[int, str, Convention]]] = {}
        for place, convention in enumerate(conventions):
            for key, part in convention.shapes:
                self._shapes.setdefault(key, []).append((place, part, convention))

    def named(self, name: str) -> Convention | None:
        """The convention of that name."""
        return self._by_name.get(name)

    def of_span(self, span: Span) -> Convention | None:
        """The convention that maps this span, or None: the span then only holds its place in the tree."""
        for convention in self._marked:
            if convention.marks(span):
                return convention
        scope = span.scope.name or str(
            span.attributes.get("otel.scope.name") or span.attributes.get("otel.library.name") or ""
        )
        found = self._of_scope(scope)
        return found if found is not None and "" not in found.scopes else self._shaped(span) or found

    def _shaped(self, span: Span) -> Convention | None:
        found: list[tuple[int, str, Convention]] = []
        for key in self._shapes.keys() & span.attributes.keys():
            text = span.attributes[key]
            found += [s for s in self._shapes[key] if not s[1] or (isinstance(text, str) and s[1] in text)]
        return min(found, key=lambda s: s[0])[2] if found else None

    def of_log(self, record: LogRecord) -> Convention | None:
        """The convention that maps this log record."""
        return self._of_scope(record.scope.name)

    def _of_scope(self, scope: str) -> Convention | None:
        if scope not in self._by_scope:
            if len(self._by_scope) > 10_000:  # scope names are a sender's text
                self._by_scope.clear()
            claims = [(len(p), -i, c) for i, c in enumerate(self.conventions) for p in c.scopes if scope.startswith(p)]
            self._by_scope[scope] = max(claims, key=lambda c: c[:2])[2] if claims else None
        return self._by_scope[scope]
