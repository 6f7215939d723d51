"""Answers of models that no span shows as answers, read from the history that the next call was given.

Separate because it is the one place where content moves between spans: some instrumentations record what a model was asked and not what
it answered; the next call of the conversation repeats the question and goes on with the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from collector.facts import Message, Visit
from collector.recovery.visit import AgentVisit, Model

_AHEAD = 8
"""How many later turns of a trace are looked at: those of agents that run side by side lie in between."""


class _Turn(NamedTuple):
    """A call of a model, or a run whose own span holds the conversation: what was asked, and how to give it the answer (None: it has one)."""

    start: int
    end: int
    asked: tuple[Message, ...] | None
    answer: Callable[[tuple[Message, ...]], None] | None


def fill(visits: Iterable[AgentVisit]) -> None:
    """Give each model call, and each run without any, that has no recorded answer the one that a later one of its trace goes on from."""
    calls: dict[str, list[_Turn]] = {}
    runs: dict[str, list[_Turn]] = {}
    models: dict[str, list[Model]] = {}
    for visit in visits:
        for model in sorted(visit.models, key=lambda m: (m.node.start, m.node.key)):
            calls.setdefault(model.node.span.trace_id, []).append(_of_call(model))
            models.setdefault(model.node.span.trace_id, []).append(model)
        if not visit.models and visit.messages("heard") is not None:
            runs.setdefault(visit.trace_id, []).append(_of_run(visit))
    for turns in (*calls.values(), *runs.values()):
        turns.sort(key=lambda t: t.start)
        _fill(turns)
    for asked in models.values():
        _of_rewritten(asked)


def _of_call(model: Model) -> _Turn:
    def answer(said: tuple[Message, ...]) -> None:
        model.fact = msgspec.structs.replace(model.fact, said=said)

    asked = _conversation(model.fact.heard)
    return _Turn(model.node.start, model.end, asked, answer if model.fact.said is None else None)


def _of_run(visit: AgentVisit) -> _Turn:
    def answer(said: tuple[Message, ...]) -> None:
        visit.facts.append(Visit(said=said))

    silent = visit.messages("said") is None and visit.content("output") is None
    return _Turn(visit.start, visit.end, _conversation(visit.messages("heard")), answer if silent else None)


def _fill(turns: list[_Turn]) -> None:
    taken: set[tuple[int, int]] = set()  # which turn's history, and from where on in it
    for place, turn in enumerate(turns):
        asked = turn.asked
        if turn.answer is None or not asked:
            continue
        for ahead in range(place + 1, min(place + 1 + _AHEAD, len(turns))):
            later = turns[ahead].asked
            if later == asked:
                if turns[ahead].start < turn.end:  # asked beside (a guardrail's agent): the conversation is the first's
                    continue
                break  # asked again: the answer is the second's
            if later is not None and later[: len(asked)] == asked:
                said = _answer(later[len(asked) :])
                if said and (ahead, len(asked)) not in taken:
                    taken.add((ahead, len(asked)))
                    turn.answer(said)
                break


def _of_rewritten(models: list[Model]) -> None:
    """Where the program rewrote the history between two calls, a call that is new in it, by its id, is what the model before answered."""
    if all(m.fact.said is not None for m in models):
        return
    models = sorted(models, key=lambda m: (m.node.start, m.node.key))
    known = {c.id for m in models for message in m.fact.said or () for c in message.calls}
    last: Model | None = None
    for model in models:
        new = [m for m in model.fact.heard or () if any(c.id and c.id not in known for c in m.calls)]
        if new and last is not None and last.fact.said is None and last.end <= model.start:
            last.fact = msgspec.structs.replace(last.fact, said=(new[-1],))
        known.update(c.id for m in new for c in m.calls)
        last = model


def _conversation(heard: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """Without instructions: each agent has its own over the same conversation."""
    return None if heard is None else tuple(m for m in heard if m.role not in ("system", "developer"))


def _answer(rest: tuple[Message, ...]) -> tuple[Message, ...]:
    out = []
    for message in rest:
        if message.role not in ("assistant", "ai", "model"):
            break
        out.append(message)
    return tuple(out)
