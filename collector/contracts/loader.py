"""Contract files: YAML in, a ContractBook out, and every fault named by line, column and path.

Separate from the model because it alone knows YAML. It walks PyYAML's node tree, not the values built from it, so that
each complaint has its line, a key that stands twice is seen, and an unquoted `no` is told from the text "no".

Bounds: 1 MiB, 20 levels, 100,000 nodes counted as often as anchors repeat them; what is over them is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import yaml

from collector.contracts.model import Accept, ContractBook, Requirement, Rule, resolved
from collector.contracts.names import snake_case

MAX_BYTES = 1 << 20
MAX_DEPTH = 20
MAX_NODES = 100_000
MAX_NAME = 200
MAX_PROBLEMS = 20

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FILE_KEYS = ("version", "rules")
_RULE_KEYS = ("name", "match", "roles", "aliases", "contract")
_REQUIREMENT_KEYS = ("fields", "accept")
_KINDS = {
    "tag:yaml.org,2002:int": "the number",
    "tag:yaml.org,2002:float": "the number",
    "tag:yaml.org,2002:bool": "the boolean",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "the date",
}
_STR = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"
_SEQ = "tag:yaml.org,2002:seq"


class Problem(msgspec.Struct, frozen=True):
    """One fault of a contract file. Line and column count from 1; 0 where the fault is the file's as a whole."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class ContractError(ValueError):
    """A contract file that cannot be used. `problems` holds every fault found, at most 20; the text is the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        super().__init__(f"{self.problems[0]}{f' (and {more} more)' if more else ''}")


def load(source: bytes | str | Path, *, name: str | None = None, in_band: bool = False) -> ContractBook:
    """Read a contract file, given as its bytes or its path.

    `name` stands in messages for the path. Raises ContractError for a file that cannot be read or is at fault anywhere:
    a file is used whole or not at all.
    """
    file = name or ("contracts" if isinstance(source, bytes) else str(source))
    reader = _Reader(file)
    try:
        data = source if isinstance(source, bytes) else _read(Path(source))
        root = _compose(data)
    except OSError as error:
        raise ContractError([Problem(file, 0, 0, "", f"cannot be read: {error.strerror or error}")]) from None
    except _RefusedError as error:
        raise ContractError([Problem(file, error.line, error.column, "", error.message)]) from None
    rules = reader.file(root)
    if reader.problems:
        raise ContractError(reader.problems)
    return ContractBook(rules, in_band)


class _RefusedError(Exception):
    def __init__(self, message: str, mark: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = mark.line + 1 if mark is not None else 0
        self.column = mark.column + 1 if mark is not None else 0


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _compose(data: bytes) -> Any:
    if len(data) > MAX_BYTES:
        raise _RefusedError(f"larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _RefusedError(f"not UTF-8 at byte {error.start}") from None
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):  # iterative: composing recurses, so depth is checked before it
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise _RefusedError(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _RefusedError(f"not YAML: {what}", error.problem_mark) from None
    except yaml.YAMLError as error:
        raise _RefusedError(f"not YAML: {' '.join(str(error).split())}") from None
    return root


class _Reader:
    """Walks the node tree; collects problems instead of stopping at the first."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nodes = 0
        self.problems: list[Problem] = []

    def file(self, root: Any) -> tuple[Rule, ...]:
        if root is None:
            self.problems.append(Problem(self._file, 0, 0, "", "empty; a contract file starts with 'version: 1'"))
            return ()
        try:
            entries = self._mapping(root, "$", _FILE_KEYS)
            version = entries.get("version")
            if version is None:
                self._add(root, "$", "the key 'version' is missing; expected 'version: 1'")
            elif not isinstance(version, yaml.ScalarNode) or version.value != "1":
                self._add(version, "$.version", f"expected 1, the only version there is, got {_found(version)}")
            if "rules" not in entries:
                self._add(root, "$", "the key 'rules' is missing; expected a list of rules")
                return ()
            return tuple(self._rule(node, path) for node, path in self._items(entries["rules"], "$.rules", "rules"))
        except _FullError:
            return ()

    def _rule(self, node: Any, path: str) -> Rule:
        entries = self._mapping(node, path, _RULE_KEYS)
        name = self._name(entries["name"], f"{path}.name", "a name") if "name" in entries else ""
        match = {
            key: self._name(value, f"{path}.match.{key}", "a glob")
            for key, value in self._map_of(entries, "match", path, "a resource attribute")
        }
        roles = {
            role: self._names(value, f"{path}.roles.{role}", "an agent-name pattern")
            for role, value in self._map_of(entries, "roles", path, "a role")
        }
        aliases = self._aliases(entries, path)
        contract = {
            role: self._requirement(value, f"{path}.contract.{role}")
            for role, value in self._map_of(entries, "contract", path, "a role")
        }
        if "contract" not in entries and isinstance(node, yaml.MappingNode):
            self._add(node, path, "the key 'contract' is missing; expected role -> required field names")
        self._one_name_each(node, path, aliases, contract)
        return Rule(match, resolved(name, roles, aliases, contract))

    def _aliases(self, entries: dict[str, Any], path: str) -> dict[str, tuple[str, ...]]:
        aliases: dict[str, tuple[str, ...]] = {}
        owner: dict[str, str] = {}
        for field, value in self._map_of(entries, "aliases", path, "a field name"):
            here = f"{path}.aliases.{field}"
            aliases[field] = self._names(value, here, "another name of the field")
            for other in {snake_case(other): other for other in aliases[field]}.values():
                first = owner.setdefault(snake_case(other), field)
                if first != field:
                    self._add(value, here, f"{other!r} is an alias of {first!r} too; a name stands for one field")
        return aliases

    def _one_name_each(
        self, node: Any, path: str, aliases: dict[str, tuple[str, ...]], contract: dict[str, Requirement]
    ) -> None:
        """Two fields that telemetry cannot tell apart, or a field that is also an alias, could never both be found."""
        names: dict[str, str] = {}
        for field in (*aliases, *(field for required in contract.values() for field in required.fields)):
            first = names.setdefault(snake_case(field), field)
            if first != field:
                self._add(node, path, f"fields {first!r} and {field!r} are one name in snake_case; use one spelling")
        for field, others in aliases.items():
            for other in others:
                clash = names.get(snake_case(other), field)
                if clash != field:
                    self._add(node, path, f"{other!r} is an alias of {field!r} and a field itself; drop one")

    def _requirement(self, node: Any, path: str) -> Requirement:
        if not isinstance(node, yaml.MappingNode):
            return Requirement(self._names(node, path, "a field name"))
        entries = self._mapping(node, path, _REQUIREMENT_KEYS)
        accept: Accept = "carried"
        if "accept" in entries:
            value = entries["accept"]
            word = value.value if isinstance(value, yaml.ScalarNode) else ""
            if word in get_args(Accept):
                accept = "visible" if word == "visible" else "carried"
            else:
                known = " or ".join(repr(each) for each in get_args(Accept))
                self._add(
                    value, f"{path}.accept", f"expected {known}, got {_found(value)}{_meant(word, get_args(Accept))}"
                )
        if "fields" not in entries:
            self._add(node, path, "the key 'fields' is missing; expected a list of field names")
            return Requirement((), accept)
        return Requirement(self._names(entries["fields"], f"{path}.fields", "a field name"), accept)

    def _map_of(self, entries: dict[str, Any], key: str, path: str, what: str) -> list[tuple[str, Any]]:
        if key not in entries:
            return []
        return list(self._mapping(entries[key], f"{path}.{key}", None, what).items())

    def _mapping(self, node: Any, path: str, known: tuple[str, ...] | None, what: str = "a key") -> dict[str, Any]:
        """The entries of a mapping by key; keys outside `known`, standing twice or not text are problems."""
        self._count(node, path)
        if not isinstance(node, yaml.MappingNode) or node.tag != _MAP:
            self._add(node, path, f"expected a mapping, got {_found(node)}")
            return {}
        entries: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                self._add(
                    key_node, path, "merge keys ('<<') are not read; write the entries out or alias a whole value"
                )
                continue
            key = self._name(key_node, path, what)
            if not key:
                continue
            if known is not None and key not in known:
                self._add(key_node, path, f"unknown key {key!r}{_meant(key, known)}; known are {', '.join(known)}")
            elif key in entries:
                self._add(key_node, path, f"the key {key!r} stands twice, first on line {lines[key]}; keep one")
            else:
                entries[key] = value
                lines[key] = key_node.start_mark.line + 1
        return entries

    def _items(self, node: Any, path: str, what: str) -> list[tuple[Any, str]]:
        self._count(node, path)
        if not isinstance(node, yaml.SequenceNode) or node.tag != _SEQ:
            self._add(node, path, f"expected a list of {what}, got {_found(node)}")
            return []
        return [(item, f"{path}[{index}]") for index, item in enumerate(node.value)]

    def _names(self, node: Any, path: str, what: str) -> tuple[str, ...]:
        names: list[str] = []
        for item, here in self._items(node, path, f"{what.split(' ', 1)[1]}s"):
            name = self._name(item, here, what)
            if name in names:
                self._add(item, here, f"{name!r} stands twice in this list; keep one")
            elif name:
                names.append(name)
        return tuple(names)

    def _name(self, node: Any, path: str, what: str) -> str:
        """The text of a scalar, or "" after a problem was added."""
        self._count(node, path)
        if not isinstance(node, yaml.ScalarNode) or node.tag != _STR:
            quote = f"; quote it if {what} is meant" if isinstance(node, yaml.ScalarNode) and node.value else ""
            self._add(node, path, f"expected {what}, got {_found(node)}{quote}")
        elif not node.value:
            self._add(node, path, f"expected {what}, got an empty text")
        elif len(node.value) > MAX_NAME:
            self._add(node, path, f"expected {what} of at most {MAX_NAME} characters, got {len(node.value)}")
        elif not node.value.isprintable():
            self._add(node, path, f"expected {what} without control characters, got {_found(node)}")
        else:
            return str(node.value)
        return ""

    def _count(self, node: Any, path: str) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._add(node, path, f"more than {MAX_NODES} values, counted as often as aliases repeat them")
            raise _FullError

    def _add(self, node: Any, path: str, message: str) -> None:
        mark = node.start_mark
        self.problems.append(Problem(self._file, mark.line + 1, mark.column + 1, _shown(path), message))
        if len(self.problems) >= MAX_PROBLEMS:
            raise _FullError


class _FullError(Exception):
    """Enough was found to refuse the file."""


def _found(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        return {_MAP: "a mapping", _SEQ: "a list"}.get(node.tag, f"a value tagged {_short(node.tag)!r}")
    kind = _KINDS.get(node.tag, "the text" if node.tag == _STR else f"a value tagged {_short(node.tag)!r},")
    return kind if not node.value and kind == "nothing" else f"{kind} {_short(node.value)!r}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def _shown(path: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in path)


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
