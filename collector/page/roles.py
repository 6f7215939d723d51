"""Roles over time: what each role hands to each, what goes missing, and what cannot be judged.

Separate from the store's totals because a share, a sentence and a chart are made of them here.
"""

from __future__ import annotations

from typing import Final

import msgspec
from markupsafe import Markup

from collector.page import words
from collector.page.chart import bar, grade_of, series, stacked
from collector.page.svg import grade_class
from collector.store import FieldTotals, PairTotals, RolesView
from collector.store.roles import HOUR_NS
from orbitrelay import UNSCORED_REASONS

RANGES: Final[dict[str, tuple[str, int, int]]] = {
    "24h": ("last 24 hours", 24, 1),
    "7d": ("last 7 days", 24 * 7, 6),
    "30d": ("last 30 days", 24 * 30, 24),
    "90d": ("last 90 days", 24 * 90, 72),
}
"""A range of time: what it is called, its hours, and the hours of one point."""

LIMIT: Final = 100


class PairRow(msgspec.Struct, frozen=True):
    """The handoffs from one role to another, as they are written."""

    source: str
    target: str
    target_key: str
    score: str
    grade: str
    grade_class: str
    chart: Markup | None
    handoffs: str
    scored: str
    unjudged: tuple[tuple[str, str], ...]  # how many, and why


class FieldRow(msgspec.Struct, frozen=True):
    """One field that a role asks for, and how often it did not arrive."""

    role: str
    field: str
    required: str
    missing: str
    empty: str
    unrecorded: str
    share: str
    bar: Markup


class ContractRow(msgspec.Struct, frozen=True):
    """What the handoffs to a role were held against."""

    role: str
    contract: str
    handoffs: str
    returns: bool


class Roles(msgspec.Struct, frozen=True):
    """Everything on the page of roles."""

    range: str
    words: str
    handoffs: int
    score: str
    grade: str
    grade_class: str
    judged: str
    coverage: Markup | None
    parts: tuple[tuple[str, str, str, str], ...]  # class, name, how many, share
    pairs: tuple[PairRow, ...]
    pairs_left_out: int
    fields: tuple[FieldRow, ...]
    contracts: tuple[ContractRow, ...]


def window(range_: str, now_ns: int) -> tuple[int, int, int]:
    """A range as the store is asked for it: since, until, step; on whole steps, so that the first point is whole."""
    _, hours, step = RANGES[range_]
    step_ns = step * HOUR_NS
    until = (now_ns // step_ns + 1) * step_ns
    return until - hours * HOUR_NS, until, step_ns


def roles(found: RolesView, range_: str, now_ns: int) -> Roles:
    """Make the page from the store's totals."""
    since, until, step = window(range_, now_ns)
    whole = found.whole
    parts = [(class_, name, amount) for class_, name, amount in _parts(whole) if amount]
    return Roles(
        range=range_,
        words=RANGES[range_][0],
        handoffs=whole.handoffs,
        score=words.score(whole.mean),
        grade=grade_of(whole.mean),
        grade_class=grade_class(grade_of(whole.mean)),
        judged=_share(whole.scored, whole.handoffs),
        coverage=stacked([(name, amount, class_) for class_, name, amount in parts], "What of the handoffs could be judged") if parts else None,
        parts=tuple((class_, name, words.count(amount), _share(amount, whole.handoffs)) for class_, name, amount in parts),
        pairs=tuple(_pair(pair, since, until, step) for pair in found.pairs),
        pairs_left_out=found.pairs_in_all - len(found.pairs),
        fields=tuple(_field(field) for field in found.fields),
        contracts=tuple(
            ContractRow(words.shown(use.target_role), words.shown(use.contract), words.count(use.handoffs), use.returns)
            for use in found.contracts
        ),
    )  # fmt: skip


def _parts(pair: PairTotals) -> list[tuple[str, str, int]]:
    return [
        ("judged", "held against a contract and scored", pair.scored),
        ("free", "no contract for the target's role: nothing was asked for", pair.without_contract),
        ("not-recorded", UNSCORED_REASONS["not_recorded"], pair.not_recorded),
        ("cut", UNSCORED_REASONS["unrecorded_field"], pair.unrecorded_field),
        ("returned", UNSCORED_REASONS["return_without_contract"], pair.return_without_contract),
        ("lost", UNSCORED_REASONS["dropped"], pair.dropped),
    ]


def _pair(pair: PairTotals, since: int, until: int, step: int) -> PairRow:
    source, target, grade = words.shown(pair.source_role), words.shown(pair.target_role), grade_of(pair.mean)
    return PairRow(
        source=source,
        target=target,
        target_key=pair.target_role if words.addressable(pair.target_role) else "",
        score=words.score(pair.mean),
        grade=grade,
        grade_class=grade_class(grade),
        chart=series(pair.moments, since, until, step, f"Completeness from {source} to {target}") if pair.moments else None,
        handoffs=words.count(pair.handoffs),
        scored=words.count(pair.scored),
        unjudged=tuple((words.count(amount), name) for class_, name, amount in _parts(pair) if amount and class_ != "judged"),
    )  # fmt: skip


def _field(field: FieldTotals) -> FieldRow:
    lost = field.missing + field.empty
    return FieldRow(
        role=words.shown(field.target_role),
        field=words.shown(field.field),
        required=words.count(field.required),
        missing=words.count(field.missing),
        empty=words.count(field.empty),
        unrecorded=words.count(field.unrecorded),
        share=_share(lost, field.required),
        bar=bar(lost / field.required if field.required else 0.0, "loss"),
    )


def _share(part: int, whole: int) -> str:
    """A share in percent that says 100 only for all, and 0 only for none."""
    if not whole:
        return words.NOT_KNOWN
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "< 1 %"
    if 99 < percent < 100:
        return "> 99 %"
    return f"{percent:.0f} %"
