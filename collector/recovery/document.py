"""The graph as a trace document of design section 4.1: agents, turns and handoffs in the order and with the identity that section 5.3 sets.

Separate from the graph because it is form: ids, order, latency, roles, contract names. Nothing in it depends on the order of arrival.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from collector.contracts.model import ResolvedContract
from collector.facts import values
from collector.recovery import fields as reader
from collector.recovery import names
from collector.recovery.carried import Carried
from collector.recovery.edges.edge import Edge
from collector.recovery.fields import Field
from collector.recovery.notes import Notes
from collector.recovery.tree import Tree
from collector.recovery.visit import AgentVisit
from collector.recovery.visits import Visits
from collector.recovery.words import as_text, first_heard, last_words, visible_text
from orbitrelay import Number

_NS_PER_MS = 1_000_000


class Writer:
    """Makes the document of one session."""

    def __init__(self, tree: Tree, visits: Visits, contract: ResolvedContract) -> None:
        self.tree, self.visits, self.contract = tree, visits, contract
        self.notes = Notes()
        self.agent_ids: dict[str, str] = {}
        self.agents: list[dict[str, Any]] = []
        self._entries: dict[str, dict[str, Any]] = {}
        self._delegates: dict[int, list[AgentVisit]] = {}  # by the run that called them
        self._acts: dict[int, list[tuple[int, tuple[str, str]]]] = {}  # by run: when each thing that it did ended

    def write(self, edges: Sequence[Edge], read: Callable[[Edge], Carried]) -> dict[str, Any]:
        """The document, without `trace_id` and session `metadata`, which the session gives."""
        for visit in self.visits.all:
            self._agent(visit)
        for edge in edges:
            if edge.mode == "delegate" and edge.target is not None and not edge.target.virtual:
                self._delegates.setdefault(id(edge.source), []).append(edge.target)
        carried = [(edge, read(edge)) for edge in edges]
        placed = sorted(carried, key=lambda pair: _order(pair[0]))
        handoffs = [self._handoff(edge, what, tick) for tick, (edge, what) in enumerate(placed, start=1)]
        self._history(placed, handoffs)
        for (edge, _what), record in zip(placed, handoffs, strict=True):
            self._left_behind(edge, record)
        self._span_times()
        _distinct(handoffs)
        written: dict[str, Any] = values.plain(
            {
                "agents": self.agents,
                "contract": self.contract.document(),
                "handoffs": handoffs,
                "schema_version": 1,
                "turns": self._turns(),
            }
        )
        return written

    # ---- agents

    def _agent(self, visit: AgentVisit) -> str:
        key = visit.key
        if key not in self.agent_ids:
            self._declare(visit.name, visit.role, key)
        entry = self._entries[key]
        model = next((m.fact.model for m in visit.models if m.fact.model), "") or next(
            (f.model for f in visit.facts if f.model), ""
        )
        if model and "model" not in entry:
            entry["model"] = model
        return self.agent_ids[key]

    def _declare(self, name: str, role: str, key: str) -> str:
        self.agent_ids[key] = name
        self._entries[key] = {"agent_id": name, "capabilities": [], "role": self.contract.role_of(name, role)}
        self.agents.append(self._entries[key])
        return name

    def _agent_named(self, name: str) -> str:
        key = names.agent_key(name)
        if key not in self.agent_ids:
            self._declare(name, "", key)
        return self.agent_ids[key]

    # ---- turns

    def _turns(self) -> list[dict[str, Any]]:
        out = []
        for tick, visit in enumerate(self.visits.all, start=1):
            words = last_words(visit)
            usage = visit.usage()
            turn: dict[str, Any] = {
                "agent_id": self.agent_ids[visit.key],
                "run": self.tree.run_of(visit.trace_id),
                "text": None if words is None else as_text(words.value),
                "tick": tick,
                "tokens": None,
                "turn_id": "t-" + _hash(visit.first.span.trace_id, visit.first.span.span_id, "turn"),
            }
            if usage is not None and (usage.input is not None or usage.output is not None):
                turn["tokens"] = (usage.input or 0) + (usage.output or 0)
                turn["usage"] = {"input_tokens": usage.input, "output_tokens": usage.output}
            out.append(turn)
        return out

    # ---- handoffs

    def _handoff(self, edge: Edge, what: Carried, tick: int) -> dict[str, Any]:
        source = self._agent(edge.source)
        target = self._agent(edge.target) if edge.target is not None else self._agent_named(edge.target_name)
        latency, flags = self._latency(edge)
        anchor = self._anchor(edge)
        record: dict[str, Any] = {
            "handoff_id": "h-" + _identity(edge),
            "source_agent": source,
            "target_agent": target,
            "tick": tick,
            "reason": edge.signal.reason if edge.signal is not None else "",
            "latency_ms": latency,
            "fields": self._fields(what.fields),
            "run": self.tree.run_of(anchor.span.trace_id),
            "origin": {
                "convention": anchor.span.convention,
                "evidence": edge.evidence,
                "mode": edge.mode,
                "span_id": anchor.span.span_id,
                "trace_id": anchor.span.trace_id,
            },
        }
        if edge.target is None:
            record["status"] = "dropped"
        if not what.recorded or (what.redacted and not what.fields):
            record["recorded"] = False
            if what.redacted:
                record["redacted"] = True
        if what.truncated:
            record["truncated"] = True
        told = [self.notes.add(code, record["handoff_id"]) for code in flags]
        if what.disagree:
            told.append(self.notes.add("input_disagrees", record["handoff_id"], ", ".join(what.disagree)))
        if told:
            record["notes"] = told  # the dossier shows them
        return record

    def _left_behind(self, edge: Edge, record: dict[str, Any]) -> None:
        """Note required fields that the source had been given itself and did not pass: the loss is here, not further up."""
        if edge.target is None or edge.mode == "return" or "recorded" in record:
            return
        role = self._entries[names.agent_key(record["target_agent"])]["role"]
        required = self.contract.contract.get(role)
        given = edge.source.content("input") or first_heard(edge.source)
        if required is None or given is None:
            return
        read = reader.of_value(given.value, self.contract.asked_of(role))
        had = {self.contract.canonical_field(f.name) for f in read}
        there = {f["name"] for f in record["fields"] if "seen_in" not in f or required.accept == "visible"}
        if left := sorted((set(required.fields) - there) & had):
            record["left_behind"] = left
            told = self.notes.add("left_behind", record["handoff_id"], ", ".join(left))
            record["notes"] = [*record.get("notes", ()), told]

    def _span_times(self) -> None:
        """Note the spans whose times are broken."""
        for node in self.tree.ordered:
            if not node.span.facts:
                continue
            where = f"span {node.span.span_id}"
            if node.shift and node.parent is not None and node.parent.clock != node.clock:
                self.notes.add("clock_skew", where, node.span.name)
            if node.span.end_ns == 0:
                self.notes.add("end_missing", where, node.span.name)
            elif node.span.end_ns < node.span.start_ns:
                self.notes.add("duration_negative", where, node.span.name)

    def _fields(self, carried: Sequence[Field]) -> list[dict[str, Any]]:
        out: dict[str, dict[str, Any]] = {}
        for field in carried:
            name = self.contract.canonical_field(field.name)
            if name in out and (values.is_empty(field.value) or not values.is_empty(out[name]["value"])):
                continue
            entry: dict[str, Any] = {"kind": reader.kind(name), "name": name, "value": field.value}
            if field.original and field.original != name:
                entry["original"] = field.original
            if field.state != "full":
                entry["state"] = field.state
            out[name] = entry
        return list(out.values())

    def _history(self, placed: Sequence[tuple[Edge, Carried]], handoffs: list[dict[str, Any]]) -> None:
        """Fields that earlier hops of the run left where the target could see them, and this handoff did not pass."""
        left: dict[str, dict[str, dict[str, Any]]] = {}
        for (edge, what), record in zip(placed, handoffs, strict=True):
            earlier = left.setdefault(record["run"], {})
            if edge.target is not None and edge.mode != "return" and what.recorded and earlier:
                own = {f["name"] for f in record["fields"]}
                wanted = [f for name, f in earlier.items() if name not in own]
                if wanted:
                    text = visible_text(edge.target)
                    record["fields"] += [{**f, "seen_in": "history"} for f in wanted if _visible(f["value"], text)]
            for f in record["fields"]:
                if (
                    f["name"] != reader.MESSAGE
                    and not _is_empty(f["value"])
                    and f.get("seen_in") is None
                    and edge.target is not None
                ):
                    earlier[f["name"]] = {k: v for k, v in f.items() if k != "seen_in"}

    def _anchor(self, edge: Edge) -> Any:
        """The span that made the handoff: the signal's, the tool's, else the target's visit."""
        if edge.mode == "return":
            return edge.via.node if edge.via is not None else edge.source.first
        if edge.signal is not None:
            return edge.signal.node
        if edge.via is not None:
            return edge.via.node
        return edge.target.first if edge.target is not None else edge.source.first

    def _latency(self, edge: Edge) -> tuple[Number | int | None, list[str]]:
        """Milliseconds as design section 5.3 measures them, as exact decimal text; None where two clocks or a negative gap make it worthless."""
        if edge.target is None or edge.mode == "return":
            return (None, []) if edge.target is None else self._return_latency(edge)
        target = edge.target
        known = True
        if edge.mode == "delegate":
            start_node = (
                edge.via.node if edge.via is not None else (edge.signal.node if edge.signal is not None else None)
            )
            if target.virtual:
                return None, []
            if start_node is not None and start_node in edge.source.nodes and not edge.source.models:
                return None, []  # a call that has no span of its own has no start
            begin = start_node.start if start_node is not None else None
            if begin is None:
                begin = self._last_act(edge.source, target)
            where = start_node if start_node is not None else edge.source.first
        elif edge.signal is not None:
            begin, where = edge.signal.end, edge.signal.node
            known = edge.signal.node.ended
            if edge.signal.node in edge.source.nodes:
                begin = min(begin, edge.source.end)
        else:
            begin, where = edge.source.end, edge.source.first
            known = any(n.ended for n in edge.source.nodes)
        if where.clock != target.first.clock:
            return None, ["latency_two_clocks"]
        gap = target.start - begin
        if not target.first.span.start_ns or not where.span.start_ns:
            return None, ["start_missing"]
        if not known:
            return None, ["end_missing"]
        if gap < 0:
            return None, ["latency_negative"]
        apart = edge.mode == "transfer" and edge.source.trace_id != target.trace_id and edge.evidence != "inferred"
        waited = apart and not any(n.span.causes for n in (target.first, *target.first.ancestors()))  # no message came
        return _milliseconds(gap), ["latency_user_wait"] if waited else []

    def _last_act(self, source: AgentVisit, target: AgentVisit) -> int:
        """The end of what a run did last before it called another by no call that is recorded: a call of a model or a tool, or another delegate's run."""
        acts = self._acts.get(id(source))
        if acts is None:
            calls = [(m.node.end, m.node.key) for m in source.models if m.node.ended]
            calls += [(t.node.end, t.node.key) for t in source.tools if t.node.ended]
            called = [v for v in self._delegates.get(id(source), ()) if v.first.clock == source.first.clock]
            acts = self._acts[id(source)] = sorted([*calls, *((v.end, v.first.key) for v in called)])
        at = bisect_right(acts, target.start, key=lambda act: act[0])
        if at and acts[at - 1][1] == target.first.key:  # a run without length
            at -= 1
        if at and acts[at - 1][0] >= source.start:
            return acts[at - 1][0]
        over = any(f.leads for f in source.facts) and source.end <= target.start  # a manager's turn, not its whole run
        return source.end if over else source.start

    def _return_latency(self, edge: Edge) -> tuple[Number | int | None, list[str]]:
        """From the end of the delegate's run to the end of the call that waited for it."""
        via = edge.of.via if edge.of is not None else None
        if via is None or edge.source.virtual or (edge.target is not None and via.node in edge.target.nodes):
            return None, []  # no call, or one that has no span of its own
        if via.node.ended and via.end <= edge.source.start:
            return None, []  # a call that did not wait
        if via.node.clock != edge.source.first.clock:
            return None, ["latency_two_clocks"]
        if not via.node.ended or not any(n.ended for n in edge.source.nodes):
            return None, ["end_missing"]
        gap = via.end - edge.source.end
        return (_milliseconds(gap), []) if gap >= 0 else (None, ["latency_negative"])


def _order(edge: Edge) -> tuple[int, int, str, str]:
    if edge.mode == "return":
        return (edge.source.end, edge.source.start, edge.source.first.span.span_id, "r")
    if edge.target is None:
        assert edge.signal is not None
        return (edge.signal.start, edge.source.start, edge.signal.node.span.span_id, edge.signal.call_id)
    return (edge.target.start, edge.source.start, edge.source.first.span.span_id, "")


def _identity(edge: Edge) -> str:
    """Design section 5.3: a hash of the mode, the first span of the source's visit and that of the target's (dropped: of the request)."""
    source = edge.source.first.span
    if edge.target is None:
        assert edge.signal is not None
        span = edge.signal.node.span
        return _hash("dropped", source.trace_id, source.span_id, span.trace_id, span.span_id, edge.signal.call_id)
    target = edge.target.first.span
    return _hash(
        edge.mode, source.trace_id, source.span_id, target.trace_id, target.span_id, "v" if edge.target.virtual else ""
    )


def _distinct(handoffs: list[dict[str, Any]]) -> None:
    seen: dict[str, int] = {}
    for record in handoffs:
        count = seen[record["handoff_id"]] = seen.get(record["handoff_id"], 0) + 1
        if count > 1:
            record["handoff_id"] += f"-{count}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _milliseconds(ns: int) -> Number | int:
    """Nanoseconds as exact milliseconds: an integer, or decimal text without trailing zeros."""
    whole, rest = divmod(ns, _NS_PER_MS)
    return Number(f"{whole}.{rest:06d}".rstrip("0")) if rest else whole


def _visible(value: Any, text: str) -> bool:
    needle = value if isinstance(value, str) else None
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return all(v in text for v in value)
    if needle is None:
        needle = as_text(value)
    return len(needle) > 3 and (needle in text or needle.replace('"', '\\"') in text)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
