"""Sessions to look at: a story of handoffs as OTLP, recordings of real frameworks, and texts that would do harm if they were believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CAPTURES = Path(__file__).parents[2] / "conformance" / "captures"
RECORDED = (
    "strands-agents__native-swarm",
    "crewai__openinference__theatre",
    "langgraph__openinference__expedition-teams",
    "google-adk__native__bakery-loop",
    "pydantic-ai__native",
)
CONTRACTS = """\
version: 1
rules:
  - name: incident-desk
    match: {service.name: incident-desk}
    contract:
      researcher: [goal, affected_service, timeline]
      engineer: [goal, root_cause_hypothesis, affected_service, constraints]
      reviewer: [goal, patch, constraints, load_evidence]
      planner: [goal, verdict]
  - name: gateway-team
    match: {service.name: gateway-team}
    contract:
      researcher: [goal, constraints, artifacts]
      engineer: [goal, constraints, artifacts]
      reviewer: [goal, constraints, decisions, artifacts]
  - name: hostile
    match: {service.name: "*script*"}
    contract:
      "*": [goal]
"""
HOSTILE = (
    "<script>window.owned=1</script>",
    '"><img src=x onerror="window.owned=1">',
    "javascript:window.owned=1",
    "{{ 7*7 }}{% raw %}",
    "\u202egnp.exe\u0000\u001b[31m",
    "</svg><style>*{display:none}</style>",
)
SECOND = 1_000_000_000


class Step(NamedTuple):
    """One handoff of a story. `fields` None: nothing recorded; `taken` False: the target never ran."""

    source: str
    target: str
    fields: dict[str, Any] | None
    latency_s: float = 0.2
    taken: bool = True


def capture(name: str) -> list[bytes]:
    """The requests of a recording."""
    return (CAPTURES / name / "traces.otlp.jsonl").read_bytes().splitlines()


def story(session: str, service: str, steps: Iterable[Step], begun_ns: int, tokens: int = 300) -> bytes:
    """One trace: agents that run one after the other and hand over by a transfer tool."""
    steps = list(steps)
    trace = hashlib.blake2b(f"{session}/{service}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    ids: Iterator[str] = (hashlib.blake2b(f"{trace}{n}".encode(), digest_size=8).hexdigest() for n in range(10_000))
    root = next(ids)
    spans: list[dict[str, Any]] = []
    at = begun_ns

    def add(span_id: str, parent: str, name: str, start: int, end: int, **attributes: Any) -> None:
        given = {"session.id": session, **{key.replace("__", "."): value for key, value in attributes.items()}}
        spans.append(
            {"traceId": trace, "spanId": span_id, "parentSpanId": parent, "name": name, "kind": 1,
             "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
             "attributes": [{"key": key, "value": _value(value)} for key, value in given.items()], "status": {}}
        )  # fmt: skip

    def visit(agent: str, step: Step | None) -> None:
        nonlocal at
        own, begun = next(ids), at
        said = f"{agent}: hand over to {step.target}" if step else f"{agent}: done"
        add(
            next(ids), own, "chat model", at + SECOND // 10, at + SECOND // 2, gen_ai__operation__name="chat",
            gen_ai__usage__input_tokens=tokens, gen_ai__usage__output_tokens=tokens // 5,
            gen_ai__output__messages=json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": said}]}]),
        )  # fmt: skip
        at += SECOND
        if step is not None:
            call = {"gen_ai__tool__call__arguments": json.dumps(step.fields)} if step.fields is not None else {}
            add(
                next(ids), own, f"execute_tool transfer_to_{step.target}", at - SECOND // 5, at - SECOND // 10,
                gen_ai__operation__name="execute_tool", gen_ai__tool__name=f"transfer_to_{step.target}", **call,
            )  # fmt: skip
        add(
            own,
            root,
            f"invoke_agent {agent}",
            begun,
            at,
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name=agent,
        )
        if step is not None:
            at += round((step.latency_s - 0.1) * SECOND)

    for place, step in enumerate(steps):
        visit(step.source, step)
        following = steps[place + 1].source if place + 1 < len(steps) else None
        if step.taken and following != step.target:
            visit(step.target, None)
    add(root, "", f"invoke_workflow {session}", begun_ns, at + SECOND, gen_ai__operation__name="invoke_workflow")
    resource = {"attributes": [{"key": "service.name", "value": _value(service)}]}
    scope = {"name": "demo.instrumentation", "version": "1.0"}
    return json.dumps(
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}
    ).encode()


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


GOAL = "Bring error rate of payments-api under 0.1 % before the evening peak."
CAUSE = "Connection pool of the ledger client is exhausted after the 14:02 deploy: each retry holds its connection for 30 s."


def incident(session: str, begun_ns: int) -> bytes:
    """Seven handoffs: a field is dropped at the third, brought back, changed and emptied."""
    constraints = ["no schema change", "rollback within 5 min", "keep p99 under 300 ms"]
    patch = "diff --git a/pool.py\n-retry_timeout = 30\n+retry_timeout = 2\n+release_on_retry = True"
    known = {"goal": GOAL, "affected_service": "payments-api"}
    tested = {"patch": patch + "\n+max_retries = 3", "load_evidence": "k6, 20 min at 1.5x peak: p99 212 ms, 0 errors"}
    steps = [
        Step("commander", "planner", {"goal": GOAL, "verdict": "open", "constraints": constraints}, 0.05),
        Step(
            "planner",
            "researcher",
            {**known, "timeline": "14:02 deploy, 14:06 errors", "constraints": constraints},
            0.28,
        ),
        Step("researcher", "engineer", {**known, "confidence": "0.7"}, 4.95),
        Step("engineer", "reviewer", {"goal": GOAL, "patch": patch, "constraints": constraints}, 0.14),
        Step("reviewer", "engineer", {**known, "root_cause_hypothesis": CAUSE, "constraints": ""}, 0.23),
        Step("engineer", "reviewer", {"goal": GOAL.replace("0.1", "0.5"), **tested, "constraints": constraints}, 0.31),
        Step("reviewer", "planner", {"goal": GOAL, "verdict": "approved"}, 0.09),
    ]
    return story(session, "incident-desk", steps, begun_ns)


def long_story(session: str, begun_ns: int, handoffs: int = 40) -> bytes:
    """Many handoffs among seven agents, with rework."""
    ring = ["planner", "researcher", "engineer", "reviewer", "engineer", "reviewer", "scribe", "auditor"]
    steps = []
    for n in range(handoffs):
        source, target = ring[n % len(ring)], ring[(n + 1) % len(ring)]
        if n == 21:
            source, target = ring[n % len(ring)], "liaison"
        fields: dict[str, Any] | None = {"goal": GOAL, "affected_service": "payments-api"}
        assert fields is not None
        fields |= {"constraints": ["keep p99"]} if n % 3 else {}
        fields |= {"patch": f"revision {n}"} if target == "reviewer" else {}
        fields |= {"load_evidence": "" if n % 2 else "k6 run"} if target == "reviewer" and n % 5 else {}
        fields |= {f"note_{k}": "x" for k in range(n % 7)}
        steps.append(Step(source, target, None if n % 13 == 12 else fields, 0.1 + (n % 6) * 0.3, taken=n != 21))
    return story(session, "incident-desk", steps, begun_ns)


def hostile(begun_ns: int) -> bytes:
    """Every name and value is an attack on whoever shows it."""
    script, image, link, template, bidi, style = HOSTILE
    agents = [f"agent {script}", f"agent {image}", f"agent {style} {bidi}"]
    fields = {"goal": template, script: link, image: {"nested": script}, "bidi": bidi, style: style}
    steps = [
        Step(agents[0], agents[1], fields),
        Step(agents[1], agents[2], {**fields, "goal": script}),
        Step(agents[2], agents[0], {}),
    ]
    return story(f"session {script} {bidi}", f"service {script}", steps, begun_ns)
