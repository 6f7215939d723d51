"""What the mappers find in spans: facts, each true of one span alone.

Separate from the graph so that a framework is one mapper file that knows no other, and a session can be kept as its facts: they are all
that recovery reads, they are small, and they encode to bytes.

Rules:
- a fact never needs another span: whatever takes a tree, an order or a session is the graph's work;
- content stands as it was recorded (text, or the JSON value it was recorded as); reading fields out of it is the graph's work;
- content that was not recorded is None; content that was recorded and is empty is a `Content` with an empty value.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from collector.facts import values

Mode = Literal["", "transfer", "delegate", "return"]


class Content(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Content as a span recorded it. `value` is text or a JSON value; `truncated`: the producer said that it cut it."""

    value: Any = None
    truncated: bool = False

    def __post_init__(self) -> None:
        """Hold only what JSON can say: attributes may be bytes, or numbers that are none."""
        if not isinstance(self.value, str) and self.value is not None:
            msgspec.structs.force_setattr(self, "value", values.plain(self.value))


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one model call, or the total that an agent span gives. None: not recorded."""

    input: int | None = None
    output: int | None = None


class Call(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call as a model's answer asks for it."""

    name: str
    id: str = ""
    arguments: Content | None = None


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One message of a model call. `text` None: the message has no text part. `cut`: a length limit fell in it, or before what followed."""

    role: str = ""
    text: str | None = None
    name: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""  # of a tool's answer: the call it answers
    cut: bool = False


class Visit(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="visit"):
    """The span is a run of an agent, from its start until it gives control away.

    `layer` tells spans apart that one producer makes side by side for one run (a node and the agent in it).
    `soft`: a visit only if it does an agent's work (a model call below it), or is named as an agent elsewhere.
    `wraps`: may be a workflow around agents: no visit if other visits stand in it and it makes no model or tool call itself.
    `named`: the program must give the name, so it is one even where it reads like another producer's default ("Agent").
    `flat`: the producer shows a callee beside its caller: the tool call in whose time the run lies called it.
    `team`: a group that the producer gives by id, whose runs are one causal run though nothing links their traces.
    `quotes`: `input` holds in full the words that earlier runs passed to it: it comes from those, and from no other.
    `one_way`: control that this producer's agents give away by a call never comes back by itself: who had it last is not waiting.
    `broadcast`: what any run of the team says reaches this one, but only the last to speak is named as its cause: who ran beside that one counts, too.
    `circle`: the group that this run belongs to: of those in it that run for one caller only the first was called, and each goes on from others.
    `leads`: a turn of a manager: whom it asks answers to it, and it goes on in its next turn.
    `executes`: no agent's run: it runs the calls that others asked for, and each belongs to who asked.
    `steps`: the run has no span of its own: from this one on the spans beside it are its, until another such run begins there.
    `by_span`: no attribute names the agent; the first alias does, or the span's own name, unless agents that are named run below it.
    `by_call`: the span names no agent: the run is called as the tool call that it stands in, or, where it stands in none, so.
    `by_tool`: agents of this producer call others by tools alone: of a run in another's with no tool between the program asked (to check an input).
    `asks`: a workflow that is an agent's run only where other agents run in its own tool calls, or none at all in it.
    `leaks`: the producer may leave the run's context open: a span below it that begins after its end is the run's around it.
    """

    name: str = ""
    agent_id: str = ""
    role: str = ""
    aliases: tuple[str, ...] = ()
    layer: str = ""
    input: Content | None = None
    output: Content | None = None
    heard: tuple[Message, ...] | None = None
    said: tuple[Message, ...] | None = None
    state: Content | None = None  # what the run wrote to a state shared by all (a graph's update)
    model: str = ""
    usage: Usage | None = None
    peers: tuple[str, ...] = ()
    came_from: str = ""  # the agent that handed over, where the span itself says so
    called_by: str = ""  # the agent that waits for the answer, where the span itself says so
    step: int | None = None  # the producer's own order among the runs under one parent span
    after: tuple[str, ...] = ()  # the agents (or other steps) that this run waited for, where the span itself says so
    soft: bool = False
    wraps: bool = False
    named: bool = False
    flat: bool = False
    team: str = ""
    circle: str = ""
    quotes: bool = False
    leads: bool = False
    leaks: bool = False
    broadcast: bool = False
    executes: bool = False
    steps: bool = False
    one_way: bool = False
    by_span: bool = False
    asks: bool = False
    by_call: str = ""
    by_tool: bool = False


class ModelCall(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="model"):
    """The span is a call of a model. `heard` and `said` None: messages not recorded."""

    model: str = ""
    agent: str = ""
    usage: Usage | None = None
    heard: tuple[Message, ...] | None = None
    said: tuple[Message, ...] | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="tool"):
    """The span is the run of a tool.

    `target`: the agent that the call names (in an argument or metadata), or "".
    `certain`: the producer marks this tool as one that hands over; a name that merely reads so is not enough.
    `plain`: the producer marks its handing-over tools, and this is none: its name counts for nothing.
    `runs_target`: the tool's span stands for the target's run where no visit stands below it.
    `failed`: the producer says that the call was refused or broke.
    `broken_off`: the call waits for a person, and is made once more when the run is resumed.
    `to_all`: the call asks every agent that then runs below the caller, and no later call asks for.
    `loose`: `target` is a step of the program, called like the agent in it or not: where no agent has that name, who runs next is meant.
    """

    name: str = ""
    call_id: str = ""
    agent: str = ""
    arguments: Content | None = None
    result: Content | None = None
    target: str = ""
    mode: Mode = ""
    certain: bool = False
    plain: bool = False
    runs_target: bool = False
    failed: bool = False
    loose: bool = False
    to_all: bool = False
    broken_off: bool = False


class Transfer(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="transfer"):
    """The span says by itself that control goes (or was to go) from one agent to another.

    `source` "": the agent whose run the span stands in. `target` "": not said; whoever runs next.
    `call`: the name of the model's tool call behind it, where known. `stated`: the content is all that was passed, by the producer's own word.
    """

    source: str = ""
    target: str = ""
    mode: Mode = "transfer"
    content: Content | None = None
    reason: str = ""
    call_id: str = ""
    call: str = ""
    stated: bool = False
    failed: bool = False
    weak: bool = False  # a delivery that counts only if the target then runs
    evidence: Literal["explicit", "structural"] = "explicit"


class Envelope(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="envelope"):
    """The span delivers a message between agents: content for a handoff that is seen elsewhere, never a handoff by itself.

    `id` and `cause`: the message's own id and that of the message it answers: the runs that it starts were caused by those of the other.
    """

    source: str = ""
    target: str = ""
    content: Content | None = None
    id: str = ""
    cause: str = ""


class Transcript(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="transcript"):
    """The span tells what a run below it was given and what calls it made: the n-th that names an agent is that agent's n-th run there.

    For producers that give a workflow's span the words of the runs in it, and their own spans none. `given`: as `Visit.input` that `quotes`.
    `result`: as `Visit.output`. `after`: as `Visit.after`.
    """

    agent: str = ""
    given: Content | None = None
    calls: tuple[ToolCall, ...] = ()
    result: Content | None = None
    after: tuple[str, ...] = ()


class Known(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="known"):
    """Names that are agents' names, whether they run or not. `ids`: id -> name."""

    names: tuple[str, ...] = ()
    ids: dict[str, str] = {}


Fact = Visit | ModelCall | ToolCall | Transfer | Envelope | Transcript | Known


class SpanFacts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """All that is kept of one span (or of one log record that is tied to a span: `log`)."""

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    kind: int = 0  # OTLP span kind
    start_ns: int = 0
    end_ns: int = 0
    service: str = ""
    instance: str = ""  # which process of the service, as far as its resource tells, else which host: one clock
    scope: dict[str, str] = {}  # tenant and environment, where configured
    resource: dict[str, Any] = {}  # what contracts match on; agent spans only
    session_keys: dict[str, str] = {}
    causes: tuple[tuple[str, str], ...] = ()  # links that mean causality: (trace id, span id)
    convention: str = ""
    facts: tuple[Fact, ...] = ()
    error: bool = False
    log: bool = False
    ends_session: bool = False
    sampled: bool = False  # it says that others like it were left out

    @property
    def has_visit(self) -> bool:
        """Whether an agent may run here (what `recover` makes of it can still be that none does)."""
        return any(isinstance(f, Visit) or (isinstance(f, ToolCall) and f.runs_target) for f in self.facts)

    @property
    def richness(self) -> tuple[bool, int]:
        """Orders two versions of one span: one that has ended beats one that has not, then the one that says more."""
        return (self.end_ns != 0, len(msgspec.msgpack.encode(self)))


class Facts(msgspec.Struct, frozen=True, gc=False):
    """The facts of one request, in its order."""

    spans: tuple[SpanFacts, ...] = ()

    def to_bytes(self) -> bytes:
        return _ENCODER.encode(self.spans)

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what `to_bytes` wrote. Raises `msgspec.DecodeError` on anything else."""
        return cls(_DECODER.decode(data))


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(tuple[SpanFacts, ...])
