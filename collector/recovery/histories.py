"""Answers of models that no span shows as answers, read from the history that the next call was given.

Separate because it is the one place where content moves between spans: some instrumentations record what a model was asked and not what
it answered; the next call of the conversation repeats the question and goes on with the answer.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from collector.facts import Message
from collector.recovery.visit import AgentVisit, Model

_AHEAD = 8
"""How many later calls of a trace are looked at: calls of agents that run side by side lie in between."""


def fill(visits: Iterable[AgentVisit]) -> None:
    """Give each model call without a recorded answer the one that a later call of its trace goes on from."""
    by_trace: dict[str, list[Model]] = {}
    for visit in visits:
        for model in visit.models:
            by_trace.setdefault(model.node.span.trace_id, []).append(model)
    for models in by_trace.values():
        models.sort(key=lambda m: (m.node.start, m.node.key))
        told = [_conversation(m.fact.heard) for m in models]
        taken: set[tuple[int, int]] = set()  # which call's history, and from where on in it
        for place, model in enumerate(models):
            asked = told[place]
            if model.fact.said is not None or not asked:
                continue
            for ahead in range(place + 1, min(place + 1 + _AHEAD, len(models))):
                later = told[ahead]
                if later == asked:
                    if (
                        models[ahead].start < model.end
                    ):  # asked beside (a guardrail's agent): the conversation is the first's
                        continue
                    break  # asked again: the answer is the second call's
                if later is not None and later[: len(asked)] == asked:
                    said = _answer(later[len(asked) :])
                    if said and (ahead, len(asked)) not in taken:
                        taken.add((ahead, len(asked)))
                        model.fact = msgspec.structs.replace(model.fact, said=said)
                    break


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
