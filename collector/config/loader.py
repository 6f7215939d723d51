"""Options from a file, the environment and the command line.

Separate from the table because this is where a person's mistakes are met: every fault names its file, line and option, says what was
expected and what was found, and offers the nearest name for one that does not exist.

Rules:
- the command line wins over the environment, the environment over the file, the file over the defaults;
- all faults are gathered, so that one run of `check` shows them all;
- a value that could be a secret is never repeated: only options of the table are ever shown, and none of them is one.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from collector.config.options import Options, build, table
from collector.config.values import Kind, ValueFaultError, parse

_PREFIX = "ORBITRELAY_"


class ConfigError(Exception):
    """A configuration that cannot be used. `faults` holds one line each; the message is the first, and how many more there are."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        more = f" (and {len(faults) - 1} more; see `check`)" if len(faults) > 1 else ""
        super().__init__(faults[0] + more)


class Loaded(NamedTuple):
    """Options, the names that were set and by what (`file`, `environment`, `command line`), and what deserves a warning."""

    options: Options
    sources: dict[str, str]
    warnings: tuple[str, ...]


class Entry(NamedTuple):
    """One value as a file gives it: its dotted name, its value, and the line where it stands (1 is the first)."""

    name: str
    value: Any
    line: int


def load(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Sequence[str] = (),
    secrets: Mapping[str, str] | None = None,
) -> Loaded:
    """The options in force. Raises `ConfigError`.

    `overrides` are `name=value` texts. `secrets` is where `token_env` names are looked up; by default the environment itself.
    """
    faults: list[str] = []
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    places: dict[str, str] = {}
    warnings: list[str] = []

    def take(name: str, value: Any, where: str, source: str) -> None:
        option = table()[name]
        try:
            values[name] = parse(option.kind, value, option.choices)
        except ValueFaultError as fault:
            faults.append(f"{where}: {name}: {fault}")
            return
        sources[name], places[name] = source, where

    if path is not None:
        for entry in read_file(path):
            where = f"{path}:{entry.line}"
            if entry.name in places:
                faults.append(f"{where}: {entry.name}: expected once, found again after {places[entry.name]}")
            elif entry.name in table():
                take(entry.name, entry.value, where, "file")
            else:
                faults.append(f"{where}: {_unknown(entry)}")
    names = {option.environment: option.name for option in table().values()}
    for variable in sorted(v for v in environment if v.startswith(_PREFIX)):
        if variable in names:
            take(names[variable], environment[variable], f"environment variable {variable}", "environment")
        elif variable not in _named_by(values):
            warnings.append(f"environment variable {variable} names no option{suggestion(variable, names)}")
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            faults.append(f"--set {override}: expected NAME=VALUE")
        elif name not in table():
            faults.append(f"--set {override}: unknown option '{name}'{suggestion(name, table())}")
        else:
            take(name, value, f"--set {name}", "command line")
    options = build(values)
    for name, text in _joint_faults(options, secrets or environment):
        place = places.get(name)
        faults.append(f"{place}: {name}: {text}" if place else f"{name}: {text}")
    if faults:
        raise ConfigError(faults)
    return Loaded(options, sources, tuple(warnings))


def read_file(path: Path) -> list[Entry]:
    """Every value of a YAML or TOML (`.toml`) file with its dotted name and line. Raises `ConfigError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: cannot read the configuration: {_reason(error)}"]) from error
    return list(_toml(path, text) if path.suffix == ".toml" else _yaml(path, text))


def suggestion(name: str, known: Mapping[str, Any]) -> str:
    """`; did you mean '...'?` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def _yaml(path: Path, text: str) -> Iterator[Entry]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError([f"{path}:{line}: not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise ConfigError([f"{path}: not YAML: {' '.join(str(error).split())}"]) from error
    except RecursionError as error:
        raise ConfigError([f"{path}: expected sections and values, found nesting without an end"]) from error
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError([f"{path}:1: expected sections such as 'receive:', found a {root.tag.rpartition(':')[2]}"])
    try:
        yield from _yaml_entries(root, "")
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError([f"{path}: not YAML: {' '.join(str(error).split())}"]) from error


def _yaml_entries(node: yaml.MappingNode, prefix: str) -> Iterator[Entry]:
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        option = table().get(name)
        if isinstance(value, yaml.MappingNode) and not (option and option.kind is Kind.PAIRS):
            yield from _yaml_entries(value, name + ".")
        elif not (value.tag == "tag:yaml.org,2002:null" and option is None and _is_section(name)):
            yield Entry(name, _construct(value), key.start_mark.line + 1)


def _construct(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _toml(path: Path, text: str) -> Iterator[Entry]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise ConfigError([f"{path}:{line[1] if line else 1}: not TOML: {error}"]) from error
    lines = _toml_lines(text)

    def entries(values: dict[str, Any], prefix: str) -> Iterator[Entry]:
        for key, value in values.items():
            name = f"{prefix}{key}"
            option = table().get(name)
            if isinstance(value, dict) and not (option and option.kind is Kind.PAIRS):
                yield from entries(value, name + ".")
            else:
                yield Entry(name, value, lines.get(name, 1))

    yield from entries(document, "")


def _toml_lines(text: str) -> dict[str, int]:
    """Line of each dotted key. tomllib keeps none, so the plain forms `[a.b]` and `c.d = ...` are found again here."""
    lines: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([\w. -]+)\]", line):
            prefix = header[1].replace(" ", "") + "."
        elif key := re.match(r"\s*([\w.-]+)\s*=", line):
            lines.setdefault(prefix + key[1], number)
    return lines


def _unknown(entry: Entry) -> str:
    if _is_section(entry.name):
        first = next(known for known in table() if known.startswith(entry.name + "."))
        return f"{entry.name}: expected a section with options such as '{first}', found {entry.value!r}"
    return f"unknown option '{entry.name}'{suggestion(entry.name, table())}"


def _is_section(name: str) -> bool:
    return any(known.startswith(name + ".") for known in table())


def _named_by(values: dict[str, Any]) -> set[str]:
    return {value for name, value in values.items() if name.endswith("token_env")}


def _joint_faults(options: Options, secrets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What each option may hold but not all of them together."""
    for name, listener in (("receive", options.receive), ("admin", options.admin)):
        tls = listener.tls
        if bool(tls.cert_file) != bool(tls.key_file):
            lacking = "key_file" if tls.cert_file else "cert_file"
            yield f"{name}.tls.{lacking}", "expected a path, since certificate and key go together, found none"
        if tls.client_ca_file and not tls.cert_file:
            yield (
                f"{name}.tls.client_ca_file",
                "expected cert_file and key_file beside it: client certificates need TLS",
            )
        if listener.auth.token_env and not secrets.get(listener.auth.token_env):
            yield (
                f"{name}.auth.token_env",
                f"expected a token in environment variable {listener.auth.token_env!r}, found none",
            )
    for pattern in options.content.redact:
        try:
            re.compile(pattern)
        except re.error as error:
            yield "content.redact", f"expected a regular expression, found {pattern!r}: {error}"
    if not 1 <= options.limits.depth <= 40:
        yield "limits.depth", f"expected a number from 1 to 40, found {options.limits.depth}"
    if options.limits.message_size == 0:
        yield "limits.message_size", "expected a size above 0, found 0"
    if options.limits.message_size >= 1 << 31:
        yield "limits.message_size", "expected less than 2GiB, which is more than gRPC takes"
    if options.limits.decompressed_size < options.limits.message_size:
        yield "limits.decompressed_size", "expected at least limits.message_size"


def _reason(error: Exception) -> str:
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
