"""Sessions to send to an engine that is killed while it takes them, and what must come of them."""

from __future__ import annotations

from pathlib import Path

from collector.emit.planner import Outlets, SessionEmitter
from collector.pipeline import dossier
from collector.store import Store

CONFORMANCE = Path(__file__).parents[2] / "conformance"


def case_session(number: int) -> list[bytes]:
    """The requests of one small session of three agents' spans, the root's last."""
    lines = (CONFORMANCE / "cases" / "11-duplicates-and-two-versions" / "input.jsonl").read_text().splitlines()
    trace = f"{number + 1:032x}"
    lines = [
        line.replace("f4baf901d1b9fcc11a9d3c714fda5244", trace).replace("sess-11", f"s-{number}") for line in lines
    ]
    return [line.encode() for line in (lines[0], lines[2], lines[1])]


def capture_session(number: int) -> list[bytes]:
    """The requests of a captured session, under another name and in other traces."""
    folder = CONFORMANCE / "captures" / "strands-agents__native-swarm"
    text = (folder / "traces.otlp.jsonl").read_text()
    for old in sorted({part.split('"')[0] for part in text.replace('": "', '":"').split('"traceId":"')[1:]}):
        text = text.replace(old, f"{number + 1:08x}{old[8:]}")
    return [line.encode() for line in text.replace("sess-strands-swarm-01", f"c-{number}").splitlines()]


def emitter() -> SessionEmitter:
    """What the service emits with."""
    return SessionEmitter(Outlets(review=True, evaluation=True), dossier)


Outcome = dict[str, object]


def outcome(store: Store) -> Outcome:
    """All that a store says outward, but for when: documents, verdicts, totals and what is to be delivered."""
    rows = store.sessions(page_size=1000).rows
    reports = [(row.name, row.revision, store.report(row.session_id)) for row in rows]
    return {
        "reports": {
            name: (revision, report.spans, report.trace_json, report.handoffs, report.partial)
            for name, revision, report in reports
            if report is not None
        },
        "revisions": store.stats().reports,
        "totals": {(s.instrument, s.attributes): (s.count, s.sum_nano, s.buckets) for s in store.metrics()},
        "outbox": sorted(entry.id for destination in ("traces", "logs") for entry in store.outbox(destination, 10**6)),
    }
