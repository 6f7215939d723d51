"""OpenInference's own attributes: messages that are spread over numbered keys, and the model call that they are of.

Separate from the mappers because the instrumentors of every framework write a model call alike.
"""

from __future__ import annotations

from collector.conventions import reading
from collector.facts import Call, Content, Message, ModelCall
from collector.otlp.model import Attributes


def model_call(attributes: Attributes, agent: str = "") -> ModelCall:
    """The call that an LLM span is of."""
    return ModelCall(
        model=reading.model(attributes),
        agent=agent,
        usage=reading.usage(attributes),
        heard=flattened(attributes, "llm.input_messages"),
        said=flattened(attributes, "llm.output_messages") or reading.answered(attributes.get("output.value")),
    )


def flattened(attributes: Attributes, prefix: str) -> tuple[Message, ...] | None:
    """OpenInference's `llm.input_messages.N.message.*`; None where there is no such key."""
    rows = reading.indexed(attributes, prefix)
    if not rows:
        return None
    out = []
    for row in rows.values():
        inner = {k.removeprefix("message."): v for k, v in row.items()}
        texts = [
            p["message_content.text"]
            for p in reading.indexed(inner, "contents").values()
            if isinstance(p.get("message_content.text"), str)
        ]
        whole = inner.get("content")
        if isinstance(whole, str) and whole not in (
            *texts,
            "\n".join(texts),
        ):  # some producers write a message both ways
            texts.insert(0, whole)
        calls = []
        for raw in reading.indexed(inner, "tool_calls").values():
            named = {k.removeprefix("tool_call."): v for k, v in raw.items()}
            arguments = Content(named["function.arguments"]) if "function.arguments" in named else None
            calls.append(Call(str(named.get("function.name", "")), str(named.get("id", "")), arguments))
        out.append(
            Message(
                str(inner.get("role", "")),
                "\n".join(texts) if texts else None,
                str(inner.get("name", "")),
                tuple(calls),
                str(inner.get("tool_call_id", "")),
            )
        )
    return tuple(out)
