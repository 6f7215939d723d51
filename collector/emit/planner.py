"""The emitter: everything that one revision of one session says to the world, decided at once.

Separate from the parts it joins: metrics, review spans, evaluation events and files know nothing of each other. It runs
inside the store's transaction, so what it plans is counted and queued with the revision or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from collector.emit.evaluation import evaluation_records
from collector.emit.files import DOSSIER_SUFFIX, FILES, TRACE_SUFFIX, file_stem
from collector.emit.metrics import plan
from collector.emit.otlp import log_requests, trace_requests
from collector.emit.review import review_spans
from collector.report import Emission, OutboxEntry, PreviousState, Report

TRACES = "traces"
LOGS = "logs"
METRICS = "metrics"


class Outlets(msgspec.Struct, frozen=True):
    """What is wanted beside metrics: review spans and evaluation events downstream, files in a folder."""

    review: bool = False
    evaluation: bool = False
    files: bool = False


class SessionEmitter:
    """Plans emissions. `dossier` renders a report's Markdown; it is called only where files are wanted."""

    def __init__(self, outlets: Outlets, dossier: Callable[[Report], str], version: str = "") -> None:
        self._outlets = outlets
        self._dossier = dossier
        self._version = version

    def plan(self, report: Report, previous: PreviousState) -> Emission:
        """Return the emission of one revision; the same report and state give the same bytes and ids."""
        samples = plan(report, previous)
        return Emission(samples.deltas, tuple(self._outbox(report)), samples.marks)

    def _outbox(self, report: Report) -> Iterator[OutboxEntry]:
        revision = f"{report.session_id}/{report.revision}"
        if self._outlets.review:
            for at, payload in enumerate(trace_requests(review_spans(report), self._version)):
                yield OutboxEntry(f"review/{revision}/{at}", TRACES, "traces", payload)
        if self._outlets.evaluation:
            for at, payload in enumerate(log_requests(evaluation_records(report), self._version)):
                yield OutboxEntry(f"evaluation/{revision}/{at}", LOGS, "logs", payload)
        if self._outlets.files:
            name = f"{report.session_id}/{file_stem(report.name)}"
            dossier = self._dossier(report).encode("utf-8", "replace")
            yield OutboxEntry(f"trace/{revision}", FILES, "file", report.trace_json, f"{name}{TRACE_SUFFIX}")
            yield OutboxEntry(f"dossier/{revision}", FILES, "file", dossier, f"{name}{DOSSIER_SUFFIX}")
