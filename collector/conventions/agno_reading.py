"""Agno's own names: the tools by which a team's leader gives work to members, and what it wraps around a member's task.

Separate from the mappers because two instrumentations record the same tools.
"""

from __future__ import annotations

import re
from typing import Any

from collector.conventions import reading
from collector.facts import Content, ToolCall

_ONE = frozenset({"delegate_task_to_member", "adelegate_task_to_member", "transfer_task_to_member", "atransfer_task_to_member",
                  "forward_task_to_member", "aforward_task_to_member"})  # fmt: skip
_ALL = frozenset({"delegate_task_to_members", "adelegate_task_to_members", "run_member_agents", "arun_member_agents"})
_INTERACTION = re.compile(r"<(member_interaction_context|team_history_context)>.*?</\1>\s*", re.S)


def tool(
    name: str, arguments: Content | None, result: Content | None, *, call_id: str = "", failed: bool = False
) -> ToolCall:
    """A tool's run: a delegation where it is Agno's and names the member or is for all of them; any other tool's name counts for nothing."""
    target, to_all = reading.argument(arguments, "member_id") if name in _ONE else "", name in _ALL
    return ToolCall(
        name=name,
        call_id=call_id,
        arguments=arguments,
        result=result,
        target=target,
        mode="delegate" if target or to_all else "",
        certain=bool(target) or to_all,
        plain=not target and not to_all,
        to_all=to_all,
        failed=failed,
    )


def task(given: Any) -> Any:
    """A member's task without the earlier exchange that Agno puts before it."""
    return _INTERACTION.sub("", given).strip() if isinstance(given, str) else given
