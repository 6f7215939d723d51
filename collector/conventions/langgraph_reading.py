"""How LangGraph's runs are read: nodes, agents, handing-over tools and state updates, by the metadata that every run of it carries.

Separate from the mappers because the metadata belongs to LangGraph, and each instrumentation of it only writes it down elsewhere.

What the metadata says: `langgraph_node` and the last segment of `langgraph_checkpoint_ns` name the node a run belongs to (a run is the node
itself where its name is the node's; runs inside it, as the function of a conditional edge, inherit the metadata), `langgraph_step` orders
the nodes of one graph, `langgraph_triggers` say what a node waited for, `lc_agent_name` is the name given to `create_agent`, and
`__handoff_destination` marks a tool that hands over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from collector.conventions import langchain_reading, reading
from collector.facts import Content, Envelope, Fact, Message, ToolCall, Transfer, Visit

_INTERNAL = frozenset(
    {"agent", "tools", "model", "call_model", "pre_model_hook", "post_model_hook", "generate_structured_response"}
)
"""Nodes inside a prebuilt agent (`create_agent`, `create_react_agent`)."""

UNNAMED = "LangGraph"
_PREBUILT = "agent"  # the node of LangGraph's own ready-made agent
"""What LangGraph calls a graph that the program gave no name."""

_MIDDLEWARE = (".before_agent", ".before_model", ".after_model", ".after_agent")
_ROUTING = frozenset(
    {"active_agent", "from_agent", "sender", "next", "next_agent", "remaining_steps", "is_last_step", "jump_to"}
)
"""State keys that say who runs, not what is passed."""

_SUBAGENT = "task"  # the tool by which a deep agent asks its subagents
_SEND = re.compile(r"^Send\(node=(?P<quote>['\"])(?P<node>.+?)(?P=quote), ")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a graph a run stands. `node` "": outside any node (the run of a graph itself)."""

    node: str = ""
    depth: int = 0
    step: int | None = None
    agent: str = ""
    pushed: bool = False
    after: tuple[str, ...] = ()
    destination: str = ""
    graph: bool = False

    @property
    def internal(self) -> bool:
        """Whether the node is a part of an agent, or the graph's own."""
        return self.node in _INTERNAL or self.node.startswith("__") or self.node.endswith(_MIDDLEWARE)


def place(metadata: Mapping[str, Any]) -> Place:
    """Read a run's metadata."""
    path = [s.split(":")[0] for s in _text(metadata.get("langgraph_checkpoint_ns")).split("|") if s and not s.isdigit()]
    triggers = reading.strings(metadata.get("langgraph_triggers"))
    step = reading.integer(metadata, "langgraph_step")
    node = _text(metadata.get("langgraph_node")) or (path[-1] if path else "")
    return Place(
        node=node,
        depth=len(path) or (1 if node else 0),
        step=step,
        agent=_text(metadata.get("lc_agent_name")),
        pushed="__pregel_push" in reading.strings(metadata.get("langgraph_path")),
        after=_after(triggers),
        destination=_text(metadata.get("__handoff_destination")),
        graph=_text(metadata.get("ls_integration")) in ("langgraph", "langchain_create_agent"),
    )


def _after(triggers: tuple[str, ...]) -> tuple[str, ...]:
    """The nodes that a node waited for, where its triggers say so: `join:a+b:c`; of older releases `branch:a:condition:c`, and `a` alone."""
    out: list[str] = []
    for trigger in triggers:
        parts = trigger.split(":")
        if parts[0] == "join" and len(parts) == 3:
            out += parts[1].split("+")
        elif parts[0] == "branch" and len(parts) == 4:
            out.append(parts[1])
        elif len(parts) == 1 and not trigger.startswith("__"):
            out.append(trigger)
    return tuple(out)


def run_facts(
    name: str, at: Place, inputs: Content | None, outputs: Content | None, *, layer: str = ""
) -> Iterator[Fact]:
    """Facts of a run that is neither a model's nor a tool's: an agent, a node, a graph; or none of them."""
    is_node = bool(at.node) and name == at.node and not at.internal
    is_agent = bool(at.agent) and name == at.agent
    if not (is_node or is_agent):
        if at.graph and not at.node and name != UNNAMED:
            yield Visit(name=name, layer=layer, soft=True, wraps=True)
        return
    yield Visit(
        name=name,
        layer=layer,
        aliases=(at.node,) if is_agent and at.node and at.node != name and not at.internal else (),
        state=state(outputs),
        step=at.step if at.depth == 1 and is_node else None,
        after=at.after if is_node else (),
        soft=not is_agent,
        wraps=not is_agent,
        named=name != UNNAMED and (is_agent or name != _PREBUILT),
    )
    if not is_node:
        return
    for target, sent in gotos(outputs):
        yield Transfer(target=target, mode="", content=None if sent else state(outputs), weak=True)
    if at.pushed and inputs is not None:
        yield Envelope(target=name, content=state(inputs))


def tool_fact(
    name: str,
    at: Place,
    arguments: Content | None,
    result: Content | None,
    *,
    call_id: str = "",
    failed: bool = False,
    told: Any = (),
) -> ToolCall:
    """A tool's run. It hands over where its metadata or its answer (a Command for the graph above) says so; its name counts for nothing.

    `told`: the span's events, or what stands for an exception.
    """
    broken_off = bool(told) and is_broken_off(told)
    subagent = reading.argument(arguments, "subagent_type") if name == _SUBAGENT else ""
    value = _value(result)
    target, answer, hands_over = at.destination or subagent, _told(result, value), bool(at.destination or subagent)
    for command in _commands(value):
        if command.get("graph") == "__parent__":
            target = target or next((t for t, _sent in _targets(command.get("goto"))), "")
            answer, hands_over = None, hands_over or bool(target) or "goto" not in command
    return ToolCall(
        name=name,
        call_id=call_id,
        agent=at.agent,
        arguments=arguments,
        result=answer,
        target=target,
        mode="delegate" if subagent else "",
        runs_target=bool(subagent),
        certain=hands_over,
        plain=not hands_over,
        failed=failed and not broken_off,
        broken_off=broken_off,
    )


def _told(result: Content | None, value: Any) -> Content | None:
    """The text of an answer that stands as LangChain's message object, or as a Command that adds one."""
    if result is None or not isinstance(value, dict):
        return result
    update = value.get("update")
    added = update.get("messages") if isinstance(update, dict) else None
    last = _messages(added[-1:]) if isinstance(added, list) else None
    if last:
        return reading.part(result, last[0].text or "")
    if not ({"data", "kwargs"} & set(value)) and not (value.get("type") == "tool" and "content" in value):
        return result
    answer = reading.message(value)
    return reading.part(result, answer.text or "") if answer.role == "tool" else result


def state(outputs: Content | None) -> Content | None:
    """What a node wrote to the state: objects opened, the last words of its messages as `message`, routing keys left out. None: not recorded."""
    if outputs is None:
        return None
    value = reading.loads(outputs.value)
    commands = list(_commands(_value(outputs)))
    if commands:
        value = {}
        for command in commands:
            update = command.get("update")
            if isinstance(update, list):  # pairs
                update = {str(p[0]): p[1] for p in update if isinstance(p, list) and len(p) == 2}
            value |= update if isinstance(update, dict) else {}
    if not isinstance(value, dict):
        return outputs
    out: dict[str, Any] = {}
    for key, inner in value.items():
        if key == "messages" or key in _ROUTING:
            continue
        if isinstance(inner, dict) and inner and not set(inner) & (set(out) | set(value)):
            out |= inner
        else:
            out[key] = inner
    words = last_words(_messages(value["messages"]) if value.get("messages") else None)
    if words:
        out.setdefault("message", words)
    return reading.part(outputs, out)


def _messages(value: Any) -> tuple[Message, ...] | None:
    if isinstance(value, list):
        value = [(langchain_reading.message(m) or m) if isinstance(m, str) else m for m in value]
    return reading.messages(value)


def last_words(messages: tuple[Message, ...] | None) -> str:
    """The text of the last message, if an agent said it."""
    last = messages[-1] if messages else None
    return (last.text or "").strip() if last is not None and last.role == "assistant" else ""


def gotos(outputs: Content | None) -> list[tuple[str, bool]]:
    """Nodes that a Command in a node's answer goes to; whether by `Send` (with an input of its own)."""
    return [t for command in _commands(_value(outputs)) for t in _targets(command.get("goto"))]


def _value(outputs: Content | None) -> Any:
    """What an answer holds, where that is structured: out of the object that some tracers put it in, and Commands written as Python read."""
    value = reading.loads(outputs.value) if outputs is not None else None
    if isinstance(value, dict) and set(value) == {"output"}:
        value = value["output"]
    return langchain_reading.read(value) if isinstance(value, str) else value


def _commands(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and (
            ("goto" in item and {"update", "graph", "resume"} & set(item)) or item.get("graph") == "__parent__"
        ):  # of one that was cut the target, which comes last, is lost
            yield item


def _targets(goto: Any) -> Iterator[tuple[str, bool]]:
    for item in goto if isinstance(goto, (list, tuple)) else [goto]:
        sent = _SEND.match(item) if isinstance(item, str) else None
        if sent is not None:
            yield sent.group("node"), True
        elif isinstance(item, dict) and isinstance(item.get("node"), str):
            yield item["node"], True
        elif isinstance(item, str) and item and not item.startswith("__"):
            yield item, False


def generated(value: Any) -> tuple[Message, ...] | None:
    """A model's answer in LangChain's form, `{"generations": [[{"message": ...}]]}`; None where it is none."""
    found = reading.mapping(value).get("generations")
    if not isinstance(found, list):
        return None
    rows = [row for batch in found for row in (batch if isinstance(batch, list) else [batch])]
    return tuple(reading.message(row) for row in rows if isinstance(row, dict))


def written(outputs: Content | None, span_events: Any) -> Content | None:
    """What a node wrote: its answer, else the Command for the graph above that it ended with, which stands in its exception."""
    for event in span_events:
        if event.name == "exception" and (command := left_by(event.attributes.get("exception.message"))) is not None:
            return command
    return outputs


def left_by(told: Any) -> Content | None:
    """The Command by which a node left its graph, in the text of an exception; as it leaves the graphs between, it names them and says so no more."""
    if not isinstance(told, str) or not told.startswith(_LEAVES):
        return None
    return Content(told.partition("\n")[0].removesuffix(_TRACE))


_TRACE = "Traceback (most recent call last):"  # written right behind the exception by LangSmith
_LEAVES = tuple(f"{opening}Command(graph='__parent__'" for opening in ("", "ParentCommand("))


def is_broken_off(told: Any) -> bool:
    """Whether events, or the text that stands for an exception, say that a run stopped to wait for a person."""
    if isinstance(told, str):
        return told.startswith(("GraphInterrupt(", "(Interrupt("))
    exceptions = [e.attributes for e in told or () if e.name == "exception"]
    return any(
        str(a.get("exception.type", "")).endswith("GraphInterrupt") or is_broken_off(a.get("exception.message"))
        for a in exceptions
    )


def is_control_flow(span_events: Any) -> bool:
    """Whether the exceptions of a span are LangGraph's way to change course (a Command for the graph above, an interrupt)."""
    kinds = [
        str(e.attributes.get("exception.type", "")).rpartition(".")[2] for e in span_events if e.name == "exception"
    ]
    return bool(kinds) and all(
        k in ("ParentCommand", "GraphInterrupt", "GraphBubbleUp", "NodeInterrupt") for k in kinds
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
