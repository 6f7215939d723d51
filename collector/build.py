"""From options to the parts of a running collector, each made by its constructor.

Separate from the service, which only starts and stops them: here stands which option goes where, and nothing happens yet.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from collector import pipeline, semconv
from collector.cli import version
from collector.clock import SteadyClock, seconds
from collector.config.options import Options
from collector.contracts import ContractBook, ContractError
from collector.contracts import load as load_contracts
from collector.emit.downstream import Sink, make_sink
from collector.emit.files import FILES, Folder, write_whole
from collector.emit.forward import make_forwarder
from collector.emit.health import Health
from collector.emit.otlp_metrics import MetricsPush
from collector.emit.outbox import FolderSink, OutboxSender, Policy
from collector.emit.planner import LOGS, METRICS, TRACES, Outlets, SessionEmitter
from collector.emit.snapshot import Snapshots
from collector.engine import Durability, Engine, Housekeeping, Limits
from collector.engine.gate import SPAN_BYTES, TRACE_BYTES
from collector.journal import Journal
from collector.listen.errors import StartError
from collector.otlp import values
from collector.pipeline import Terms
from collector.sessions.model import Rules
from collector.sessions.sightings import Scopes
from collector.store import Store

_HASH_KEY = "hash.key"
_INSTANCE_ID = "instance.id"


class Core(NamedTuple):
    """The parts behind admission. `push` is None where no downstream takes metrics."""

    clock: SteadyClock
    health: Health
    store: Store
    engine: Engine
    sender: OutboxSender
    snapshots: Snapshots
    push: MetricsPush | None


def build_core(options: Options, folder: Path, terms: Terms) -> Core:
    """Make the parts. Raises `StartError` for a file that an option names and that does not serve."""
    clock = SteadyClock()
    health = Health()
    store = Store(folder / "store.sqlite", series_limit=options.metrics.max_series, now_ns=clock.now_ns)
    dossiers = Path(options.files.dir) if options.files.dir else folder / "dossiers"
    sinks = _sinks(options, store, dossiers)
    sender = OutboxSender(
        store,
        sinks,
        health,
        policy=Policy(max_interval=options.export.retry_max_interval, max_bytes=options.export.queue_size),
        clock_ns=clock.now_ns,
        chance=random.Random(),  # noqa: S311  # spreads retries, keeps no secret
    )
    outlets = Outlets(review=TRACES in sinks, evaluation=LOGS in sinks, files=options.files.enabled)
    forwarder = make_forwarder(options.traces.forward, sinks, health)
    disk = options.journal.mode == "disk"
    engine = Engine(
        store=store,
        journal=Journal(folder / "journal", segment_size=options.journal.segment_size) if disk else None,
        rules=make_rules(options),
        terms=terms,
        limits=_limits(options),
        durability=Durability(options.journal.fsync, options.journal.fsync_interval, options.journal.group_delay),
        housekeeping=make_housekeeping(options),
        emitter=SessionEmitter(outlets, pipeline.dossier, version()),
        forwarder=forwarder,
        clock=clock,
        count=health.add,
        reported=sender.wake,
        decoding=values.Limits(
            length=options.limits.attribute_size or values.UNLIMITED.length, depth=options.limits.depth
        ),
    )
    snapshots = Snapshots(
        store.metrics,
        lambda: {semconv.M_SESSION_OPEN: engine.stats().open_sessions},
        health,
        time.time_ns,  # backends refuse what is far from their time, and this clock may have been wrong when it started
        version=version(),
        instance_id=str(uuid.UUID(bytes=_kept(folder, _INSTANCE_ID, 16), version=4)),
    )
    push = None
    if options.export.metrics.endpoint:
        push = MetricsPush(snapshots.take, options.export.metrics, options.export.metrics_interval)
    _observe(health, engine, store)
    return Core(clock, health, store, engine, sender, snapshots, push)


def make_terms(options: Options, folder: Path) -> Terms:
    """What reports are made under. Raises `StartError` where the contracts do not serve."""
    try:
        book = (
            load_contracts(Path(options.contracts.file), in_band=options.contracts.in_band)
            if options.contracts.file
            else None
        )
    except ContractError as error:
        raise StartError(str(error)) from error
    if book is None and options.contracts.in_band:
        book = ContractBook(in_band=True)
    return Terms(
        book=book,
        content=options.content.mode,
        hash_key=_hash_key(folder) if options.content.mode == "hashed" else b"",
        scopes=Scopes(options.sessions.tenant_attributes, options.sessions.environment_attributes),
        dossier=options.files.enabled,
    )


def _sinks(options: Options, store: Store, dossiers: Path) -> Mapping[str, Sink]:
    sinks: dict[str, Sink] = {}
    for name, destination in (
        (TRACES, options.export.traces),
        (LOGS, options.export.logs),
        (METRICS, options.export.metrics),
    ):
        if destination.endpoint:
            try:
                sinks[name] = make_sink(destination)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise StartError(f"cannot send {name} as configured (export.{name}): {reason.lower()}") from error
    # Also where none are written any more: those of before must go with their sessions.
    files = Folder(dossiers, store.claim_name)
    try:
        if options.files.enabled:
            dossiers.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.clear()
    except OSError as error:
        raise StartError(
            f"cannot write to {str(dossiers)!r} (files.dir): {(error.strerror or str(error)).lower()}"
        ) from error
    sinks[FILES] = FolderSink(files)
    return sinks


def make_housekeeping(options: Options) -> Housekeeping:
    """What is kept how long."""
    return Housekeeping(max_age_ns=seconds(options.retention.age), max_bytes=options.retention.size)


def make_rules(options: Options) -> Rules:
    """When sessions close, and how much of them is held.

    What is quiet leaves memory by half of `limits.memory`: a bound that only sessions which close could get below would
    refuse for ever where closed ones had filled it.
    """
    sessions = options.sessions
    resident = options.limits.memory // 2 // (SPAN_BYTES + TRACE_BYTES)
    return Rules(
        grace_ns=seconds(sessions.grace),
        idle_ns=seconds(sessions.idle),
        max_age_ns=seconds(sessions.max_age),
        reopen_window_ns=seconds(sessions.reopen_window),
        session_spans=options.limits.session_spans,
        session_size=options.limits.session_size,
        resident_spans=min(Rules().resident_spans, resident) if resident else Rules().resident_spans,
    )


def _limits(options: Options) -> Limits:
    return msgspec.structs.replace(
        Limits(),
        open_sessions=options.limits.open_sessions,
        memory=options.limits.memory,
        journal_size=options.journal.max_size,
        disk_free=options.limits.disk_free,
    )


def _observe(health: Health, engine: Engine, store: Store) -> None:
    """Readings that are taken when metrics are."""

    def reading(read: Callable[[], int]) -> Callable[[], list[tuple[int, dict[str, str]]]]:
        return lambda: [(read(), {})]

    health.observe(semconv.H_QUEUE_REQUESTS, reading(lambda: engine.stats().queue_requests))
    health.observe(semconv.H_QUEUE_SIZE, reading(lambda: engine.stats().queue_size))
    health.observe(semconv.H_JOURNAL_SIZE, reading(lambda: engine.stats().journal_size))
    health.observe(semconv.H_JOURNAL_SEGMENTS, reading(lambda: engine.stats().journal_segments))
    health.observe(semconv.H_STORE_SIZE, reading(lambda: store.stats().bytes_used))
    health.observe(
        semconv.H_EXPORT_WAITING,
        lambda: [(row.waiting, {semconv.DESTINATION: row.destination}) for row in store.outbox_stats()],
    )
    health.observe(
        semconv.H_EXPORT_WAITING_SIZE,
        lambda: [(row.waiting_bytes, {semconv.DESTINATION: row.destination}) for row in store.outbox_stats()],
    )


def _hash_key(folder: Path) -> bytes:
    """The key of `content: hashed`: one a data folder, so that a value has one hash in all of its sessions."""
    return _kept(folder, _HASH_KEY, 32)


def _kept(folder: Path, name: str, size: int) -> bytes:
    """Random bytes that stay the same for a data folder: metric totals outlive a restart, and so must what they are of."""
    path = folder / name
    try:
        if not path.exists():
            write_whole(path, os.urandom(size))
        kept = path.read_bytes()
    except OSError as error:
        raise StartError(f"cannot keep {str(path)!r}: {(error.strerror or str(error)).lower()}") from error
    if len(kept) != size:  # hashes under a key that was cut, to nothing at the worst, could be told by anybody
        raise StartError(
            f"cannot use {str(path)!r}: expected {size} bytes, found {len(kept)}; restore it, or remove it for a new one"
        )
    return kept
