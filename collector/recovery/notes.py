"""The notes that recovery makes: one table of codes, and the sentence that each stands for.

Separate so that code, reports and docs say the same. A note never changes a score: it tells a reader what to think of a figure.
"""

from __future__ import annotations

import msgspec

NOTES: dict[str, str] = {
    "latency_negative": "the target began before the request ended; the latency is not known",
    "latency_two_clocks": "source and target were timed by two clocks; the latency is not known",
    "latency_user_wait": "a user may have been waited for in between; the latency includes it",
    "clock_skew": "a span of another process lies outside of the span that caused it; its clock was moved",
    "duration_negative": "a span ends before it starts; its duration counts as none",
    "start_missing": "a span has no start; the latency is not known",
    "end_missing": "a span has no end that can be right; it was still open, or its end was lost",
    "input_disagrees": "the arguments and what the target was given disagree; the arguments count",
    "left_behind": "the source was given a required field itself and did not pass it on",
}
"""Code -> what it means."""

LIMIT = 100
"""Notes of one code in one session; what is over it is counted in the last."""


class Note(msgspec.Struct, frozen=True):
    """Something a reader of the result should know: a code of `NOTES`, the record or span it is about, and its words."""

    code: str
    where: str
    text: str


class Notes:
    """Collects notes, bounded for each code."""

    def __init__(self) -> None:
        self._notes: dict[str, list[Note]] = {}
        self._over: dict[str, int] = {}

    def add(self, code: str, where: str, detail: str = "") -> str:
        """Note it, and return its words; `detail` (names, a span) stands behind the code's sentence."""
        text = NOTES[code] + (f": {detail}" if detail else "")
        notes = self._notes.setdefault(code, [])
        if len(notes) >= LIMIT:
            self._over[code] = self._over.get(code, 0) + 1
        else:
            notes.append(Note(code, where, text))
        return text

    def all(self) -> tuple[Note, ...]:
        """All notes, by code, each in order."""
        out: list[Note] = []
        for code in sorted(self._notes):
            out += self._notes[code]
            if code in self._over:
                out.append(Note(code, "", f"{NOTES[code]}: {self._over[code]} more"))
        return tuple(out)
