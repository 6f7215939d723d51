"""Dumps of telemetry as batches, whatever their format: what is in a file decides, never its name.

    for item in open_dump(source):
        match item:
            case Batch(): ...
            case ReadNote(): ...

Memory does not grow with the input. What cannot be read is named by its place, and the rest is read.
"""

from __future__ import annotations

import glob
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from collector.dumps import otlp_protobuf
from collector.dumps.compression import plain
from collector.dumps.json_dump import READS, JsonDump
from collector.dumps.model import DumpError, NoteKind, ReadNote
from collector.dumps.reader import ByteReader, Source
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch

__all__ = ["STDIN", "Batch", "DumpError", "NoteKind", "ReadNote", "inputs", "open_dump", "read_dump"]

STDIN = "-"
_SNIFF = 1 << 20


def inputs(names: Sequence[str]) -> Iterator[str | ReadNote]:
    """The files that command-line arguments mean: files, folders (with all below them), globs, and `-`.

    Sorted within a folder or a glob, so that the same arguments always read in the same order; hidden files below a folder
    are left out. What means nothing is named by a note.
    """
    for name in names:
        if name == STDIN or os.path.isfile(name) or _is_special(name):
            yield name
        elif os.path.isdir(name):
            yield from _folder(name)
        else:
            found = sorted(glob.glob(name, recursive=True))
            if not found:
                yield ReadNote(name, "unreadable", "no such file")
            for path in found:
                yield from _folder(path) if os.path.isdir(path) else (path,)


def _is_special(name: str) -> bool:
    """A pipe or a device, such as a shell's process substitution makes."""
    return os.path.exists(name) and not os.path.isdir(name)


def _folder(name: str) -> Iterator[str]:
    for here, folders, files in os.walk(name):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        yield from (str(Path(here, file)) for file in sorted(files) if not file.startswith("."))


def open_dump(name: str, progress: Callable[[int], None] | None = None) -> Iterator[Batch | ReadNote]:
    """The telemetry of one file, or of standard input for `-`. `progress` is told how many bytes more were read."""
    if name == STDIN:
        yield from read_dump("standard input", sys.stdin.buffer, progress)
        return
    try:
        with Path(name).open("rb") as file:
            yield from read_dump(name, file, progress)
    except OSError as err:
        yield ReadNote(name, "unreadable", f"cannot be read ({err.strerror or err})")


def read_dump(
    name: str, stream: BinaryIO | Source, progress: Callable[[int], None] | None = None
) -> Iterator[Batch | ReadNote]:
    """The telemetry of a stream. `name` is what notes call it."""
    try:
        reader, layers = plain(_Told(stream, progress) if progress else stream)
        around = "".join(f" ({layer})" for layer in layers)
        yield from _read(name, reader, around)
    except DumpError as err:
        yield ReadNote(name, "unreadable", err.message, err.where)


def _read(name: str, reader: ByteReader, around: str) -> Iterator[Batch | ReadNote]:
    head = reader.peek(_SNIFF)
    if not head.strip():
        yield ReadNote(name, "passed_over", f"nothing in it{around}")
        return
    if framing := otlp_protobuf.framing_of(head):
        yield ReadNote(name, "format", f"read as {otlp_protobuf.FRAMINGS[framing]}{around}")
        yield from _read_protobuf(name, reader, framing)
    elif _is_json(head):
        for item in JsonDump(name, reader).read():
            if isinstance(item, ReadNote) and item.kind == "format":
                yield ReadNote(item.source, item.kind, f"{item.message}{around}", item.where)
            else:
                yield item
    else:
        yield ReadNote(name, "unreadable", f"found {_described(head)}, which is not read: {READS} are{around}")


def _read_protobuf(name: str, reader: ByteReader, framing: otlp_protobuf.Framing) -> Iterator[Batch | ReadNote]:
    metrics: Counter[str] = Counter()
    loose = 0
    for record in otlp_protobuf.records(reader, framing):
        if record.body[:1] == b"{":
            yield from (
                item
                for item in JsonDump(name, ByteReader(_Once(record.body))).read()
                if not (isinstance(item, ReadNote) and item.kind == "format")
            )
            continue
        try:
            item = otlp_protobuf.read_record(record.body)
        except MalformedError as err:
            yield ReadNote(name, "unreadable", str(err), record.where)
            continue
        if isinstance(item, Counter):
            metrics += item
        elif item is not None:
            yield item
            loose += sum(1 for log in item.logs if not log.trace_id)
            for bad in item.rejections:
                yield ReadNote(name, "unreadable", bad.reason, f"{record.where} {bad.path}")
    if loose:
        yield ReadNote(name, "passed_over", f"{loose} log record{'s' if loose > 1 else ''} tied to no span")
    if metrics:
        names = ", ".join(sorted(metrics)[:5]) + (", ..." if len(metrics) > 5 else "")
        yield ReadNote(name, "passed_over", f"{metrics.total()} metrics ({names}): no spans in them")


def _is_json(head: bytes) -> bool:
    """Text in which a value begins: at once, or at the start of some line (a console's output has other lines, too)."""
    if b"\0" in head[:4096]:
        return False
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"[") or text.startswith(b"null"):
        return True
    return b"\n{" in head or b"\n[" in head


def _described(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16 text"
    try:
        line = head[:200].decode().strip().partition("\n")[0]
    except UnicodeDecodeError as err:
        if err.start < len(head[:200]) - 4:
            return f"bytes that begin with {head[:8].hex(' ')}"
        line = head[: err.start].decode().strip().partition("\n")[0]
    return (
        f"text that begins with {line[:40]!r}" if line.isprintable() else f"bytes that begin with {head[:8].hex(' ')}"
    )


class _Told:
    """A stream that tells how much of it has been read."""

    def __init__(self, stream: BinaryIO | Source, progress: Callable[[int], None]) -> None:
        self._stream, self._progress = stream, progress

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._progress(len(data))
        return data


class _Once:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int, /) -> bytes:
        data, self._data = self._data, b""
        return data
