import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from collector.pb.orbitrelay.v1 import report_pb2 as _report_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_ORDER_UNSPECIFIED: _ClassVar[SessionOrder]
    SESSION_ORDER_RECENT: _ClassVar[SessionOrder]
    SESSION_ORDER_WEAKEST: _ClassVar[SessionOrder]
SESSION_ORDER_UNSPECIFIED: SessionOrder
SESSION_ORDER_RECENT: SessionOrder
SESSION_ORDER_WEAKEST: SessionOrder

class ListSessionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "filter", "order")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    filter: SessionFilter
    order: SessionOrder
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., filter: _Optional[_Union[SessionFilter, _Mapping]] = ..., order: _Optional[_Union[SessionOrder, str]] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[_report_pb2.Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[_report_pb2.Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SessionFilter(_message.Message):
    __slots__ = ("service", "role", "grade", "close_reason", "since", "until", "text", "partial")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    CLOSE_REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    service: str
    role: str
    grade: str
    close_reason: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    text: str
    partial: bool
    def __init__(self, service: _Optional[str] = ..., role: _Optional[str] = ..., grade: _Optional[str] = ..., close_reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ..., partial: _Optional[bool] = ...) -> None: ...

class GetTraceRequest(_message.Message):
    __slots__ = ("session_id", "revision")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    revision: int
    def __init__(self, session_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class GetTraceResponse(_message.Message):
    __slots__ = ("trace_json",)
    TRACE_JSON_FIELD_NUMBER: _ClassVar[int]
    trace_json: bytes
    def __init__(self, trace_json: _Optional[bytes] = ...) -> None: ...

class GetReportRequest(_message.Message):
    __slots__ = ("session_id", "revision")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    revision: int
    def __init__(self, session_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class GetReportResponse(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: _report_pb2.Report
    def __init__(self, report: _Optional[_Union[_report_pb2.Report, _Mapping]] = ...) -> None: ...

class GetDossierRequest(_message.Message):
    __slots__ = ("session_id", "revision")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    revision: int
    def __init__(self, session_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class GetDossierResponse(_message.Message):
    __slots__ = ("markdown",)
    MARKDOWN_FIELD_NUMBER: _ClassVar[int]
    markdown: str
    def __init__(self, markdown: _Optional[str] = ...) -> None: ...

class WatchReportsRequest(_message.Message):
    __slots__ = ("after",)
    AFTER_FIELD_NUMBER: _ClassVar[int]
    after: int
    def __init__(self, after: _Optional[int] = ...) -> None: ...

class WatchReportsResponse(_message.Message):
    __slots__ = ("sequence", "report")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    report: _report_pb2.Report
    def __init__(self, sequence: _Optional[int] = ..., report: _Optional[_Union[_report_pb2.Report, _Mapping]] = ...) -> None: ...

class DeleteSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class DeleteSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
