"""The ids of all spans of a protobuf request at once, without a Python object for each span.

Separate from the decoder because it reads by another schema. Protobuf merges a singular message that occurs many times:
repeated fields in it are joined (https://protobuf.dev/programming-guides/encoding/#last-one-wins). So with every
message of OTLP's trace request made singular, and the three ids made repeated, the C parser checks the whole request as
strictly as by the true schema (each field, UTF-8, nesting; a merge refuses nothing and forgives nothing), and gives the
ids as three columns. By a third schema, in which a span is bytes, it gives where each span begins.

Rules:
- the schemas are derived from the official descriptors, so what a later OTLP adds is checked, too;
- what is answered is proven: a span begins with a trace id and a span id of the right sizes, as every encoder that writes
  fields in the order of their numbers has it, and there are no more ids than spans. Any doubt is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from collector.otlp.values import SPAN_ID_BYTES, TRACE_ID_BYTES

_TRACE_ID = bytes((1 << 3 | 2, TRACE_ID_BYTES))  # tag and length of field 1 as they stand before a trace id
_SPAN_ID = bytes((2 << 3 | 2, SPAN_ID_BYTES))
_SECOND = len(_TRACE_ID) + TRACE_ID_BYTES
_THIRD = _SECOND + len(_SPAN_ID) + SPAN_ID_BYTES
_IDS = _THIRD + 2 + SPAN_ID_BYTES  # a span that has times is longer, also one without a parent
_ZEROS = bytes(SPAN_ID_BYTES)
_NO_IDS = (_TRACE_ID + bytes(TRACE_ID_BYTES), _SPAN_ID + bytes(SPAN_ID_BYTES))
_PARENT_ID = 4 << 3 | 2  # tag
_PARENT_SIZES = frozenset((0, SPAN_ID_BYTES))  # the Collector writes the empty id of a root, too
_NOT_OF_A_PARENT = bytes(0xFF & ~SPAN_ID_BYTES if tag == _PARENT_ID else 0 for tag in range(256))
"""By tag, the bits that no length of a parent's id has: 0 and 8 differ in one bit."""
_COLUMNS = ("trace_id", "span_id", "parent_span_id")

_beginning = itemgetter(slice(0, _IDS))


def count_spans(body: bytes) -> int | None:
    """How many spans a trace request holds, where all their ids are usable; None where that is not certain, or it cannot
    be read."""
    try:
        ids = _merged(body).resource_spans.scope_spans.spans
    except DecodeError:
        return None
    spans = _split(body).resource_spans.scope_spans.spans[:]
    count = len(spans)
    if len(ids.trace_id) != count or len(ids.span_id) != count:
        return None
    begins = b"".join(map(_beginning, spans))
    if len(begins) != count * _IDS:
        return None
    if _ZEROS in begins and any(id_ in begins for id_ in _NO_IDS):  # the first is found, or not, at the speed of memory
        return None
    for at, byte in ((0, _TRACE_ID[0]), (1, _TRACE_ID[1]), (_SECOND, _SPAN_ID[0]), (_SECOND + 1, _SPAN_ID[1])):
        if begins[at::_IDS] != bytes((byte,)) * count:
            return None
    if (
        _parents_in_place(begins) != len(ids.parent_span_id)
        and not set(map(len, ids.parent_span_id[:])) <= _PARENT_SIZES
    ):
        return None
    return count


def _parents_in_place(begins: bytes) -> int | None:
    """How many spans name a parent right behind their own ids; None where one there has no id of the right size, nor none."""
    tags, lengths = begins[_THIRD::_IDS], begins[_THIRD + 1 :: _IDS]
    wrong = int.from_bytes(tags.translate(_NOT_OF_A_PARENT), "big")
    return None if int.from_bytes(lengths, "big") & wrong else tags.count(_PARENT_ID)


def _reader(change: Callable[[DescriptorProto, FieldDescriptorProto], None]) -> Callable[[bytes], Any]:
    """A parser of trace requests by a schema of which every field was changed."""
    pool = descriptor_pool.DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            for field in message.field:
                change(message, field)
        pool.Add(file)
    name = trace_service_pb2.ExportTraceServiceRequest.DESCRIPTOR.full_name
    parse: Callable[[bytes], Any] = message_factory.GetMessageClass(pool.FindMessageTypeByName(name)).FromString
    return parse


def _merge(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    if field.type == FieldDescriptorProto.TYPE_MESSAGE:
        field.label = FieldDescriptorProto.LABEL_OPTIONAL
    elif message.name == "Span" and field.name in _COLUMNS:
        field.label = FieldDescriptorProto.LABEL_REPEATED


def _part(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    if message.name == "ScopeSpans" and field.name == "spans":
        field.type = FieldDescriptorProto.TYPE_BYTES
        field.ClearField("type_name")
    else:
        _merge(message, field)


_merged, _split = _reader(_merge), _reader(_part)
