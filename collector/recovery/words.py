"""What an agent heard and said in one visit, as far as it was recorded.

Separate because both the edges (whose words are these?) and the content (what was passed on?) read it.
"""

from __future__ import annotations

import json
from typing import Any

from collector.facts import Content, Message, values
from collector.recovery.visit import AgentVisit, Model

_MIN_WORDS = 12
"""Shorter texts ("ok", "done", a number) are everywhere and tell no origin."""


def answers(visit: AgentVisit) -> list[tuple[Model | None, Message]]:
    """What the agent said in this visit, in order: its models' answers; where none is recorded, its own output messages."""
    if visit.answers is None:
        out: list[tuple[Model | None, Message]] = []
        for model in visit.models_in_order():
            out += [(model, m) for m in model.fact.said or ()]
        visit.answers = out or [(None, m) for m in visit.messages("said") or ()]
    return visit.answers


def text_of(message: Message) -> Content:
    """What a message says, as a content of its own."""
    return Content(message.text, message.cut)


def last_words(visit: AgentVisit) -> Content | None:
    """What the agent said last in this visit: its models' last answer with text, else its own recorded output."""
    spoken = [m for _model, m in answers(visit) if m.text is not None]
    if spoken and (spoken[-1].text or "").strip():
        return text_of(spoken[-1])
    own = visit.content("output")
    if own is not None:
        return own
    return text_of(spoken[-1]) if spoken else None


def heard(visit: AgentVisit) -> tuple[Message, ...] | None:
    """The messages that the agent had before it first spoke."""
    own = visit.messages("heard")
    if own is not None:
        return own
    return next((m.fact.heard for m in visit.models_in_order() if m.fact.heard is not None), None)


def first_heard(visit: AgentVisit) -> Content | None:
    """The last user message that the agent was given before it first spoke; None where others spoke after it: it was the user's, and is history."""
    messages = [m for m in heard(visit) or () if m.role not in ("system", "developer")]
    user = [i for i, m in enumerate(messages) if m.role in ("user", "human") and m.text is not None]
    if not user or any(m.role in ("assistant", "ai", "model") for m in messages[user[-1] + 1 :]):
        return None
    return text_of(messages[user[-1]])


def visible_text(visit: AgentVisit) -> str:
    """All text that the agent could see when it started, as far as recorded: tells what it saw from what it was passed."""
    if visit.visible is None:
        parts: list[str] = []
        own = visit.content("input")
        if own is not None:
            parts.append(as_text(own.value))
        for message in heard(visit) or ():
            parts.append(message.text or "")
            parts += [as_text(c.arguments.value) for c in message.calls if c.arguments is not None]
        visit.visible = "\n".join(parts)
    return visit.visible


def passed_on(visit: AgentVisit) -> list[str]:
    """The forms in which this visit's result could be found again as another's input: canonical text of its last words, output, last call's arguments."""
    found: list[Any] = []
    own = visit.content("output")
    if own is not None:
        found.append(own.value)
    said = [m for _model, m in answers(visit)]
    if said:
        found.append(said[-1].text)
        found += [c.arguments.value for c in said[-1].calls if c.arguments is not None]
    return [form for value in found if (form := canonical(value))]


def taken_in(visit: AgentVisit) -> list[str]:
    """The canonical forms of what this visit was given first: its own input, and the last user message before it spoke."""
    found = [c.value for c in (visit.content("input"), first_heard(visit)) if c is not None]
    return [form for value in found if (form := canonical(value))]


def canonical(value: Any) -> str:
    """One text for one content, whether it stood as JSON, as text or as a value; "" where it is too short to tell an origin."""
    parsed = values.parse(value)
    if isinstance(parsed, str):
        text = " ".join(parsed.split())
    elif parsed is None:
        return ""
    else:
        text = json.dumps(parsed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) >= _MIN_WORDS else ""


def quoted_in(source: AgentVisit, target: AgentVisit) -> bool | None:
    """Whether the source's last words stand in what the target could see; None where one of the two is not recorded."""
    words = last_words(source)
    seen = visible_text(target)
    if words is None or not seen:
        return None
    text = as_text(words.value).strip()
    if len(text) < _MIN_WORDS or values.is_redacted(words.value):
        return None
    forms = {text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}
    if any(form in seen for form in forms):
        return True
    if not _cut(target):
        return False
    begun = (seen.rfind(form[:_MIN_WORDS]) for form in forms)  # of words that the cut fell in, the beginning
    return True if any(at >= 0 and form.startswith(seen[at:]) for at, form in zip(begun, forms, strict=True)) else None


def _cut(visit: AgentVisit) -> bool:
    """Whether a length limit fell in what the agent could see."""
    own = visit.content("input")
    return (own is not None and (own.truncated or values.looks_cut(own.value))) or any(
        m.cut for m in heard(visit) or ()
    )


def as_text(value: Any) -> str:
    """A value that is no text, as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
