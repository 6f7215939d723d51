"""How mappers read attributes: text, JSON, usage, and the message forms that several producers share.

Separate from the mappers because these forms belong to specifications, not to one producer: OpenTelemetry's message JSON, OpenInference's
flattened messages, the older indexed `gen_ai.prompt.N` keys, OpenAI's and LangChain's message objects. Nothing here raises on content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from collector.facts import Call, Content, Message, Usage, values
from collector.otlp.model import Attributes, Span


def text(attributes: Attributes, *keys: str) -> str:
    """The first of the keys that holds a text that is not empty, nor what a redaction left of one, else ""."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value and not values.is_redacted(value):
            return value
    return ""


def content(attributes: Attributes, *keys: str) -> Content | None:
    """The first of the keys that was recorded, whatever it holds. `<key>.truncated` marks what the producer cut."""
    for key in keys:
        if key in attributes:
            return Content(_said(attributes[key]), bool(attributes.get(f"{key}.truncated")))
    return None


def _said(value: Any) -> Any:
    """Bytes that are text, as text: some producers put serialized JSON on the wire as it is."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def loads(value: Any) -> Any:
    """A JSON text as its value, as far as it goes where a length limit cut it (what is no JSON text comes back as it is)."""
    return told(value)[0] if isinstance(value, str) else value


def told(value: Any) -> tuple[Any, bool]:
    """The same, and whether it was cut."""
    if isinstance(value, str):
        try:
            return values.from_json(value), False
        except (ValueError, RecursionError):
            far = values.as_far(value)
            return (value, False) if far is None else (far, True)
    return value, False


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object, as far as it goes where it was cut, or {} where there is none."""
    value = loads(value)
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> dict[str, Any]:
    """The whole entries of a JSON object: of one that was cut without the value that the cut fell in, for values that are names."""
    read, cut = told(value)
    if cut and (found := values.opened(value)) is not None:
        return {k: v for k, v in found[0].items() if found[1][:1] != (k,)}
    return read if isinstance(read, dict) else {}


def part(found: Content, value: Any) -> Content:
    """A part of a content: cut where the content was."""
    return Content(value, found.truncated or values.looks_cut(found.value))


def argument(given: Content | None, key: str) -> str:
    """The text of one argument of a call, also of arguments that were cut behind it."""
    found = values.opened(given.value) if given is not None else None
    value = found[0].get(key) if found is not None and found[1] != (key,) else None
    return value if isinstance(value, str) and not values.is_redacted(value) else ""


def integer(attributes: Attributes, *keys: str) -> int | None:
    """The first of the keys that holds a count. Some producers write -1 for a count that they do not know."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) < 19:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
            return value
    return None


_MOST = 10**15
"""More than anyone counted: a broken number, and a sum of such would fit no column."""


_INPUT = (
    "gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens",
    "gen_ai.aggregated_usage.input_tokens",
)  # fmt: skip
_OUTPUT = (
    "gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
    "gen_ai.aggregated_usage.output_tokens",
)  # fmt: skip


def usage(attributes: Attributes, sent: tuple[str, ...] = _INPUT, made: tuple[str, ...] = _OUTPUT) -> Usage | None:
    """Tokens by any of the spellings in use, the current one first, or by a producer's own."""
    read = Usage(integer(attributes, *sent), integer(attributes, *made))
    return read if read.input is not None or read.output is not None else None


def model(attributes: Attributes) -> str:
    """The model that answered, else the one that was asked for."""
    return text(attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")


# ---- messages


def messages(value: Any) -> tuple[Message, ...] | None:
    """A list of messages in any of the forms in use; None where it is no list of messages."""
    cut = False
    if isinstance(value, str):
        value = values.parse(value)
        if isinstance(value, str) and (far := values.as_far(value)) is not None:
            value, cut = far, True
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return None
    out = []
    for entry in value:
        item = loads(entry)
        if isinstance(item, list):
            out += list(messages(item) or ())
        elif isinstance(item, dict):
            out.append(message(item))
        elif isinstance(item, str):
            out.append(Message("user", item))
    if cut and out:
        out[-1] = _cut(out[-1])
    return tuple(out)


def answered(value: Any) -> tuple[Message, ...] | None:
    """What a model's whole response object says (OpenAI's `output` items or `choices`), or a list of such, as a stream leaves; None where it is none."""
    if isinstance(value, str) and '"object"' not in value:
        return None
    read = loads(value)
    out: list[Message] = []
    for item in read if isinstance(read, list) else [read]:
        said = item.get("output", item.get("choices")) if isinstance(item, dict) and "object" in item else None
        if not isinstance(said, list):
            return None
        out += messages(said) or ()
    return tuple(out) or None


def is_conversation(value: Any) -> bool:
    """Whether a content is nothing but messages, each with who says it."""
    value = values.parse(value)
    if isinstance(value, dict) and value.keys() <= {"messages", "model"}:
        value = value.get("messages")
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and ({"role", "content"} <= m.keys() or "message.role" in m) for m in value)
    )


def _cut(last: Message) -> Message:
    calls = last.calls
    if calls and calls[-1].arguments is not None:
        calls = (*calls[:-1], msgspec.structs.replace(calls[-1], arguments=Content(calls[-1].arguments.value, True)))
    return msgspec.structs.replace(last, calls=calls, cut=True)


def message(item: Mapping[str, Any]) -> Message:
    """One message object: OpenTelemetry's parts, OpenAI's content and tool calls, LangChain's serialized form."""
    if "message.role" in item:  # OpenInference's flattened keys, in an object of their own
        item = {key.removeprefix("message."): value for key, value in item.items()}
    for wrapper in ("data", "kwargs"):  # LangChain: {"type": "ai", "data": {...}} and {"lc": 1, "kwargs": {...}}
        inner = item.get(wrapper)
        if isinstance(inner, dict) and ("content" in inner or "tool_calls" in inner):
            return message({"type": item.get("type"), **inner})
    if isinstance(item.get("message"), dict):
        return message({**item, **item["message"], "message": None})
    role = str(item.get("role") or _ROLES.get(str(item.get("type")), "") or "")
    texts: list[str] = []
    calls: list[Call] = []
    call_id = str(item.get("tool_call_id") or item.get("call_id") or "")
    body = item.get("parts") if isinstance(item.get("parts"), list) else item.get("content")
    if isinstance(body, str):
        read = loads(body) if body[:2] in ("[{", "[ ") else body
        body = (
            read
            if isinstance(read, list) and all(isinstance(p, dict) and ("text" in p or "type" in p) for p in read)
            else body
        )
    if isinstance(body, str):
        texts.append(body)
    elif isinstance(body, list):
        for part in body:
            call_id = _part(part, texts, calls) or call_id
    elif isinstance(body, dict):
        call_id = _part(body, texts, calls) or call_id
    for raw in item.get("tool_calls") or ():
        if isinstance(raw, dict):
            calls.append(call(raw))
    if isinstance(item.get("function_call"), dict):
        calls.append(call(item["function_call"]))
    if item.get("type") in ("function_call", "tool_call") and item.get(
        "name"
    ):  # OpenAI Responses: a call is an item of its own
        calls.append(call(item))
        role = role or "assistant"
    if item.get("type") in ("function_call_output", "tool_call_output"):
        texts.append(_string(item.get("output")))
        role = role or "tool"
    return Message(
        role,
        "\n".join(texts) if texts else None,
        str(item.get("name") or "") if not calls else "",
        tuple(calls),
        call_id,
    )


_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool", "AIMessageChunk": "assistant",
          "HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system", "ToolMessage": "tool"}  # fmt: skip


def _part(part: Any, texts: list[str], calls: list[Call]) -> str:
    """Read one part into texts and calls; the id of the call that it answers, if it is an answer."""
    if isinstance(part, str):
        texts.append(part)
        return ""
    if not isinstance(part, dict):
        return ""
    kind = str(part.get("type") or "")
    for key in ("toolUse", "tool_use", "functionCall", "function_call"):
        if isinstance(part.get(key), dict):
            calls.append(call(part[key]))
            return ""
    for key in ("toolResult", "tool_result", "functionResponse", "function_response"):
        if isinstance(part.get(key), dict):
            return str(part[key].get("toolUseId") or part[key].get("id") or "")
    if kind in ("tool_call", "tool_use", "function_call", "server_tool_call"):
        calls.append(call(part))
        return ""
    if kind in ("tool_call_response", "tool_result", "function_call_output", "server_tool_call_response"):
        return str(part.get("id") or part.get("tool_use_id") or part.get("call_id") or "")
    if kind in ("reasoning", "thinking"):
        return ""
    for key in ("content", "text", "input_text", "output_text"):
        if isinstance(part.get(key), str):
            texts.append(part[key])
            return ""
    if isinstance(part.get("message_content"), dict):
        return _part(part["message_content"], texts, calls)
    return ""


def call(raw: Mapping[str, Any]) -> Call:
    """One tool call object of any form."""
    for wrapper in ("tool_call", "function"):
        inner = raw.get(wrapper)
        if isinstance(inner, dict):
            raw = {**raw, **inner, wrapper: None}
    arguments = next(
        (raw[k] for k in ("arguments", "args", "input", "parameters") if k in raw and raw[k] is not None), None
    )
    has = any(k in raw for k in ("arguments", "args", "input", "parameters"))
    identity = raw.get("id") or raw.get("call_id") or raw.get("toolUseId") or raw.get("tool_call_id") or ""
    return Call(str(raw.get("name") or ""), str(identity), Content(arguments) if has else None)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# ---- flattened messages

_INDEXED = re.compile(r"^(?P<index>\d{1,6})\.(?P<rest>.+)$")


def indexed(attributes: Attributes, prefix: str) -> dict[int, dict[str, Any]]:
    """`prefix.N.rest` keys as {N: {rest: value}}, in order of N, whatever numbers are missing."""
    out: dict[int, dict[str, Any]] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if key.startswith(start):
            match = _INDEXED.match(key[len(start) :])
            if match:
                out.setdefault(int(match.group("index")), {})[match.group("rest")] = value
    return dict(sorted(out.items()))


def prompts(attributes: Attributes, key: str, role: str) -> tuple[Message, ...] | None:
    """The older `gen_ai.prompt.N.*` and `gen_ai.completion.N.*`, or the still older whole in one text; None where there is neither."""
    rows = indexed(attributes, key)
    if not rows:
        return _whole(attributes.get(key), role)
    out = []
    for row in rows.values():
        calls = tuple(
            Call(
                str(raw.get("name", "")),
                str(raw.get("id", "")),
                Content(raw["arguments"]) if "arguments" in raw else None,
            )
            for raw in indexed(row, "tool_calls").values()
        )
        body = row.get("content")
        read = message({"role": row.get("role", ""), "content": body, "tool_call_id": row.get("tool_call_id")})
        out.append(Message(read.role, read.text, "", calls or read.calls, read.call_id))
    return tuple(out)


def _whole(value: Any, role: str) -> tuple[Message, ...] | None:
    read = messages(value) or ()
    if any(m.text is not None or m.calls for m in read):
        return read
    return None if value is None else (Message(role, _string(value)),)


def event_messages(span: Span) -> tuple[tuple[Message, ...] | None, tuple[Message, ...] | None]:
    """Messages in span events of the older conventions (`gen_ai.content.prompt`; `gen_ai.user.message`, `gen_ai.choice`, ...) and of the
    current one (`gen_ai.client.inference.operation.details`): (heard, said), None where no event holds them."""
    heard: list[Message] = []
    said: list[Message] = []
    any_heard = any_said = False
    for event in span.events:
        attributes = event.attributes
        if event.name == "gen_ai.client.inference.operation.details":
            for key, into in (("gen_ai.input.messages", heard), ("gen_ai.output.messages", said)):
                if key in attributes:
                    into += list(messages(attributes[key]) or ())
                    any_heard, any_said = any_heard or into is heard, any_said or into is said
        elif event.name == "gen_ai.content.completion":
            any_said = True
            said += prompts(attributes, "gen_ai.completion", "assistant") or ()
        elif event.name == "gen_ai.content.prompt":
            any_heard = True
            heard += prompts(attributes, "gen_ai.prompt", "user") or ()
        elif event.name == "gen_ai.choice":
            any_said = True
            said += of_event(attributes, "assistant")
        elif event.name in _EVENT_ROLES:
            any_heard = True
            heard += of_event(attributes, _EVENT_ROLES[event.name])
    return (tuple(heard) if any_heard else None), (tuple(said) if any_said else None)


_EVENT_ROLES = {"gen_ai.user.message": "user", "gen_ai.system.message": "system", "gen_ai.assistant.message": "assistant",
                "gen_ai.tool.message": "tool"}  # fmt: skip


def of_event(attributes: Attributes, role: str) -> list[Message]:
    """The message in one event's attributes."""
    body = attributes.get("content", attributes.get("message"))
    read = loads(body)
    if isinstance(read, list) and any(isinstance(p, dict) for p in read):
        return [message({"role": role, "parts": read, "tool_calls": loads(attributes.get("tool_calls"))})]
    if isinstance(read, dict) and ("content" in read or "parts" in read or "tool_calls" in read):
        return [message({"role": role, **read})]
    if body is None and "tool_calls" not in attributes:
        return [Message(role)]
    return [
        message(
            {
                "role": role,
                "content": body if isinstance(body, str) else _string(body),
                "tool_calls": loads(attributes.get("tool_calls")),
            }
        )
    ]


def strings(value: Iterable[Any] | None) -> tuple[str, ...]:
    """The texts of a list."""
    value = loads(value)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, (list, tuple)) else ()
