"""An OTLP request in JSON as the protobuf message it stands for, whole: what a downstream gets of requests sent as JSON.

Separate from the decoders, which keep only what recovery reads. OTLP's JSON differs from protobuf's own in its ids,
which are hex: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. Driven by the message descriptors, so
that a new field of OTLP needs no change here.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, TypeVar

import msgspec
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

_Message = TypeVar("_Message", bound=Message)

MAX_DEPTH = 95
"""Deepest message filled in; protobuf itself reads and writes no more than 100."""
_UNFIT = (ValueError, TypeError, KeyError, OverflowError, AttributeError)
_HEX = frozenset({"trace_id", "span_id", "parent_span_id"})
_INTEGERS = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    }
)
_FLOATS = frozenset({FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT})


def from_json(body: bytes, message: _Message) -> _Message:
    """Fill `message` from OTLP JSON and return it.

    Unknown keys are left out, field names may be in snake_case, integers and floats may be text, enums may be names. A
    value that its field cannot hold is left out too: the request was accepted, and the rest of it goes on. Raises
    ValueError for what is no JSON object.
    """
    try:
        data = msgspec.json.decode(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, got {type(data).__name__}")
    _fill(message, data, 0)
    return message


def _fill(message: Message, data: dict[str, Any], depth: int) -> None:
    if depth > MAX_DEPTH:
        return
    fields = _fields(message.DESCRIPTOR)
    for key, value in data.items():
        field = fields.get(key)
        if field is None or value is None:
            continue
        if not field.is_repeated:
            _put(message, field, value, depth)
        elif isinstance(value, list):
            _extend(getattr(message, field.name), field, value, depth)


def _put(message: Message, field: FieldDescriptor, value: Any, depth: int) -> None:
    if field.message_type is not None:
        if isinstance(value, dict):
            inner = getattr(message, field.name)
            inner.SetInParent()
            _fill(inner, value, depth + 1)
        return
    try:
        setattr(message, field.name, _scalar(field, value))
    except _UNFIT:
        return


def _extend(container: Any, field: FieldDescriptor, values: list[Any], depth: int) -> None:
    for value in values:
        if field.message_type is not None:
            if isinstance(value, dict):
                _fill(container.add(), value, depth + 1)
            continue
        try:
            container.append(_scalar(field, value))
        except _UNFIT:
            continue


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes.fromhex(value) if field.name in _HEX else base64.b64decode(value + "=" * (-len(value) % 4))
    if field.cpp_type in _INTEGERS:
        return value if isinstance(value, int) else int(float(value)) if isinstance(value, float) else int(value)
    if field.cpp_type in _FLOATS:
        return float(value)
    if field.enum_type is not None:
        return value if isinstance(value, int) else _enum(field.enum_type, value)
    return value


def _enum(enum: EnumDescriptor, value: str) -> int:
    return int(value) if value.isdigit() else enum.values_by_name[value].number


@cache
def _fields(descriptor: Descriptor) -> dict[str, FieldDescriptor]:
    return {name: field for field in descriptor.fields for name in (field.json_name, field.camelcase_name, field.name)}
