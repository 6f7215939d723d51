"""The store: sessions, facts, reports, metric state and the outbox, in one SQLite file."""

from collector.store.reports import PageTokenError
from collector.store.rows import (
    Committed,
    Deleted,
    FieldTotals,
    Known,
    Moment,
    OutboxStats,
    Page,
    PairTotals,
    RevisionRow,
    RoleContractUse,
    RolesView,
    SessionFilter,
    SessionRow,
    StoreStats,
)
from collector.store.schema import StoreError
from collector.store.store import Checkpoint, Store, Stored

__all__ = [
    "Checkpoint",
    "Committed",
    "Deleted",
    "FieldTotals",
    "Known",
    "Moment",
    "OutboxStats",
    "Page",
    "PageTokenError",
    "PairTotals",
    "RevisionRow",
    "RoleContractUse",
    "RolesView",
    "SessionFilter",
    "SessionRow",
    "Store",
    "StoreError",
    "StoreStats",
    "Stored",
]
