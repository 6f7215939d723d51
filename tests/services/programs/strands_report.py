"""A Strands swarm of two; the model of each says what it is told to."""

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.models import Model
from strands.multiagent import Swarm


class Scripted(Model):
    """Gives its answers in order: a text, or the arguments of a call of `handoff_to_agent`."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted"}

    def update_config(self, **_config: Any) -> None:
        pass

    def structured_output(self, *_arguments: Any, **_more: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *_arguments: Any, **_more: Any) -> AsyncIterator[Any]:
        answer = self.answers.pop(0)
        call = isinstance(answer, dict)
        yield {"messageStart": {"role": "assistant"}}
        start = {"toolUse": {"name": "handoff_to_agent", "toolUseId": "call-1"}} if call else {}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(answer)}} if call else {"text": answer}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


brief = {"agent_name": "writer", "message": "please", "context": {"goal": "a report", "findings": []}}
researcher = Agent(name="researcher", model=Scripted(brief, "done"), callback_handler=None)
writer = Agent(name="writer", model=Scripted("done"), callback_handler=None)
Swarm([researcher, writer], trace_attributes={"session.id": "strands"})("Why are exports slow?")
