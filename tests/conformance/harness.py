"""What the conformance tests share: captures, the facts of a capture, its sessions, and what of a document is compared.

Sessions are put together here by the product's own law (`sessions.grouping`) over all facts at once; the tests that go through `convert`
and the service show that those agree with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from collector.conventions import extract
from collector.facts import SpanFacts
from collector.otlp.json import decode_logs, decode_traces
from collector.otlp.model import Batch
from collector.recovery import recover
from collector.sessions.grouping import components
from collector.sessions.keys import claims, key_ref

CAPTURES = Path(__file__).parent / "captures"
NAMES = tuple(sorted(p.parent.name for p in CAPTURES.glob("*/expected.json")))


def files(name: str, suffix: str = ".jsonl") -> list[Path]:
    """The files of a capture in one encoding: traces, and logs where it has any."""
    return sorted(p for p in (CAPTURES / name).iterdir() if p.name.endswith(f".otlp{suffix}"))


@cache
def batches(name: str) -> tuple[Batch, ...]:
    """The requests of a capture, in their order."""
    out = []
    for file in files(name):
        for line in file.read_bytes().splitlines():
            out.append(decode_logs(line) if file.name.startswith("logs") else decode_traces(line))
    return tuple(out)


@cache
def facts(name: str) -> tuple[SpanFacts, ...]:
    """The facts of a capture."""
    return tuple(span for batch in batches(name) for span in extract(batch).spans)


def agents(name: str) -> list[str]:
    """The agents of a capture, as its ground truth names them."""
    expected: dict[str, list[str]] = json.loads((CAPTURES / name / "expected.json").read_bytes())
    return expected["agents"]


class _Trace(NamedTuple):
    trace_id: str
    refs: Sequence[str]
    causes: Iterable[str]


def sessions(spans: Iterable[SpanFacts]) -> list[list[SpanFacts]]:
    """The spans of each session."""
    by_trace: dict[str, list[SpanFacts]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, []).append(span)
    traces = []
    for trace_id, members in by_trace.items():
        claimed = [
            claim
            for s in members
            for claim in claims(
                s.session_keys,
                root=not s.parent_span_id and not s.log,
                start_ns=s.start_ns,
                span_id=s.span_id,
                service=s.service,
            )
        ]
        keys: dict[str, str] = {}
        for claim in sorted(claimed):
            keys.setdefault(claim.key.kind, key_ref(claim.key))
        traces.append(_Trace(trace_id, tuple(keys.values()), {t for s in members for t, _span in s.causes}))
    return [[s for t in group for s in by_trace[t.trace_id]] for group in components(traces)]


def documents(spans: Iterable[SpanFacts]) -> list[dict[str, Any]]:
    """The trace document of every session in which an agent ran, in an order of their content."""
    found = [recover(session).document for session in sessions(spans)]
    return sorted((d for d in found if d["agents"]), key=lambda d: json.dumps(d, sort_keys=True, default=str))


def edges(spans: Iterable[SpanFacts]) -> list[tuple[str, str, str, str]]:
    """(handoff id, source, target, mode) of every handoff, in order."""
    return [
        (h["handoff_id"], h["source_agent"], h["target_agent"], h["origin"]["mode"])
        for d in documents(spans)
        for h in d["handoffs"]
    ]
