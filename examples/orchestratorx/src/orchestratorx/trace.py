"""The ordered audit trail of one run, as a hash chain.

Separate from the log and from telemetry: those may be sampled, dropped or late, this may not. Every entry carries the
hash of the one before it, so a changed, removed, inserted or reordered entry breaks the chain, and an entry that ends
the run makes a cut tail show. Who can rewrite the whole file can also rewrite the chain: keep `head` somewhere else
(the registry does) and compare it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = [
    "FORMAT",
    "KINDS",
    "Clock",
    "Entry",
    "Sink",
    "Trace",
    "canonical",
    "digest",
    "document",
    "path_of",
    "utc_now",
    "verify",
]

FORMAT = "orchestratorx-trace/1"

Entry = Mapping[str, Any]
Sink = Callable[[Entry], None]
Clock = Callable[[], datetime]

KINDS: dict[str, str] = {
    "run_started": "the book, the hop budget, the required specialists",
    "decision": "one decision of the supervisor: rule of the routing table, target, escalation",
    "hop": "one crossing: source, target, mode, status, and the names and digest of the fields that crossed",
    "attempt": "one failed attempt within a visit",
    "note": "something that went otherwise than asked and did not fail the run",
    "run_ended": "how the run ended: always the last entry",
}


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: what is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    # a lone surrogate is valid in a Python string and in JSON, not in UTF-8
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def _genesis(run_id: str) -> str:
    return digest([FORMAT, run_id])


def document(run_id: str, entries: Iterable[Entry]) -> dict[str, Any]:
    """The trace document: what `write_json` writes and the API returns."""
    listed = [dict(entry) for entry in entries]
    head = listed[-1]["hash"] if listed else _genesis(run_id)
    return {"format": FORMAT, "run_id": run_id, "head": head, "entries": listed}


class Trace:
    """The entries of one run, in order. `sink` sees each as it is made; an error of the sink is the caller's."""

    def __init__(self, run_id: str, *, clock: Clock = utc_now, sink: Sink | None = None) -> None:
        self.run_id = run_id
        self._clock = clock
        self._sink = sink
        self._entries: list[Entry] = []
        self._head = _genesis(run_id)
        self._lock = threading.Lock()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far, oldest first."""
        with self._lock:
            return tuple(self._entries)

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        with self._lock:
            return self._head

    def append(self, kind: str, **detail: Any) -> Entry:
        """Add one entry: `detail` must be JSON."""
        if kind not in KINDS:
            raise ValueError(f"expected a kind of {', '.join(KINDS)}, found {kind!r}")
        with self._lock:
            body = {
                "seq": len(self._entries) + 1,
                "kind": kind,
                "at": self._clock().isoformat(timespec="microseconds"),
                "detail": json.loads(canonical(detail)),
                "previous": self._head,
            }
            entry: Entry = body | {"hash": digest(body)}
            self._entries.append(entry)
            self._head = str(entry["hash"])
            if self._sink is not None:
                self._sink(entry)
        return entry

    def path(self) -> tuple[str, ...]:
        """The agents in the order in which they had control, from the entries alone."""
        return path_of(self.entries)

    def document(self) -> dict[str, Any]:
        """The trace document."""
        return document(self.run_id, self.entries)

    def write_json(self, path: Path) -> None:
        """Write the trace document, whole or not at all."""
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        partial.write_text(json.dumps(self.document(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(path)


def path_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The agents in the order in which they had control: the source of the first hop, then every target."""
    path: list[str] = []
    for entry in entries:
        if entry["kind"] == "hop":
            detail = entry["detail"]
            path += [detail["target"]] if path else [detail["source"], detail["target"]]
    return tuple(path)


def verify(found: object, *, head: str | None = None) -> list[str]:
    """What is wrong with a trace document, one sentence each; nothing when the chain is whole.

    `head` is the hash kept elsewhere, if there is one.
    """
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return [f"expected a trace document of format {FORMAT!r}"]
    run_id, entries = found.get("run_id"), found.get("entries")
    if not isinstance(run_id, str) or not isinstance(entries, list):
        return ["expected run_id to be text and entries to be a list"]
    problems: list[str] = []
    previous = _genesis(run_id)
    for index, entry in enumerate(entries):
        where = f"entries[{index}]"
        if not isinstance(entry, dict):
            return [*problems, f"{where}: expected an object"]
        if entry.get("seq") != index + 1:
            problems.append(f"{where}: expected seq {index + 1}, found {entry.get('seq')!r}")
        if entry.get("previous") != previous:
            problems.append(f"{where}: does not follow the entry before it")
        try:
            made = digest({name: value for name, value in entry.items() if name != "hash"})
        except ValueError:
            made = ""
        if entry.get("hash") != made:
            problems.append(f"{where}: was changed after it was written")
        previous = str(entry.get("hash"))
    if not entries or not isinstance(entries[-1], dict) or entries[-1].get("kind") != "run_ended":
        problems.append("the run has no end: the trace was cut, or the run is still going or was interrupted")
    if found.get("head") != previous:
        problems.append("head is not the hash of the last entry")
    if head is not None and head != previous:
        problems.append("the last entry is not the one that was kept as head")
    return problems
