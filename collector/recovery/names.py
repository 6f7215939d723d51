"""When two spellings name one agent: keys to compare agent names by, and the slugs that frameworks make of them for tool names.

Separate because every stage compares names, and each rule here came from a framework that spells them its own way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from collector.facts import values
from collector.facts.placeholders import is_placeholder

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RUNS = re.compile(r"[\s\-_.]+")
_NOT_ASCII_WORD = re.compile(r"[^a-z0-9]+")
_UUID = re.compile(r"_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\S*$", re.I)
_PATTERN = re.compile(
    r"^(?:[A-Za-z]+-)?(?:transfer|hand[_-]?off|hand[_-]?over|hand|delegate|send|route|escalate|switch|forward|pass)"
    r"(?:[_-](?:back|over|control|task|work|conversation|request))?[_-]to[_-](?P<target>.+)$",
    re.I,
)
_HANDS_OVER = re.compile(
    r"^(?:hand[_-]?off|hand[_-]?over|transfer|delegate|route|switch|escalate|forward)(?:[_-]\w*)?$", re.I
)
_TARGETS = (
    "agent_name", "to_agent", "target_agent", "next_agent", "agent_id", "recipient", "coworker", "co_worker", "member_id", "subagent_type",
    "destination", "target",
)  # fmt: skip
"""Arguments by which tools that are called like a handover, and like no agent, name the target."""

_ALWAYS = ("subagent_type", "coworker", "co_worker")
"""Arguments that name the target, whatever the tool is called."""

_ANYBODY = frozenset({"coworker", "co_worker", "member", "members", "subagent", "sub_agent"})
"""What stands for the target in the name of a tool that is told it in an argument."""

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_NOT_ASCII_LETTER = re.compile(r"[^a-z0-9_]")
_WORD = re.compile(r"[^\W_]")
_AGENT = re.compile(r"^agent[_-]", re.I)
_AGENT_WORD = re.compile(r"^(?:agent_)?(?P<rest>.+?)(?:_agent)?$")
_ASK = re.compile(r"^(?:ask|call|consult|task|run|invoke|delegate|request|use|query)[_-](?P<target>.+)$", re.I)


def clean(name: str) -> str:
    """The name as a person would say it: without the uuid that a runtime appends."""
    return _UUID.sub("", name).strip()


@lru_cache(maxsize=1 << 14)
def agent_key(name: str) -> str:
    """What two spellings of one agent's name share: case folded, runs of space, `-`, `_` and `.` as one `_`, camel case split."""
    text = unicodedata.normalize("NFC", clean(name))
    return _RUNS.sub("_", _CAMEL.sub("_", text)).casefold().strip("_")


@lru_cache(maxsize=1 << 12)
def slugs(name: str) -> frozenset[str]:
    """The forms in which frameworks write the name inside a tool's name: letters outside ASCII kept, folded, spelled out, replaced or dropped."""
    text = unicodedata.normalize("NFC", clean(name))
    out = {agent_key(name)}
    for lower in (text.casefold(), text.lower()):  # they differ in some letters: a sharp s folds to two
        ascii_folded = unicodedata.normalize("NFKD", lower).encode("ascii", "ignore").decode()
        for form in (
            lower,
            ascii_folded,
            lower.translate(_SPELLED_OUT),
            "".join(c if c.isascii() else "_" for c in lower),
            "".join(c for c in lower if c.isascii()),
        ):
            out.add(_NOT_ASCII_WORD.sub("_", form).strip("_"))
        out.add(_RUNS.sub("_", lower).strip("_"))
        out.add(re.sub(r"[^\w]", "_", lower).strip("_"))
    return frozenset(s for s in out if s)


def slug_of_tool(text: str) -> str:
    """The target part of a tool's name in the form that `slugs` gives."""
    return _RUNS.sub("_", text.casefold()).strip("_")


def _without_agent(slug: str) -> str:
    """A slug without the word that says no more than that it is an agent's: programs name the tool for the Refund Agent `transfer_to_refund`."""
    match = _AGENT_WORD.match(slug)
    return match.group("rest") if match else slug


def target_in_tool_name(tool: str) -> str:
    """The target that a tool named like a handover names (`transfer_to_x`, `Handoff-transfer_to_x`, `send_back_to_x`), or ""."""
    match = _PATTERN.match(tool.strip()) or _PATTERN.match(_spelled_out(tool))
    return match.group("target") if match else ""


def _spelled_out(tool: str) -> str:
    """A tool's name with its words apart: `transferToX`, `Delegate work to coworker`."""
    return _RUNS.sub("_", _CAMEL.sub("_", tool.strip()))


def target_in_arguments(tool: str, arguments: Any) -> str:
    """The target that a tool called like a handover is told in an argument (`handoff {to_agent}`), or any tool in one for this alone, or ""."""
    given = values.opened(arguments)
    if given is None:
        return ""
    keys = _TARGETS if _HANDS_OVER.match(_spelled_out(tool)) else _ALWAYS
    found = (given[0].get(key) for key in keys if given[1][:1] != (key,))
    return next((bare for name in found if isinstance(name, str) and (bare := name.strip("[] "))), "")


def asked_in_tool_name(tool: str) -> str:
    """The agent that a tool named like a question names (`ask_x`, `task_x`), or ""."""
    match = _ASK.match(tool.strip())
    return match.group("target") if match else ""


class Directory:
    """The agents' names of a session, and which of them a text spells."""

    def __init__(self, names: Iterable[str]) -> None:
        self._exact: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._slugs: dict[str, set[str]] = {}
        self._short: dict[str, set[str]] = {}  # by slugs without the word agent
        self._bare: dict[str, set[str]] = {}  # by slugs of which nothing may be left but underscores, one a letter
        self._found: dict[str, str] = {}
        for name in names:
            if name and name not in self._exact:
                self._exact[name] = name
                self._keys.setdefault(agent_key(name), name)
                for slug in slugs(name):
                    self._slugs.setdefault(slug, set()).add(name)
                    self._short.setdefault(_without_agent(slug), set()).add(name)
                self._bare.setdefault(_NOT_ASCII_LETTER.sub("_", name.lower()), set()).add(name)

    def find(self, wanted: str) -> str:
        """The name that `wanted` spells (a name, or a slug of one), or "". An exact name wins over a key, a key over a slug; a slug of two names is none."""
        if wanted not in self._found:
            self._found[wanted] = self._find(wanted)
        return self._found[wanted]

    def of_tool(self, tool: str) -> tuple[str, ...]:
        """The agents that a tool named like a handover may name: several where a slug lost the letters that tell them apart.

        A target that is no agent's name stands as it is; () where the tool names none.
        """
        target = target_in_tool_name(tool)
        if not target:
            return ()
        one = self.find(target) or self.find(_AGENT.sub("", target))
        if one:
            return (one,)
        several = self._slugs.get(slug_of_tool(target)) or self._bare.get(target.casefold())
        if several:
            return tuple(sorted(several))
        nobody = is_placeholder(target) or target.casefold() in _ANYBODY or not _WORD.search(target)
        return () if nobody else (target,)

    def _find(self, wanted: str) -> str:
        if not wanted:
            return ""
        name = self._exact.get(wanted) or self._keys.get(agent_key(wanted))
        if name:
            return name
        slug = slug_of_tool(wanted)
        by_slug = self._slugs.get(slug, set())
        if len(by_slug) == 1:
            return next(iter(by_slug))
        short = self._short.get(_without_agent(slug), set())
        if not by_slug and len(short) == 1:
            return next(iter(short))
        # A limit on tool names cuts long ones: a cut slug counts if it is long and fits one name alone.
        cut = {n for s, ns in self._slugs.items() if len(slug) >= 24 and s.startswith(slug) for n in ns}
        return next(iter(cut)) if not by_slug and len(cut) == 1 else ""
