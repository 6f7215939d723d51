"""The revisions of a session: when each was made, and what it said that the one before it did not.

Separate from the page of the session because two reports are compared here, and nothing of a single one is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from collector.page import words
from collector.page.chart import grade_of
from collector.page.svg import grade_class
from collector.report import HandoffRow, Report
from collector.sessions.reasons import CLOSE_REASONS
from collector.store import RevisionRow


class Change(msgspec.Struct, frozen=True):
    """A revision, and what it changed of the one before it; `changes` is None where the two were not compared."""

    revision: int
    closed: str
    closed_iso: str
    reason: str
    score: str
    grade: str
    grade_class: str
    spans: str
    changes: tuple[str, ...] | None


def change(row: RevisionRow, before: Mapping[int, Report], shown: Report) -> Change:
    """A revision as it is written. `before`: the reports that are compared, by number; `shown`: the one that the page is of."""
    now, then = before.get(row.revision), before.get(row.revision - 1)
    return Change(
        revision=row.revision,
        closed=words.moment(row.closed_ns),
        closed_iso=words.iso(row.closed_ns),
        reason=CLOSE_REASONS.get(row.close_reason, row.close_reason),
        score=words.score(row.mean_score),
        grade=row.grade,
        grade_class=grade_class(row.grade, (now or shown).mean_contracted is not None),
        spans=words.count(row.spans),
        changes=None if now is None or then is None else tuple(changes(then, now)),
    )


def changes(then: Report, now: Report) -> list[str]:
    """What one revision says and the one before it did not, in sentences."""
    said = []
    if now.spans != then.spans:
        said.append(
            f"{words.counted(abs(now.spans - then.spans), 'span')} {'more' if now.spans > then.spans else 'fewer'}"
        )
    if now.contract_hash != then.contract_hash:
        said.append("held against another contract")
    old, new = ({row.handoff_id: row for row in report.handoffs} for report in (then, now))
    for verb, some, other in (("found", new, old), ("gone", old, new)):
        for row in [row for handoff, row in some.items() if handoff not in other][:5]:
            said.append(f"handoff {verb}: {words.shown(row.source_agent)} → {words.shown(row.target_agent)}")
    for handoff, row in new.items():
        was = old.get(handoff)
        if was is not None and (was.score, was.status, was.missing_fields, was.empty_fields) != (
            row.score, row.status, row.missing_fields, row.empty_fields,
        ):  # fmt: skip
            arrow = f"{words.shown(row.source_agent)} → {words.shown(row.target_agent)}"
            said.append(f"{arrow}: {_verdict(was)}, now {_verdict(row)}")
    was_slow, is_slow = ([(b.kind, b.subject) for b in report.bottlenecks] for report in (then, now))
    said += [f"new bottleneck: {_subject(found)}" for found in is_slow if found not in was_slow]
    said += [f"no longer a bottleneck: {_subject(found)}" for found in was_slow if found not in is_slow]
    if then.partial != now.partial:
        said.append("partial: " + ", ".join(now.partial).replace("_", " ") if now.partial else "no longer partial")
    return said[:20] + ([f"and {len(said) - 20} more"] if len(said) > 20 else []) or ["nothing that is shown here"]


def _subject(found: tuple[str, str]) -> str:
    return f"{found[0].replace('_', ' ')} {words.shown(found[1])}"


def _verdict(row: HandoffRow) -> str:
    lost = ", ".join(
        f"{word} {words.shown(name)}"
        for word, names in (("missing", row.missing_fields), ("empty", row.empty_fields))
        for name in names[:4]
    )
    mark = (
        "dropped" if row.status == "dropped" else f"{words.score(row.score)} {row.grade or grade_of(row.score)}".strip()
    )
    return mark + (f" ({lost})" if lost else "")
