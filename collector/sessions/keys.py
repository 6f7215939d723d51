"""What names a session: the keys that spans carry, their order of precedence, and the scope in which each is unique.

Separate from the assembler, and pure, so that the service and the batch converter name sessions alike.

Rules:
- highest first: `session.id`, the root's `gen_ai.conversation.id`, Traceloop's association session id, thread id, group
  id, a conversation id seen only below the root, else the trace;
- tenant and environment scope every key but the trace's; the weak kinds are scoped by service, too, because their
  values are unique to one application at best;
- an id that was quoted as a JSON string is unquoted; an empty one is no id, nor is what a program writes for no value or a filter in place of
  one (Logfire scrubs `session.id` unless told otherwise): it would join all sessions that lack theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from collector.facts.values import is_redacted

SESSION: Final = "session"
CONVERSATION: Final = "conversation"
ASSOCIATION: Final = "association"
THREAD: Final = "thread"
GROUP: Final = "group"
TRACE: Final = "trace"


class Kind(NamedTuple):
    """One kind of key. `weak`: unique within one service only. `attributes`: where it is read, the first wins."""

    name: str
    weak: bool
    attributes: tuple[str, ...]


KINDS: Final[tuple[Kind, ...]] = (
    Kind(SESSION, False, ("session.id",)),
    Kind(CONVERSATION, True, ("gen_ai.conversation.id", "gcp.vertex.agent.session_id")),
    Kind(ASSOCIATION, False, ("traceloop.association.properties.session_id", "langsmith.metadata.session_id")),
    Kind(
        THREAD,
        True,
        (
            "traceloop.association.properties.thread_id",
            "thread_id",
            "metadata.thread_id",
            "langgraph.thread_id",
            "langsmith.metadata.thread_id",
            "langfuse.observation.metadata.thread_id",
        ),
    ),
    Kind(GROUP, True, ("group_id", "metadata.group_id", "openai.agents.group_id", "ag2.network.channel_id")),
    Kind(TRACE, False, ()),
)
"""Highest precedence first."""

INNER_RANK: Final = len(KINDS) - 1
"""Precedence of a conversation id that the root does not carry: delegates often get fresh ones, so all else goes first."""
TRACE_RANK: Final = len(KINDS)


class SessionKey(msgspec.Struct, frozen=True, order=True):
    """What a session is known by. Scope parts are "" where they do not apply."""

    kind: str
    value: str
    tenant: str = ""
    environment: str = ""
    service: str = ""

    def id(self, generation: int = 1) -> str:
        """Return the session's id: 20 hex digits from a hash of the key, `~N` behind it from the second session on.

        The same key gives the same id on every machine, so a delivery repeated elsewhere meets the same session.
        """
        parts = (self.kind, self.tenant, self.environment, self.service, self.value)
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=10).hexdigest()
        return digest if generation == 1 else f"{digest}~{generation}"


def key_ref(key: SessionKey) -> str:
    """Return a short reference to a key: what indexes hold of it."""
    return f"k{key.kind}:{key.id()}"


def kind_of(ref: str) -> str:
    """Return the kind of the key that a reference means."""
    return ref[1 : ref.index(":")]


class Claim(NamedTuple):
    """One key as one span claims it. The least claim of a kind speaks for the trace: the root's, else the earliest span's."""

    rank: int
    inner: bool
    start_ns: int
    span_id: str
    key: SessionKey


def trace_key(trace_id: str) -> SessionKey:
    """Return the key of a session that nothing but its trace names."""
    return SessionKey(TRACE, trace_id)


def claims(
    values: Mapping[str, Any],
    *,
    root: bool,
    start_ns: int,
    span_id: str,
    tenant: str = "",
    environment: str = "",
    service: str = "",
) -> tuple[Claim, ...]:
    """Return the keys that one span carries, highest first, at most one a kind.

    `values`: the span's session attributes by attribute name, or by the name of the kind. `root`: it has no parent.
    """
    found: list[Claim] = []
    for rank, kind in enumerate(KINDS):
        value = _first(values, kind)
        if not value:
            continue
        if kind.name == CONVERSATION and not root:
            rank = INNER_RANK  # noqa: PLW2901
        scope = service if kind.weak else ""
        key = SessionKey(kind.name, value, tenant, environment, scope)
        found.append(Claim(rank, not root, start_ns, span_id, key))
    return tuple(found)


def unquote(value: Any) -> str:
    """Return an id as text: JSON quotes undone (also twice), other scalars as JSON writes them, "" for no id or a stand-in for one."""
    if not isinstance(value, str):
        if value is None or isinstance(value, (bool, float, bytes, list, dict)):
            return ""
        return str(value)
    text = value.strip()
    for _ in range(2):
        if len(text) < 2 or text[0] != '"' or text[-1] != '"':
            break
        try:
            text = msgspec.json.decode(text, type=str).strip()
        except (msgspec.DecodeError, UnicodeError):
            break
    stand_in = text.casefold() in _NO_ID or set(text) <= _MASK or is_redacted(text)
    return "" if stand_in else text


_NO_ID: Final = frozenset({"none", "null", "nil", "undefined", "nan", "n/a"})
_MASK: Final = frozenset("*#-")


def _first(values: Mapping[str, Any], kind: Kind) -> str:
    for name in (*kind.attributes, kind.name):
        if name in values and (value := unquote(values[name])):
            return value
    return ""
