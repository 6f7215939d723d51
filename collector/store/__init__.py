"""The store: sessions, facts, reports, metric state and the outbox, in one SQLite file."""

from collector.store.reports import PageTokenError
from collector.store.rows import (
    Committed,
    Deleted,
    OutboxStats,
    Page,
    RevisionRow,
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
    "OutboxStats",
    "Page",
    "PageTokenError",
    "RevisionRow",
    "SessionFilter",
    "SessionRow",
    "Store",
    "StoreError",
    "StoreStats",
    "Stored",
]
