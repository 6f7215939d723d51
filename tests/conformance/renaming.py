"""Telemetry of the same run by agents of other names: what recovery may not depend on.

A name stands in spans as itself, in JSON strings, and as the slug that a framework made of it for a tool's name; each form is replaced by
the same form of the new name, so the result is what the framework would have sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from collector.otlp.model import Batch, Event, LogRecord, Span

_TOOL = r"(?P<tool>(?:transfer|handoff|delegate|send|hand)(?:_back)?_to_)?"


def _slug(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


_SLUGS: tuple[Callable[[str], str], ...] = (
    lambda name: _slug(name).lower(),
    _slug,
    lambda name: name.lower().replace(" ", "_"),
    lambda name: name.lower().replace(" ", "-"),
)
_TEXTS: tuple[Callable[[str], str], ...] = (str, str.lower)


class Renaming:
    """Old names to new ones, in every text of a span or a log record."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._forms: dict[str, str] = {}
        self._slugs: dict[str, str] = {}
        for form in (*_TEXTS, *_SLUGS):
            for old, new in names.items():
                self._forms.setdefault(form(old), form(new))
                self._forms.setdefault(_escaped(form(old)), _escaped(form(new)))
        for form in (*_SLUGS, *_TEXTS):
            for old, new in names.items():
                slug = form(new) if form in _SLUGS else _SLUGS[0](new)
                self._slugs.setdefault(form(old), slug)
                self._slugs.setdefault(_escaped(form(old)), _escaped(slug))
        inner = "|".join(re.escape(f) for f in sorted(self._forms, key=len, reverse=True))
        self._pattern = re.compile(rf"{_TOOL}(?<![^\W_])(?P<name>{inner})(?![^\W_])")

    def _one(self, found: re.Match[str]) -> str:
        tool, name = found.group("tool") or "", found.group("name")
        return tool + (self._slugs if tool else self._forms)[name]

    def text(self, text: str) -> str:
        """A text with the names replaced."""
        return self._pattern.sub(self._one, text)

    def value(self, value: Any) -> Any:
        """A value with the names replaced, at any depth."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {k: self.value(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v) for v in value]
        return value

    def span(self, span: Span) -> Span:
        """A span with the names replaced."""
        return msgspec.structs.replace(
            span,
            name=self.text(span.name),
            attributes=self.value(span.attributes),
            events=tuple(Event(e.name, e.time_unix_nano, self.value(e.attributes)) for e in span.events),
        )

    def record(self, record: LogRecord) -> LogRecord:
        """A log record with the names replaced."""
        return msgspec.structs.replace(record, body=self.value(record.body), attributes=self.value(record.attributes))

    def batches(self, batches: Sequence[Batch]) -> list[Batch]:
        """Requests with the names replaced."""
        return [
            msgspec.structs.replace(
                b, spans=tuple(self.span(s) for s in b.spans), logs=tuple(self.record(r) for r in b.logs)
            )
            for b in batches
        ]
