"""What a handoff carried: which of the recorded contents was passed at this boundary, and what was only there to be seen.

Separate from the edges because it reads content, and from `fields.py` because it decides between carriers. Which carriers a producer
uses is a table (`Carriers`), given by the convention; the order in it is the order of trust.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from collector.contracts.model import NO_CONTRACT, ResolvedContract
from collector.contracts.names import snake_case
from collector.conventions.base import Carriers
from collector.facts import Content, Envelope, Message, values
from collector.recovery import fields as reader
from collector.recovery import names
from collector.recovery.edges.edge import Edge
from collector.recovery.fields import Field
from collector.recovery.signals import call_behind
from collector.recovery.tree import Tree
from collector.recovery.visit import AgentVisit
from collector.recovery.visits import Visits
from collector.recovery.words import answers, first_heard, heard, last_words, text_of


@dataclass(slots=True)
class Carried:
    """The outcome: fields, and whether anything that could hold them was recorded."""

    fields: list[Field] = field(default_factory=list)
    recorded: bool = False
    redacted: bool = False
    truncated: bool = False
    disagree: list[str] = field(default_factory=list)


class Reader:
    """Reads what each edge carried."""

    def __init__(
        self,
        tree: Tree,
        visits: Visits,
        edges: Iterable[Edge],
        carriers: Callable[[str], Carriers],
        contract: ResolvedContract = NO_CONTRACT,
    ) -> None:
        self.tree, self.visits, self.carriers, self.contract = tree, visits, carriers, contract
        following = Counter(id(e.target) for e in edges if e.target is not None and e.signal is None and e.via is None)
        self._joins = {target for target, count in following.items() if count > 1}
        self._asked_names: dict[str, frozenset[str]] = {}  # by role
        self.envelopes: dict[
            str, list[tuple[int, Envelope, AgentVisit | None]]
        ] = {}  # with the run that each stands in
        for node in tree.ordered:
            for fact in node.span.facts:
                if isinstance(fact, Envelope) and fact.content is not None:
                    self.envelopes.setdefault(tree.run_of(node.span.trace_id), []).append(
                        (node.start, fact, visits.owner[node.key])
                    )
        for letters in self.envelopes.values():
            letters.sort(key=lambda e: e[0])

    def read(self, edge: Edge) -> Carried:
        """What this edge carried."""
        if edge.mode == "return":
            return self._of_return(edge)
        anchor = (
            edge.signal.convention
            if edge.signal is not None
            else (edge.via.convention if edge.via is not None else edge.source.convention)
        )
        carriers = self.carriers(anchor)
        out = self._by(edge, carriers)
        if not out.recorded and edge.target is not None:
            # Two producers recorded these runs: what the one's carriers do not hold, the other's may.
            for other in dict.fromkeys(n.span.convention for n in edge.target.nodes):
                if other != anchor and not out.recorded:
                    out = self._by(edge, self.carriers(other))
        return out

    def _by(self, edge: Edge, carriers: Carriers) -> Carried:
        """What this edge carried by the carriers of one producer."""
        out = Carried()
        if edge.signal is not None or edge.via is not None:
            self._of_call(edge, carriers, out)
        if (edge.signal is None and edge.via is None) or (
            not out.fields and not out.recorded and not (edge.signal and edge.signal.stated)
        ):
            order = carriers.without_call
            if edge.mode == "delegate":
                order = ("envelope", "input") if carriers.delegate_input else ()
            self._first(edge, order, carriers, out)
            asked = edge.mode == "delegate" and edge.via is None and (edge.signal is None or edge.signal.weak)
            if asked and carriers.delegate_input and edge.target is not None and heard(edge.target) is not None:
                out.recorded = True  # all that it was given is there, and nothing of it is the caller's
        return out

    # ---- carriers

    def _of_call(self, edge: Edge, carriers: Carriers, out: Carried) -> None:
        signal = edge.signal
        arguments = signal.arguments if signal is not None else None
        if arguments is None and edge.via is not None:
            arguments = edge.via.fact.arguments
        message, call = call_behind(signal) if signal is not None else (None, None)
        if message is None and edge.via is not None:
            message, call = self._asked(edge)
        if call is not None and call.arguments is not None:
            bare = arguments is None or not isinstance(values.parse(arguments.value), dict)
            if bare:  # a tool span that lost the names of its arguments: the model's call has them
                arguments = call.arguments
        if arguments is not None:
            self._take(out, arguments, carriers, edge)
            out.recorded = out.recorded or carriers.arguments or edge.mode == "delegate" or bool(out.fields)
            self._disagree(edge, out)
        if signal is not None and signal.stated:
            out.recorded = True
            return
        if not out.fields and carriers.beside:
            words = text_of(message) if message is not None else Content(signal.beside if signal is not None else None)
            if message is not None or words.value is not None:
                out.recorded = True
            if words.value:
                self._take(out, words, carriers, edge)
        if not out.fields:
            self._first(edge, carriers.with_call, carriers, out)

    def _disagree(self, edge: Edge, out: Carried) -> None:
        """Note the fields whose values the target's own input gives otherwise."""
        given = edge.target.content("input") if edge.target is not None else None
        if given is None or not isinstance(values.parse(given.value), dict):
            return
        own = {f.name: values.parse(f.value) for f in reader.of_value(given.value, self._asked_for(edge))}
        out.disagree = [f.name for f in out.fields if f.name in own and own[f.name] != values.parse(f.value)]

    def _asked(self, edge: Edge) -> tuple[Message | None, Any]:
        """The model's answer that asked for the tool behind a delegation."""
        tool = edge.via
        assert tool is not None
        for _model, message in answers(edge.source):
            for call in message.calls:
                if (tool.fact.call_id and call.id == tool.fact.call_id) or (
                    not tool.fact.call_id and call.name == tool.fact.name
                ):
                    return message, call
        return None, None

    def _first(self, edge: Edge, order: tuple[str, ...], carriers: Carriers, out: Carried) -> None:
        """The first of the carriers that was recorded."""
        for carrier in order:
            content = self._content(edge, carrier)
            if content is None:
                continue
            out.recorded = True
            before = len(out.fields)
            self._take(out, content, carriers, edge)
            if len(out.fields) > before or out.redacted:
                return

    def _content(self, edge: Edge, carrier: str) -> Content | None:
        source, target = edge.source, edge.target
        if carrier == "envelope":
            return self._delivered(edge)
        if carrier == "result":
            return edge.signal.result if edge.signal is not None else None
        if carrier == "note":
            return _note(source, target)
        if carrier == "state":
            return source.content("state")
        if carrier == "output":
            return last_words(source)
        if carrier == "asked":
            said = answers(source)
            last = said[-1][1] if said else None
            return last.calls[0].arguments if last is not None and len(last.calls) == 1 and not last.text else None
        if target is None or (carrier == "told" and edge.signal is not None):
            return None
        given = target.content("input") or first_heard(target) or _asked_by(source, target)
        if given is not None and edge.signal is None and id(target) in self._joins:
            # The words of several, joined by the program: what this source passed is its own part.
            part = last_words(source)
            if part is not None and _quotes(given.value, part.value):
                return part
        return given

    def _delivered(self, edge: Edge) -> Content | None:
        if edge.target is None:
            return None
        for node in edge.target.nodes:  # told on the target's own span: its alone
            for fact in node.span.facts:
                if isinstance(fact, Envelope) and _is_for(fact, edge):
                    return fact.content
        letters = self.envelopes.get(self.tree.run_of(edge.source.trace_id), [])
        begun = edge.via.start if edge.via is not None else edge.source.start
        first = bisect_left(letters, begun, key=lambda e: e[0])
        last = bisect_right(letters, edge.target.start, key=lambda e: e[0])
        for _time, envelope, owner in reversed(letters[first:last]):
            # What opens a team's work in the caller's own run is the caller's, whatever name it bears.
            if _is_for(envelope, edge) or (edge.mode == "delegate" and owner is edge.source and not envelope.target):
                return envelope.content
        return None

    def _take(self, out: Carried, content: Content, carriers: Carriers, edge: Edge) -> None:
        value = content.value
        asked = self._asked_for(edge)
        if carriers.unwrap is not None:
            value = carriers.unwrap(value)
        if values.is_redacted(value):
            out.redacted = True
            return
        out.truncated = out.truncated or content.truncated or values.looks_cut(content.value) or values.looks_cut(value)
        parsed = values.opened(value)
        if parsed is not None:
            entries, cut = parsed
            found = reader.of_arguments(
                {k: v for k, v in entries.items() if not _names_target(k, v, asked, edge)}, cut, asked
            )
        else:
            found = reader.of_value(value, asked)
        if found and all(f.state == "redacted" for f in found) and len(found) == 1 and found[0].name == reader.MESSAGE:
            out.redacted = True
            return
        out.fields = reader.merge([*out.fields, *found])

    def _asked_for(self, edge: Edge) -> frozenset[str]:
        """The names that the contract asks for at this boundary."""
        name, attribute = (edge.target.name, edge.target.role) if edge.target is not None else (edge.target_name, "")
        role = self.contract.role_of(name, attribute)
        role = f"{role}.return" if edge.mode == "return" else role
        if role not in self._asked_names:
            self._asked_names[role] = self.contract.asked_of(role)
        return self._asked_names[role]

    def _of_return(self, edge: Edge) -> Carried:
        out = Carried()
        content = edge.answer
        if content is None or values.is_empty(content.value):
            content = last_words(edge.source) or content
        if content is None:
            return out
        carriers = self.carriers(edge.source.convention)
        self._take(out, content, carriers, edge)
        out.recorded = not out.redacted
        return out


def _quotes(text: Any, part: Any) -> bool:
    """Whether a text has another in it word for word."""
    return isinstance(text, str) and isinstance(part, str) and bool(part.strip()) and part.strip() in text


def _asked_by(source: AgentVisit, target: AgentVisit) -> Content | None:
    """What a manager's answer says that the next is to do, where the target was given it last, in whatever role."""
    words, given = last_words(source), heard(target)
    if not any(f.leads for f in source.facts) or words is None or not given or not given[-1].text:
        return None
    return text_of(given[-1]) if _says(values.parse(words.value), given[-1].text.strip()) else None


def _says(value: Any, text: str) -> bool:
    """Whether a value or one inside it is this text."""
    if isinstance(value, dict):
        return any(_says(v, text) for v in value.values())
    if isinstance(value, list):
        return any(_says(v, text) for v in value)
    return isinstance(value, str) and value.strip() == text


def _note(source: AgentVisit, target: AgentVisit | None) -> Content | None:
    """What a tool call of the source wrote and a tool call of the target got as its result, word for word; the latest."""
    if target is None:
        return None
    read = {r.value.strip() for t in target.tools if (r := t.fact.result) is not None and isinstance(r.value, str)}
    for tool in sorted(source.tools, key=lambda t: t.start, reverse=True):
        written = values.parse(tool.fact.arguments.value, 1) if tool.fact.arguments is not None else None
        for value in written.values() if isinstance(written, dict) else ():
            if isinstance(value, str) and len(value) >= _NOTE and value.strip() in read:
                return Content(value)
    return None


_NOTE = 16
"""Shortest text that is told apart from a word that is written and read by chance."""


def _is_for(envelope: Envelope, edge: Edge) -> bool:
    from_source = not envelope.source or names.agent_key(envelope.source) in edge.source.keys
    target = edge.target.keys if edge.target is not None else set()
    return from_source and (not envelope.target or names.agent_key(envelope.target) in target)


def _names_target(key: str, value: Any, asked: frozenset[str], edge: Edge) -> bool:
    """Whether an argument names the target, as far as its own name says so; under a name that says other things as well, only the target's own name does."""
    name = snake_case(key)
    if name in asked or not isinstance(value, str):
        return False
    if name not in _OTHER_THINGS:
        return name in reader.ENDPOINTS
    spelled = names.agent_key(value.strip("[] "))
    call = edge.signal.call if edge.signal is not None else edge.via.fact.name if edge.via is not None else ""
    told = edge.target.keys if edge.target is not None else {names.agent_key(edge.target_name)}
    return spelled in told or (name in reader.ENDPOINTS and not names.target_in_tool_name(call))


_OTHER_THINGS = frozenset({"agent_id", "recipient", "destination", "target", "agent", "to"})
"""Names of arguments that may name the target, and may as well be a field: where a parcel goes, who gets a letter."""
