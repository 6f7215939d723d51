"""The whole analysis of one trace, and the documents that report it.

Separate from the command line because the collector reports the same documents. A document is JSON data;
`jsonout.dumps` makes its canonical bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .bottleneck import DETECTORS, Bottleneck, Detector, find_bottlenecks
from .inspector import Inspection, inspect
from .loader import with_contract
from .model import Absent, HandoffTrace, Json, RoleContract
from .scoring import DEFAULT_WEIGHTS, GRADES, HandoffScore, ScoreReport, Weights, score


@dataclass(frozen=True, slots=True)
class Analysis:
    """A trace with what the analysis says of it; inspections and scores stand in relay order."""

    trace: HandoffTrace
    inspections: tuple[Inspection, ...]
    scores: ScoreReport
    bottlenecks: tuple[Bottleneck, ...]

    def report(self) -> dict[str, Json]:
        """Give everything as one document: the four documents of this module, each under its name."""
        return {
            "trace_id": self.trace.trace_id,
            "inspect": inspect_document(self.trace, self.inspections),
            "score": score_document(self.trace, self.scores),
            "bottlenecks": bottlenecks_document(self.trace, self.bottlenecks),
            "summary": summary_document(self),
        }


def analyse(
    trace: HandoffTrace,
    *,
    contract: Mapping[str, RoleContract] | None = None,
    weights: Weights = DEFAULT_WEIGHTS,
    detectors: Iterable[Detector] = DETECTORS,
) -> Analysis:
    """Inspect, score and look for bottlenecks.

    Args:
        trace: What to analyse.
        contract: Replaces the trace's own.
        weights: The formula's; other than the default ones, the scores compare with nobody else's.
        detectors: Which bottlenecks to look for.
    """
    if contract is not None:
        trace = with_contract(trace, contract)
    inspections = inspect(trace)
    return Analysis(trace, inspections, score(inspections, weights), find_bottlenecks(trace, detectors))


def inspect_document(trace: HandoffTrace, inspections: Iterable[Inspection]) -> dict[str, Json]:
    """Report the outcome of every name at every handoff."""
    records = []
    totals = {"EMPTY": 0, "EXTRA": 0, "MISSING": 0, "PRESENT": 0, "UNRECORDED": 0}
    for inspection in inspections:
        totals["EMPTY"] += len(inspection.empty)
        totals["EXTRA"] += len(inspection.extra)
        totals["MISSING"] += len(inspection.missing)
        totals["PRESENT"] += len(inspection.present)
        totals["UNRECORDED"] += len(inspection.unrecorded)
        records.append(_inspection(inspection))
    return {"handoffs": records, "outcomes": totals, "trace_id": trace.trace_id}


def _inspection(inspection: Inspection) -> dict[str, Json]:
    handoff = inspection.handoff
    return {
        "contract_role": inspection.contract_role,
        "contracted": inspection.contracted,
        "empty": inspection.empty,
        "extra": inspection.extra,
        "handoff_id": handoff.handoff_id,
        "history": inspection.history,
        "latency_ms": handoff.latency_ms,
        "missing": inspection.missing,
        "mode": handoff.mode,
        "present": inspection.present,
        "reason": handoff.reason,
        "recorded": handoff.recorded,
        "redacted": handoff.redacted,
        "required": inspection.required,
        "run": _or_null(handoff.run),
        "source_agent": handoff.source_agent,
        "source_role": inspection.source_role,
        "status": handoff.status,
        "target_agent": handoff.target_agent,
        "target_role": inspection.target_role,
        "tick": handoff.tick,
        "truncated": handoff.truncated,
        "unrecorded": inspection.unrecorded,
    }


def score_document(trace: HandoffTrace, scores: ScoreReport) -> dict[str, Json]:
    """Report the score, the grade and the counts of every handoff, the means and the weakest."""
    return {
        **_totals(scores),
        "handoffs": [_score(handoff) for handoff in scores.handoffs],
        "trace_id": trace.trace_id,
    }


def _score(score: HandoffScore) -> dict[str, Json]:
    handoff = score.inspection.handoff
    return {
        "contracted": score.contracted,
        "empty": score.empty,
        "extra": score.extra,
        "grade": score.grade,
        "handoff_id": handoff.handoff_id,
        "missing": score.missing,
        "present": score.present,
        "required": score.required,
        "score": score.score,
        "source_agent": handoff.source_agent,
        "target_agent": handoff.target_agent,
        "tick": handoff.tick,
        "unrecorded": score.unrecorded,
        "unscored_reason": score.unscored_reason,
    }


def _totals(scores: ScoreReport) -> dict[str, Json]:
    grades = {grade: 0 for grade, _ in GRADES}
    for handoff in scores.handoffs:
        if handoff.grade is not None:
            grades[handoff.grade] += 1
    return {
        "grades": grades,
        "mean_contracted": scores.mean_contracted,
        "mean_score": scores.mean_score,
        "no_score_reason": scores.no_score_reason,
        "relays": len(scores.handoffs),
        "scored": scores.scored,
        "unscored": scores.unscored,
        "unscored_reasons": scores.unscored_reasons,
        "weakest_handoff": scores.weakest_handoff,
    }


def bottlenecks_document(trace: HandoffTrace, bottlenecks: Iterable[Bottleneck]) -> dict[str, Json]:
    """Report the bottlenecks, gravest first."""
    return {"bottlenecks": [_bottleneck(found) for found in bottlenecks], "trace_id": trace.trace_id}


def _bottleneck(found: Bottleneck) -> dict[str, Json]:
    return {
        "handoff_ids": found.handoff_ids,
        "kind": found.kind,
        "measured": found.measured,
        "run": _or_null(found.run),
        "sentence": found.sentence,
        "severity": found.severity,
        "subject": found.subject,
        "threshold": found.threshold,
    }


def summary_document(analysis: Analysis) -> dict[str, Json]:
    """Report a trace in a few figures: its size, the outcomes, the means, the weakest, and the bottlenecks by
    kind."""
    trace = analysis.trace
    outcomes = {
        "EMPTY": sum(handoff.empty for handoff in analysis.scores.handoffs),
        "EXTRA": sum(handoff.extra for handoff in analysis.scores.handoffs),
        "MISSING": sum(handoff.missing for handoff in analysis.scores.handoffs),
        "PRESENT": sum(handoff.present for handoff in analysis.scores.handoffs),
        "UNRECORDED": sum(handoff.unrecorded for handoff in analysis.scores.handoffs),
    }
    kinds: dict[str, int] = {}
    for found in analysis.bottlenecks:
        kinds[found.kind] = kinds.get(found.kind, 0) + 1
    top = analysis.bottlenecks[0] if analysis.bottlenecks else None
    return {
        **_totals(analysis.scores),
        "agents": len(trace.agents),
        "bottlenecks": kinds,
        "outcomes": outcomes,
        "tokens": sum(turn.tokens for turn in trace.turns if turn.tokens is not None),
        "top_bottleneck": _bottleneck(top) if top is not None else None,
        "trace_id": trace.trace_id,
        "turns": len(trace.turns),
    }


def _or_null(value: Json | Absent) -> Json:
    return None if isinstance(value, Absent) else value
