"""What CrewAI's own names mean, whoever recorded them: its two delegation tools, the prompt that holds a task's context, a refused delegation.

Separate from the mappers because three instrumentations record the same tools and the same prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from collector.conventions import reading
from collector.facts import Content, Known, Message, ToolCall

DELEGATION_TOOLS = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""The tools that CrewAI gives to agents that may delegate, as models call them."""

_COWORKER = ("coworker", "co_worker")
_CONTEXT = "This is the context you're working with:\n"
_END = re.compile(r"\n\n(?:Provide your complete response:|Begin! This is VERY important)")
_CRITERIA, _CLOSING = (
    "This is the expected criteria for your final answer: ",
    "not a summary.",
)  # two ends of one sentence
_REFUSED = ("Error executing tool", "Error: the Action Input is not a valid")


def tool(
    name: str,
    arguments: Content | None,
    result: Content | None,
    *,
    agent: str = "",
    call_id: str = "",
    failed: bool = False,
    runs_target: bool = True,
) -> ToolCall:
    """A tool's run: a delegation where it is one of CrewAI's two tools and says to whom; any other tool's name counts for nothing."""
    target = coworker(arguments) if tool_key(name) in DELEGATION_TOOLS else ""
    answer = result.value if result is not None else None
    refused = isinstance(answer, str) and answer.lstrip().startswith(_REFUSED)
    return ToolCall(
        name=name,
        call_id=call_id,
        agent=agent,
        arguments=arguments,
        result=result,
        target=target,
        mode="delegate" if target else "",
        certain=bool(target),
        plain=not target,
        runs_target=bool(target) and runs_target,
        failed=failed or (bool(target) and refused),
    )


def tool_key(name: str) -> str:
    """A tool's name as models call it (`Delegate work to coworker` is the same tool's title)."""
    return "_".join(name.split()).casefold()


def coworker(arguments: Content | None) -> str:
    """The role that a delegation names. Models write a list or quotes around it, and CrewAI takes the first."""
    given = reading.mapping(arguments.value) if arguments is not None else {}
    name = next((given[k] for k in _COWORKER if isinstance(given.get(k), str)), "")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1].split(",")[0]
    return name.replace('"', "").strip(" '")


def task_context(prompt: Any, cut: bool = False) -> Content | None:
    """What a task's prompt gives of earlier tasks: empty where it gives nothing. None: no prompt recorded, or one that was `cut` before it would say."""
    if not isinstance(prompt, str):
        return None
    cut = cut or (_CRITERIA in prompt and _CLOSING not in prompt)
    _before, marker, given = prompt.partition(_CONTEXT)
    return Content(_END.split(given)[0].strip("\n"), cut) if marker or not cut else None


def given_in(heard: tuple[Message, ...] | None) -> Content | None:
    """The same of a model's call, where its first user message is such a prompt."""
    prompt = next((m for m in heard or () if m.role == "user"), None)
    if prompt is None or prompt.text is None or _CRITERIA not in prompt.text:
        return None
    return task_context(prompt.text, prompt.cut)


def crew(agents: Any) -> Known:
    """The agents of a crew: their roles, by id and by key."""
    listed: Iterable[Any] = reading.loads(agents) if isinstance(agents, str) else agents or ()
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    roles = [str(row["role"]).strip() for row in rows if row.get("role")]
    ids = {
        str(row[k]): str(row["role"]).strip() for row in rows for k in ("id", "key") if row.get(k) and row.get("role")
    }
    return Known(tuple(roles), ids)
