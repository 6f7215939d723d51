"""What a set of spans allows, before anyone trusts a score made of them: `doctor`'s findings, and how they read.

Separate from the command, which reads files and gathers sessions, and from recovery, which it only asks. It never judges where it cannot
know: an absence of content is told as such, with the switch that ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from collector.conventions import Registry, default_registry
from collector.facts import ModelCall, SpanFacts, ToolCall, Visit
from collector.report import HandoffRow, Report
from orbitrelay import loads
from orbitrelay.text import visible

_NO_CONVENTION = "none of the known"
EVIDENCE = ("explicit", "structural", "inferred")


@dataclass(slots=True)
class Producer:
    """What one convention's spans hold."""

    spans: int = 0
    visits: int = 0
    models: int = 0
    models_with_content: int = 0
    tools: int = 0
    tools_with_content: int = 0
    handoffs: Counter[str] = field(default_factory=Counter)  # evidence -> how many
    recorded: int = 0
    unrecorded: int = 0
    redacted: int = 0
    truncated: int = 0


@dataclass(slots=True)
class Findings:
    """All that `doctor` found. Counts are of spans and handoffs; returns are counted apart."""

    sessions: int = 0
    traces: set[str] = field(default_factory=set)
    keys: Counter[str] = field(default_factory=Counter)  # kind of session key -> sessions
    agents: Counter[str] = field(default_factory=Counter)  # agent -> visits
    producers: dict[str, Producer] = field(default_factory=dict)
    returns: int = 0
    dropped: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    uncontracted: Counter[str] = field(default_factory=Counter)  # role handed to, without a contract -> handoffs
    log_records: int = 0

    def producer(self, name: str) -> Producer:
        """The figures of a convention."""
        return self.producers.setdefault(name or _NO_CONVENTION, Producer())

    def spans(self, spans: Iterable[SpanFacts]) -> None:
        """Count what stands in spans, whether a session comes of them or not."""
        for span in spans:
            self.traces.add(span.trace_id)
            if span.log:
                self.log_records += 1
                continue
            producer = self.producer(span.convention)
            producer.spans += 1
            for fact in span.facts:
                if isinstance(fact, Visit):
                    producer.visits += 1
                elif isinstance(fact, ModelCall):
                    producer.models += 1
                    producer.models_with_content += fact.said is not None or fact.heard is not None
                elif isinstance(fact, ToolCall):
                    producer.tools += 1
                    producer.tools_with_content += fact.arguments is not None

    def report(self, report: Report) -> None:
        """Count one session's outcome."""
        self.sessions += 1
        self.keys[report.key.kind] += 1
        for turn in loads(report.trace_json).turns:
            self.agents[turn.agent_id] += 1
        for note in report.notes:
            self.notes[note.code] += 1
        for row in report.handoffs:
            self._handoff(row)

    def _handoff(self, row: HandoffRow) -> None:
        if row.mode == "return":
            self.returns += 1
            return
        if row.status == "dropped":
            self.dropped += 1
            return
        producer = self.producer(row.convention)
        producer.handoffs[row.evidence] += 1
        producer.recorded += row.recorded
        producer.unrecorded += not row.recorded
        producer.redacted += row.redacted
        producer.truncated += row.truncated
        if not row.contracted:
            self.uncontracted[row.target_role] += 1

    def data(self, registry: Registry | None = None) -> dict[str, Any]:
        """The findings as JSON data."""
        advice = advise(self, registry or default_registry())
        return {
            "agents": dict(sorted(self.agents.items())),
            "advice": advice,
            "dropped": self.dropped,
            "notes": dict(sorted(self.notes.items())),
            "producers": {
                name: {
                    "handoffs": {e: p.handoffs[e] for e in EVIDENCE},
                    "model_calls": {"all": p.models, "with_content": p.models_with_content},
                    "recorded": p.recorded,
                    "redacted": p.redacted,
                    "spans": p.spans,
                    "tool_calls": {"all": p.tools, "with_content": p.tools_with_content},
                    "truncated": p.truncated,
                    "unrecorded": p.unrecorded,
                    "visits": p.visits,
                }
                for name, p in sorted(self.producers.items())
            },
            "returns": self.returns,
            "roles_without_contract": dict(sorted(self.uncontracted.items())),
            "session_keys": dict(sorted(self.keys.items())),
            "sessions": self.sessions,
            "traces": len(self.traces),
        }


def advise(found: Findings, registry: Registry) -> list[str]:
    """What to switch on, or to look at, a line each; the most telling first."""
    out = []
    total = sum(p.visits for p in found.producers.values())
    if not total:
        known = sorted(n for n, p in found.producers.items() if p.models or p.tools)
        out.append(
            "no agent runs in these spans: "
            + (
                f"of {', '.join(known)}, only model or tool calls came"
                if known
                else "no known agent instrumentation made them"
            )
        )
    elif not found.agents:
        out.append(
            f"none of {total} agent spans is an agent's run: no model is called and no agent runs in them"
            " (docs/frameworks.md says what makes an agent of a node)"
        )
    for name, producer in sorted(found.producers.items()):
        convention = registry.named(name)
        switch = convention.content_switch if convention is not None else ""
        if producer.unrecorded and switch:
            out.append(
                f"{name}: {producer.unrecorded} of {producer.unrecorded + producer.recorded} handoffs are not recorded; {switch}"
            )
        elif producer.models and not producer.models_with_content and switch:
            out.append(f"{name}: none of {producer.models} model calls has content; {switch}")
        if producer.truncated:
            out.append(
                f"{name}: {producer.truncated} handoffs were cut; raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT (or leave it unset)"
            )
        if producer.redacted:
            out.append(f"{name}: {producer.redacted} handoffs are redacted whole; what they carried cannot be known")
    guessed = sum(p.handoffs["inferred"] for p in found.producers.values())
    if guessed:
        out.append(
            f"{guessed} handoffs are told by order alone; a marker on the handing-over call would make them explicit"
        )
    if found.keys.get("trace"):
        out.append(
            f"{found.keys['trace']} sessions are named by their trace alone; set session.id so that turns of one session are joined"
        )
    if found.uncontracted:
        out.append(
            f"no contract says what {', '.join(sorted(found.uncontracted))} must be handed: completeness is not measured there"
        )
    return out


def render(found: Findings, registry: Registry | None = None) -> str:
    """The findings as text for a terminal, without escape sequences; agent names are shown escaped."""
    lines = [
        f"sessions   {found.sessions} in {len(found.traces)} traces"
        + (f" (named by {', '.join(f'{k}: {n}' for k, n in sorted(found.keys.items()))})" if found.keys else ""),
        f"agents     {', '.join(f'{visible(a)} ({n})' for a, n in sorted(found.agents.items())) or 'none'}",
    ]
    for name, p in sorted(found.producers.items()):
        lines.append(
            f"producer   {visible(name)}: {p.spans} spans, {p.visits} agent spans, "
            f"{p.models} model calls ({p.models_with_content} with content), "
            f"{p.tools} tool calls ({p.tools_with_content} with content)"
        )
        count = sum(p.handoffs.values())
        if count:
            by = ", ".join(f"{p.handoffs[e]} {e}" for e in EVIDENCE if p.handoffs[e])
            lines.append(f"handoffs   {count}: {by}; {p.recorded} recorded, {p.unrecorded} not recorded")
    lines.append(f"returns    {found.returns}")
    lines.append(f"dropped    {found.dropped}")
    lines += [f"note       {code}: {n}" for code, n in sorted(found.notes.items())]
    lines += [f"advice     {line}" for line in map(visible, advise(found, registry or default_registry()))]
    return "\n".join(lines) + "\n"
