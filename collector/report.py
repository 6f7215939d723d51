"""What one revision of one session says, and what is to be emitted for it: the values that pass between the stages.

Separate from the pipeline that makes reports, the store that keeps them and the emitters that read them, so that none
of the three knows another.

Rules:
- a Report is whole: whoever has one needs neither the facts nor the store;
- what depends on arrival (revision, close reason, partial, counts) stands in the report, never in its trace document;
- unknown is None, or "" where a name is expected; a number is never a placeholder.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from collector.otlp.model import Batch
from collector.sessions.keys import SessionKey

Signal = Literal["traces", "logs"]
Encoding = Literal["protobuf", "json"]
ContentPolicy = Literal["full", "hashed", "names"]


class Note(msgspec.Struct, frozen=True):
    """A remark about how the session was read. `code` is from the table of the stage that made it."""

    code: str
    message: str
    where: str = ""


class HandoffRow(msgspec.Struct, frozen=True):
    """One handoff's verdict.

    `unscored` is a key of `orbitrelay.UNSCORED_REASONS` where there is no score, else "".
    Times in ns since the epoch: from the request to the start of the target where the latency is known, else those of
    the origin span; 0 where unknown.
    """

    handoff_id: str
    source_agent: str
    source_role: str
    target_agent: str
    target_role: str
    mode: str = "transfer"
    status: str = "completed"
    evidence: str = ""
    convention: str = ""
    contracted: bool = False
    recorded: bool = True
    redacted: bool = False
    truncated: bool = False
    score: float | None = None
    grade: str = ""
    required: int = 0
    present_fields: tuple[str, ...] = ()
    missing_fields: tuple[str, ...] = ()
    empty_fields: tuple[str, ...] = ()
    extra_fields: tuple[str, ...] = ()
    unrecorded_fields: tuple[str, ...] = ()
    latency_ms: float | None = None
    reason: str = ""
    run: str = ""
    tick: int = 0
    trace_id: str = ""
    span_id: str = ""
    start_ns: int = 0
    end_ns: int = 0
    unscored: str = ""


class BottleneckRow(msgspec.Struct, frozen=True):
    """One bottleneck. `handoffs` are the ids behind it; `sentence` says it in plain language."""

    kind: str
    subject: str
    severity: float
    measured: float
    threshold: float
    handoffs: tuple[str, ...] = ()
    sentence: str = ""


class Report(msgspec.Struct, frozen=True):
    """One revision of one session. `partial` is empty for a whole session; `superseded_by` is "" while it stands.

    `dossier`: where it was wanted with the report; the store does not keep it, since the trace document says it all.
    """

    session_id: str
    key: SessionKey
    generation: int
    revision: int
    close_reason: str
    opened_ns: int
    closed_ns: int
    trace_json: bytes
    report_json: bytes
    partial: tuple[str, ...] = ()
    superseded_by: str = ""
    first_span_ns: int = 0
    last_span_ns: int = 0
    resource: dict[str, Any] = {}  # attributes of the resource that the contract was chosen by
    service: str = ""
    tenant: str = ""
    environment: str = ""
    spans: int = 0
    logs: int = 0
    duplicates: int = 0
    stale: int = 0
    late: int = 0
    contract_name: str = ""
    contract_hash: str = ""
    content: ContentPolicy = "full"
    traces: tuple[str, ...] = ()
    mean_score: float | None = None
    mean_contracted: float | None = None
    grade: str = ""
    scored: int = 0
    unscored: int = 0
    weakest_handoff: str = ""
    agents: int = 0
    roles: tuple[str, ...] = ()
    turns: int = 0
    tokens: int | None = None
    handoffs: tuple[HandoffRow, ...] = ()
    bottlenecks: tuple[BottleneckRow, ...] = ()
    notes: tuple[Note, ...] = ()
    dossier: str = ""

    @property
    def name(self) -> str:
        """The key's value, `~N` behind it from the second session of that key on; what files are named after."""
        return self.key.value if self.generation == 1 else f"{self.key.value}~{self.generation}"

    def to_bytes(self) -> bytes:
        """Encode for the store (msgpack)."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def from_bytes(data: bytes) -> Report:
        """Decode what `to_bytes` made. Raises msgspec.DecodeError."""
        return _REPORT.decode(data)


_REPORT = msgspec.msgpack.Decoder(Report)


class Exemplar(msgspec.Struct, frozen=True):
    """One measurement and where it was made."""

    value: float
    time_ns: int
    trace_id: str
    span_id: str


class MetricDelta(msgspec.Struct, frozen=True):
    """What one instrument's series takes: an amount added to a counter, or one sample of a histogram."""

    instrument: str
    attributes: tuple[tuple[str, str | bool], ...]
    value: float | int
    exemplar: Exemplar | None = None


class OutboxEntry(msgspec.Struct, frozen=True):
    """Something to deliver. `id` is derived from what it says, so putting it twice delivers it once.

    kind `file`: `payload` is the content of the file `name`; else an OTLP export request (protobuf) of that signal.
    """

    id: str
    destination: str
    kind: Literal["traces", "logs", "metrics", "file"]
    payload: bytes
    name: str = ""


class PreviousState(msgspec.Struct, frozen=True):
    """What this session, and all that it superseded, has given before: samples taken, and the last verdicts by handoff id."""

    sampled: frozenset[str] = frozenset()
    handoffs: Mapping[str, HandoffRow] = {}
    revision: int = 0


class Emission(msgspec.Struct, frozen=True):
    """What a report gives outward. `sampled`: marks that the session keeps, opaque to the store."""

    metrics: tuple[MetricDelta, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    sampled: tuple[str, ...] = ()


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in the journal: segment number and byte offset. Positions grow in the order of acceptance."""

    segment: int = 0
    offset: int = 0


class Record(msgspec.Struct, frozen=True):
    """One accepted request as it was received, uncompressed. `position` is where it begins, `end` where the next does."""

    signal: Signal
    encoding: Encoding
    body: bytes
    received_ns: int
    tenant: str = ""
    position: Position = Position()
    end: Position = Position()


class Emitter(Protocol):
    """Decides what a report gives outward. Pure and quick: it runs inside the store's write transaction."""

    def plan(self, report: Report, previous: PreviousState) -> Emission:
        """Return the emission of one revision."""


class NoEmitter:
    """Emits nothing."""

    def plan(self, report: Report, previous: PreviousState) -> Emission:
        """Return an empty emission."""
        return Emission()


class Forwarder(Protocol):
    """Passes received telemetry on. Called on the engine's intake thread, in the order of acceptance.

    What it returns is put into the outbox in the transaction that moves the journal's position past the record.
    """

    def on_record(self, record: Record, batch: Batch, visited: Container[str], replay: bool) -> Sequence[OutboxEntry]:
        """Take one request. `visited`: trace ids known to hold an agent visit, those of this request included.

        `replay`: sessions had it before a restart; ids of entries that were delivered then are known to the outbox.
        """

    def on_discarded(self, trace_ids: Sequence[str]) -> Sequence[OutboxEntry]:
        """Learn of traces that were closed without any agent visit."""

    def on_report(self, report: Report) -> Sequence[OutboxEntry]:
        """Learn of a report, before it is committed."""

    def wanted(self, now_ns: int) -> Sequence[str]:
        """Return traces of which something is held that must go soon: the verdicts so far are wanted."""

    def on_glimpse(self, report: Report) -> None:
        """Learn the verdicts so far of a session that is still open."""

    def on_tick(self, now_ns: int) -> Sequence[OutboxEntry]:
        """Give up what was held long enough."""

    def held_from(self) -> Position | None:
        """Return the place of the oldest request still held: the journal keeps it, and a restart replays from it."""
