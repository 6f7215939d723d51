"""What the store answers with: rows of lists, pages, and the filter that chooses them.

Separate from the queries so that the API, the page and the query service need no SQL to know what they get.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from collector.sessions.keys import SessionKey

Order = Literal["recent", "weakest"]


class SessionFilter(msgspec.Struct, frozen=True):
    """Which sessions to list; "" and None choose all.

    `since_ns` (inclusive) and `until_ns` (exclusive) are of the close. `text`: found in the key, the service, agents,
    roles or field names that went missing; case does not count. `role`: source or target of a handoff, or an agent's.
    """

    service: str = ""
    role: str = ""
    grade: str = ""
    reason: str = ""
    text: str = ""
    since_ns: int | None = None
    until_ns: int | None = None
    partial: bool | None = None
    order: Order = "recent"


class SessionRow(msgspec.Struct, frozen=True):
    """One session in a list. Of a session never reported (`revision` 0) only the key, state and times are known."""

    session_id: str
    key: SessionKey
    generation: int
    state: str  # open | closed | superseded | expired (reported, and its facts are gone)
    revision: int = 0
    superseded_by: str = ""
    close_reason: str = ""
    opened_ns: int = 0
    closed_ns: int = 0
    first_span_ns: int = 0
    last_span_ns: int = 0
    service: str = ""
    tenant: str = ""
    environment: str = ""
    partial: tuple[str, ...] = ()
    spans: int = 0
    agents: int = 0
    roles: tuple[str, ...] = ()
    handoffs: int = 0
    dropped: int = 0
    scored: int = 0
    unscored: int = 0
    mean_score: float | None = None
    mean_contracted: float | None = None
    grade: str = ""
    weakest_handoff: str = ""
    weakest_source: str = ""
    weakest_target: str = ""
    weakest_score: float | None = None
    bottlenecks: int = 0
    turns: int = 0
    tokens: int | None = None
    contract_name: str = ""
    contract_hash: str = ""

    @property
    def name(self) -> str:
        """The key's value, `~N` behind it from the second session of that key on."""
        return self.key.value if self.generation == 1 else f"{self.key.value}~{self.generation}"


class Page(msgspec.Struct, frozen=True):
    """A page of a list. `next_token` "": it is the last."""

    rows: tuple[SessionRow, ...]
    next_token: str


class RevisionRow(msgspec.Struct, frozen=True):
    """One report of a session. `sequence` orders all reports of the store."""

    session_id: str
    revision: int
    sequence: int
    close_reason: str
    closed_ns: int
    partial: tuple[str, ...]
    mean_score: float | None
    grade: str
    spans: int


class Committed(msgspec.Struct, frozen=True):
    """A report that was committed. `sequence` may be given to `watch` to go on from it."""

    sequence: int
    session_id: str
    revision: int


class Moment(msgspec.Struct, frozen=True):
    """One point of a series: from `start_ns` on, the mean completeness of `scored` handoffs."""

    start_ns: int
    mean: float
    scored: int


class PairTotals(msgspec.Struct, frozen=True):
    """The handoffs from one role to another. `scored` and `mean` are of those held against a contract.

    Every other handoff is in exactly one of the counts that follow; the last four are `orbitrelay.UNSCORED_REASONS`.
    """

    source_role: str
    target_role: str
    handoffs: int
    scored: int
    mean: float | None
    without_contract: int
    dropped: int
    not_recorded: int
    return_without_contract: int
    unrecorded_field: int
    moments: tuple[Moment, ...] = ()


class FieldTotals(msgspec.Struct, frozen=True):
    """How often a field that a role's contract requires was asked for, and did not arrive."""

    target_role: str
    field: str
    required: int
    missing: int
    empty: int
    unrecorded: int


class RoleContractUse(msgspec.Struct, frozen=True):
    """How many handoffs to a role (`returns`: of answers going back to it) a contract was applied to; "" is none."""

    target_role: str
    returns: bool
    contract: str
    handoffs: int


class RolesView(msgspec.Struct, frozen=True):
    """Totals by role. `pairs` may be a part of `pairs_in_all`; `whole` is the sum over all of them."""

    pairs: tuple[PairTotals, ...]
    pairs_in_all: int
    whole: PairTotals
    fields: tuple[FieldTotals, ...]
    contracts: tuple[RoleContractUse, ...]


class Known(msgspec.Struct, frozen=True):
    """Values that sessions can be filtered by."""

    services: tuple[str, ...]
    roles: tuple[str, ...]


class OutboxStats(msgspec.Struct, frozen=True):
    """What waits for one destination, and what it refused for good (parked)."""

    destination: str
    waiting: int
    waiting_bytes: int
    parked: int
    parked_bytes: int
    oldest_ns: int


class StoreStats(msgspec.Struct, frozen=True):
    """The store in numbers. `bytes_used` leaves out pages that are free for reuse."""

    bytes_used: int
    bytes_file: int
    sessions: int
    open_sessions: int
    reports: int
    due: int


class Deleted(msgspec.Struct, frozen=True):
    """What a deletion took: session ids, and the file stems that they had claimed."""

    sessions: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
