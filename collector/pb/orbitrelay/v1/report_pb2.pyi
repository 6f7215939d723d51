import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_CLOSED: _ClassVar[SessionState]
    SESSION_STATE_SUPERSEDED: _ClassVar[SessionState]
    SESSION_STATE_EXPIRED: _ClassVar[SessionState]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_CLOSED: SessionState
SESSION_STATE_SUPERSEDED: SessionState
SESSION_STATE_EXPIRED: SessionState

class Report(_message.Message):
    __slots__ = ("session", "handoffs", "bottlenecks", "notes", "trace_ids")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HANDOFFS_FIELD_NUMBER: _ClassVar[int]
    BOTTLENECKS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TRACE_IDS_FIELD_NUMBER: _ClassVar[int]
    session: Session
    handoffs: _containers.RepeatedCompositeFieldContainer[Handoff]
    bottlenecks: _containers.RepeatedCompositeFieldContainer[Bottleneck]
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    trace_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., handoffs: _Optional[_Iterable[_Union[Handoff, _Mapping]]] = ..., bottlenecks: _Optional[_Iterable[_Union[Bottleneck, _Mapping]]] = ..., notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ..., trace_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "key", "generation", "state", "revision", "close_reason", "partial_reasons", "superseded_by", "opened_at", "closed_at", "first_span_at", "last_span_at", "service", "tenant", "environment", "counts", "contract_name", "contract_hash", "content", "mean_completeness", "mean_contracted_completeness", "grade", "weakest", "name")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CLOSE_REASON_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_REASONS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    OPENED_AT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_AT_FIELD_NUMBER: _ClassVar[int]
    FIRST_SPAN_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SPAN_AT_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_HASH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MEAN_COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    MEAN_CONTRACTED_COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    WEAKEST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    key: SessionKey
    generation: int
    state: SessionState
    revision: int
    close_reason: str
    partial_reasons: _containers.RepeatedScalarFieldContainer[str]
    superseded_by: str
    opened_at: _timestamp_pb2.Timestamp
    closed_at: _timestamp_pb2.Timestamp
    first_span_at: _timestamp_pb2.Timestamp
    last_span_at: _timestamp_pb2.Timestamp
    service: str
    tenant: str
    environment: str
    counts: SessionCounts
    contract_name: str
    contract_hash: str
    content: str
    mean_completeness: float
    mean_contracted_completeness: float
    grade: str
    weakest: WeakestRelay
    name: str
    def __init__(self, session_id: _Optional[str] = ..., key: _Optional[_Union[SessionKey, _Mapping]] = ..., generation: _Optional[int] = ..., state: _Optional[_Union[SessionState, str]] = ..., revision: _Optional[int] = ..., close_reason: _Optional[str] = ..., partial_reasons: _Optional[_Iterable[str]] = ..., superseded_by: _Optional[str] = ..., opened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., closed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_span_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_span_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., service: _Optional[str] = ..., tenant: _Optional[str] = ..., environment: _Optional[str] = ..., counts: _Optional[_Union[SessionCounts, _Mapping]] = ..., contract_name: _Optional[str] = ..., contract_hash: _Optional[str] = ..., content: _Optional[str] = ..., mean_completeness: _Optional[float] = ..., mean_contracted_completeness: _Optional[float] = ..., grade: _Optional[str] = ..., weakest: _Optional[_Union[WeakestRelay, _Mapping]] = ..., name: _Optional[str] = ...) -> None: ...

class WeakestRelay(_message.Message):
    __slots__ = ("handoff_id", "source", "target", "completeness")
    HANDOFF_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    handoff_id: str
    source: str
    target: str
    completeness: float
    def __init__(self, handoff_id: _Optional[str] = ..., source: _Optional[str] = ..., target: _Optional[str] = ..., completeness: _Optional[float] = ...) -> None: ...

class SessionKey(_message.Message):
    __slots__ = ("kind", "value")
    KIND_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    value: str
    def __init__(self, kind: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class SessionCounts(_message.Message):
    __slots__ = ("spans", "log_records", "duplicates", "stale", "late", "handoffs", "dropped_handoffs", "scored_handoffs", "unscored_handoffs", "bottlenecks", "agents", "turns", "tokens")
    SPANS_FIELD_NUMBER: _ClassVar[int]
    LOG_RECORDS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    HANDOFFS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_HANDOFFS_FIELD_NUMBER: _ClassVar[int]
    SCORED_HANDOFFS_FIELD_NUMBER: _ClassVar[int]
    UNSCORED_HANDOFFS_FIELD_NUMBER: _ClassVar[int]
    BOTTLENECKS_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    spans: int
    log_records: int
    duplicates: int
    stale: int
    late: int
    handoffs: int
    dropped_handoffs: int
    scored_handoffs: int
    unscored_handoffs: int
    bottlenecks: int
    agents: int
    turns: int
    tokens: int
    def __init__(self, spans: _Optional[int] = ..., log_records: _Optional[int] = ..., duplicates: _Optional[int] = ..., stale: _Optional[int] = ..., late: _Optional[int] = ..., handoffs: _Optional[int] = ..., dropped_handoffs: _Optional[int] = ..., scored_handoffs: _Optional[int] = ..., unscored_handoffs: _Optional[int] = ..., bottlenecks: _Optional[int] = ..., agents: _Optional[int] = ..., turns: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class Handoff(_message.Message):
    __slots__ = ("handoff_id", "source", "target", "mode", "status", "evidence", "convention", "contracted", "recorded", "redacted", "truncated", "completeness", "grade", "required_fields", "present_fields", "missing_fields", "empty_fields", "extra_fields", "unrecorded_fields", "latency_ms", "reason", "run", "tick", "trace_id", "span_id", "started_at", "ended_at")
    HANDOFF_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CONVENTION_FIELD_NUMBER: _ClassVar[int]
    CONTRACTED_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELDS_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELDS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELDS_FIELD_NUMBER: _ClassVar[int]
    EMPTY_FIELDS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELDS_FIELD_NUMBER: _ClassVar[int]
    UNRECORDED_FIELDS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    TICK_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    handoff_id: str
    source: Agent
    target: Agent
    mode: str
    status: str
    evidence: str
    convention: str
    contracted: bool
    recorded: bool
    redacted: bool
    truncated: bool
    completeness: float
    grade: str
    required_fields: int
    present_fields: _containers.RepeatedScalarFieldContainer[str]
    missing_fields: _containers.RepeatedScalarFieldContainer[str]
    empty_fields: _containers.RepeatedScalarFieldContainer[str]
    extra_fields: _containers.RepeatedScalarFieldContainer[str]
    unrecorded_fields: _containers.RepeatedScalarFieldContainer[str]
    latency_ms: float
    reason: str
    run: str
    tick: int
    trace_id: str
    span_id: str
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    def __init__(self, handoff_id: _Optional[str] = ..., source: _Optional[_Union[Agent, _Mapping]] = ..., target: _Optional[_Union[Agent, _Mapping]] = ..., mode: _Optional[str] = ..., status: _Optional[str] = ..., evidence: _Optional[str] = ..., convention: _Optional[str] = ..., contracted: _Optional[bool] = ..., recorded: _Optional[bool] = ..., redacted: _Optional[bool] = ..., truncated: _Optional[bool] = ..., completeness: _Optional[float] = ..., grade: _Optional[str] = ..., required_fields: _Optional[int] = ..., present_fields: _Optional[_Iterable[str]] = ..., missing_fields: _Optional[_Iterable[str]] = ..., empty_fields: _Optional[_Iterable[str]] = ..., extra_fields: _Optional[_Iterable[str]] = ..., unrecorded_fields: _Optional[_Iterable[str]] = ..., latency_ms: _Optional[float] = ..., reason: _Optional[str] = ..., run: _Optional[str] = ..., tick: _Optional[int] = ..., trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("name", "role")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class Bottleneck(_message.Message):
    __slots__ = ("kind", "subject", "severity", "measured", "threshold", "handoff_ids", "sentence")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    MEASURED_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    HANDOFF_IDS_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    subject: str
    severity: float
    measured: float
    threshold: float
    handoff_ids: _containers.RepeatedScalarFieldContainer[str]
    sentence: str
    def __init__(self, kind: _Optional[str] = ..., subject: _Optional[str] = ..., severity: _Optional[float] = ..., measured: _Optional[float] = ..., threshold: _Optional[float] = ..., handoff_ids: _Optional[_Iterable[str]] = ..., sentence: _Optional[str] = ...) -> None: ...

class Note(_message.Message):
    __slots__ = ("code", "message", "where")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    where: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., where: _Optional[str] = ...) -> None: ...
