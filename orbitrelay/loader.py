"""From bytes, a path, standard input, a stream or Python data to a `HandoffTrace`, or to a `TraceError`.

Separate from `jsonin`, which knows JSON but no trace, and from `records`, which knows the records but no bytes.
What it gives is sound: every type, every reference and every enumerated value has been checked, so that nothing
behind it has to. The cost is linear in the document.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .jsonin import NESTING, FaultError, MalformedError, clean, describe, parse, refuse_deep
from .model import HandoffTrace, RoleContract
from .records import ID_KEYS, TraceError, build, fail, label, role_contracts
from .text import MESSAGE_LIMIT, cut, quoted

__all__ = [
    "STDIN",
    "TraceError",
    "from_document",
    "iter_traces",
    "load",
    "load_contract",
    "load_line",
    "loads",
    "read_bytes",
    "with_contract",
]

STDIN = "-"

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def load(source: bytes | str | os.PathLike[str]) -> HandoffTrace:
    """Load one trace from bytes, from the file at a path, or from standard input (`-`).

    Raises:
        TraceError: The document breaks a rule.
        OSError: The file cannot be read.
    """
    return loads(source if isinstance(source, bytes) else read_bytes(source))


def read_bytes(source: str | os.PathLike[str]) -> bytes:
    """Read the file at a path, or standard input for `-`."""
    if source == STDIN:
        return sys.stdin.buffer.read()
    with open(source, "rb") as file:
        return file.read()


def loads(data: bytes) -> HandoffTrace:
    """Load one trace from the bytes of its document: JSON in UTF-8, with or without a byte order mark.

    Raises:
        TraceError: The document breaks a rule.
    """
    return _load(data, 1, "")


def from_document(document: Mapping[str, Any]) -> HandoffTrace:
    """Build a trace from a document that is Python data already, held to the same rules as `loads`.

    A float stands for the number with its shortest digits; a `Number` for its text.

    >>> empty = {"trace_id": "t", "metadata": {}, "contract": {}, "agents": [], "turns": [], "handoffs": []}
    >>> from_document(empty).trace_id
    't'

    Raises:
        TraceError: The document breaks a rule.
    """
    try:
        return build(clean(document))
    except FaultError as fault:
        raise TraceError(_fault_message(fault)) from None


def iter_traces(stream: Iterable[bytes]) -> Iterator[HandoffTrace]:
    """Read a stream of traces, one JSON object a line, holding one in memory at a time. Blank lines are skipped.

    Args:
        stream: A file open for reading bytes, or anything else that yields lines.

    Raises:
        TraceError: A line breaks a rule; the message begins with its number. What came before it has been yielded.
    """
    for number, line in enumerate(stream, 1):
        if line.strip(b" \t\r\n"):
            yield load_line(line, number)


def load_line(line: bytes, number: int) -> HandoffTrace:
    """Load the trace on one line of a stream; `number` is the line's, for messages."""
    return _load(line, number, f"line {number}: ")


def load_contract(data: bytes) -> dict[str, RoleContract]:
    """Load a contract of its own: role -> list of field names, or {fields, accept}.

    Raises:
        TraceError: It breaks a rule.
    """
    document = _parse(data, 1, "", "contract")
    try:
        if not isinstance(document, dict):
            fail("contract", f"expected an object, found {describe(document)}")
        return role_contracts(document)
    except TraceError:
        _refuse_deep(document, data, 1, "", "contract")
        raise


def with_contract(trace: HandoffTrace, contract: Mapping[str, RoleContract]) -> HandoffTrace:
    """Give the same trace under another contract."""
    return replace(trace, contract=contract)


def _load(data: bytes, first_line: int, prefix: str) -> HandoffTrace:
    document = _parse(data, first_line, prefix)
    try:
        return build(document)
    except TraceError as error:
        _refuse_deep(document, data, first_line, prefix)
        raise TraceError(f"{prefix}{error}") from None


def _parse(data: bytes, first_line: int, prefix: str, root: str = "trace") -> Any:
    try:
        return parse(data, first_line)
    except MalformedError as error:
        raise TraceError(str(error)) from None
    except FaultError as fault:
        raise TraceError(prefix + _fault_message(fault, root)) from None


def _refuse_deep(document: Any, data: bytes, first_line: int, prefix: str, root: str = "trace") -> None:
    try:
        refuse_deep(document, data, first_line)
    except FaultError as fault:
        raise TraceError(prefix + _fault_message(fault, root)) from None


def _fault_message(fault: FaultError, root: str = "trace") -> str:
    """Name the record that a path of JSON leads into, then the rest of the path as the key."""
    records = ""
    keys = ""
    value = fault.document
    list_key = ""
    for step in fault.path:
        if keys and fault.problem == NESTING and list_key not in ID_KEYS:
            break
        value = value[step]
        if isinstance(step, int):
            if list_key in ID_KEYS and isinstance(value, Mapping):
                records += f"{list_key}[{step}]{label(value.get(ID_KEYS[list_key]))}: "
                keys = list_key = ""
                continue
            keys += f"[{step}]"
        elif not keys:
            keys = step if _PLAIN_KEY.fullmatch(step) else f"[{quoted(step)}]"
        else:
            keys += f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{quoted(step)}]"
        list_key = step if isinstance(step, str) and keys == step else ""
    keys = cut(keys, 2 * MESSAGE_LIMIT)
    return f"{records or f'{root}: '}{keys}{' ' if keys else ''}{fault.problem}"
