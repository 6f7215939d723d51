"""What is said of an input, a line each: the form in which the right answers of the cases are written down.

`session KEY [partial REASONS]`, then of each session its handoffs in relay order, without returns that have no contract
(`SOURCE -> TARGET MODE EVIDENCE LATENCY [dropped] | FIELD OUTCOME, ... | SCORE GRADE`), `tokens AGENT INPUT/OUTPUT`,
`bottleneck KIND SUBJECT SEVERITY` and `note CODE`; last `unreadable N`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector.contracts import load
from collector.dumps import inputs
from collector.offline import Telling, reports
from collector.pipeline import Terms
from collector.report import HandoffRow, Report


def expected(case: Path) -> list[str]:
    """The lines of the one block of code in a case's `expected.md`."""
    return (case / "expected.md").read_text("utf-8").split("```text\n")[1].split("\n```")[0].splitlines()


def found(case: Path) -> list[str]:
    """What `convert` makes of a case's input, held against its contracts where it has any."""
    contracts = case / "contracts.yaml"
    telling = Telling(quiet=True, stream=io.StringIO())
    files = sorted(str(path) for path in case.glob("input.*"))
    terms = Terms(book=load(contracts) if contracts.exists() else None)
    lines = [line for report in reports(list(inputs(files)), terms, telling) for line in of_report(report)]
    return [*lines, f"unreadable {telling.unread}"] if telling.unread else lines


def of_report(report: Report) -> Iterator[str]:
    """The lines of one session."""
    document = json.loads(report.trace_json)
    latencies = {h["handoff_id"]: h["latency_ms"] for h in document["handoffs"]}
    yield f"session {report.name}" + (f" partial {' '.join(report.partial)}" if report.partial else "")
    for row in report.handoffs:
        if row.mode != "return" or row.contracted:
            yield _of_handoff(row, latencies[row.handoff_id])
    for agent, (read, written) in sorted(_tokens(document).items()):
        yield f"tokens {agent} {read}/{written}"
    for bottleneck in report.bottlenecks:
        yield f"bottleneck {bottleneck.kind} {bottleneck.subject} {bottleneck.severity}"
    for code in sorted({note.code for note in report.notes}):
        yield f"note {code}"


def _of_handoff(row: HandoffRow, latency: float | None) -> str:
    outcomes = {
        "PRESENT": row.present_fields,
        "EMPTY": row.empty_fields,
        "MISSING": row.missing_fields,
        "UNRECORDED": row.unrecorded_fields,
        "EXTRA": row.extra_fields,
    }
    fields = sorted(f"{name} {outcome}" for outcome, names in outcomes.items() for name in names)
    took = "no latency" if latency is None else f"{latency} ms"
    dropped = " dropped" if row.status == "dropped" else ""
    score = f"{row.score} {row.grade}" if row.score is not None else f"unscored: {row.unscored}"
    edge = f"{row.source_agent} -> {row.target_agent} {row.mode} {row.evidence} {took}{dropped}"
    return " | ".join((edge, ", ".join(fields) or "-", score))


def _tokens(document: dict[str, Any]) -> dict[str, tuple[int, int]]:
    out: dict[str, tuple[int, int]] = {}
    for turn in document["turns"]:
        if usage := turn.get("usage"):
            read, written = out.get(turn["agent_id"], (0, 0))
            out[turn["agent_id"]] = (
                read + (usage["input_tokens"] or 0),
                written + (usage["output_tokens"] or 0),
            )
    return out
