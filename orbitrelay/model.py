"""The trace as frozen data: agents, turns, context fields, handoffs, contracts, and the trace that holds them.

Separate from the loader because the collector and tests build traces too, and because what is known must be told
apart from what is not:

- `ABSENT` is an optional key that the document does not have; `None` is a JSON null, which always means "not
  recorded";
- an optional key with a default holds its effective value, and `stated` names those given though they equal the
  default;
- `extra` holds unknown keys with their values, which are written back;
- lists of the document are tuples here; JSON values (`ContextField.value`, `metadata`, `extra`) are plain JSON data
  in which a number with a fraction or an exponent is a `Number`. Nothing here may be changed once it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final, Literal

from .exact import Number

Json = Any
"""JSON data: None, bool, int, `Number`, str, list and dict of them."""


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent.ABSENT
"""An optional key that is not there."""

NO_EXTRA: Final[Mapping[str, Json]] = {}
"""The `extra` of a record without unknown keys; shared, so never to be changed."""

ACCEPTS: Final = ("carried", "visible")
STATES: Final = ("full", "redacted", "truncated")
SEEN_IN: Final = ("history",)
STATUSES: Final = ("completed", "dropped")
MODES: Final = ("transfer", "delegate", "return")
EVIDENCE: Final = ("explicit", "structural", "inferred")
SCHEMA_VERSION: Final = 1


class Outcome(StrEnum):
    """What inspection says of one field name at one handoff."""

    PRESENT = "PRESENT"
    EMPTY = "EMPTY"
    MISSING = "MISSING"
    EXTRA = "EXTRA"
    UNRECORDED = "UNRECORDED"


@dataclass(frozen=True, slots=True)
class Agent:
    """One participant."""

    agent_id: str
    role: str
    capabilities: tuple[str, ...] = ()
    model: str | Absent = ABSENT
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn by direction; None where one was not recorded."""

    input_tokens: int | None
    output_tokens: int | None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of an agent."""

    turn_id: str
    agent_id: str
    tick: int
    text: str | None
    """None: not recorded."""
    tokens: int | None
    """Input and output together. None: not recorded."""
    usage: Usage | Absent = ABSENT
    run: str | Absent = ABSENT
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContextField:
    """One named piece of context that a handoff carried."""

    name: str
    kind: str
    value: Json
    required: bool | Absent = ABSENT
    """What the producer thought; it decides nothing, the contract does."""
    state: str = "full"
    """One of `STATES`; when not `full`, value is the marker, the hash or the cut text."""
    seen_in: str | Absent = ABSENT
    """`history`: not passed at this handoff, only visible to the target in what earlier ones left."""
    stated: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a handoff was found."""

    trace_id: str
    span_id: str
    convention: str
    mode: str
    """One of `MODES`."""
    evidence: str
    """One of `EVIDENCE`."""
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Handoff:
    """Control passing from one agent to another."""

    handoff_id: str
    source_agent: str
    target_agent: str
    tick: int
    reason: str
    latency_ms: int | Number | None
    """Milliseconds, 0 to 1e15. None: not known."""
    fields: tuple[ContextField, ...] = ()
    recorded: bool = True
    """False: nothing that could hold its content was captured."""
    redacted: bool = False
    truncated: bool = False
    status: str = "completed"
    """One of `STATUSES`; `dropped`: asked for and never taken up, or refused."""
    run: str | Absent = ABSENT
    """Its causal run; the handoffs without one make one run of their own."""
    origin: Origin | Absent = ABSENT
    stated: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def mode(self) -> str | None:
        """The mode of its origin, or None when the document does not say."""
        return self.origin.mode if isinstance(self.origin, Origin) else None

    @property
    def is_return(self) -> bool:
        """Whether it is the answer of a delegate going back."""
        return isinstance(self.origin, Origin) and self.origin.mode == "return"

    @property
    def is_dropped(self) -> bool:
        """Whether it was asked for and never taken up."""
        return self.status == "dropped"


@dataclass(frozen=True, slots=True)
class RoleContract:
    """What one target role must be handed."""

    fields: tuple[str, ...]
    accept: str = "carried"
    """One of `ACCEPTS`; `visible`: what the target sees in the history counts as handed."""
    as_object: bool = False
    """Whether the document states it as `{fields, accept}`, not as a list of names."""
    stated: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandoffTrace:
    """One session: who took part, what they said, and each handoff in relay order, which is the document's."""

    trace_id: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    contract: Mapping[str, RoleContract] = field(default_factory=dict)
    """Target role -> contract; `<role>.return` for answers going back to that role."""
    agents: tuple[Agent, ...] = ()
    turns: tuple[Turn, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    schema_version: int | Absent = ABSENT
    extra: Mapping[str, Json] = field(default_factory=dict)
