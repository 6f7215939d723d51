"""What a contract file says, as frozen values: the book of rules, and the one rule that a session is held against.

Separate from the loader so that what travels to workers and into reports knows nothing of YAML.

Rules:
- the first rule of the book whose `match` holds wins; a rule without `match` holds always;
- a `ResolvedContract` is complete: whoever has it needs neither the book nor the file, and its `hash` names exactly
  what it asks (roles, aliases, contract; not the rule's name or match);
- roles and field names are compared exactly; only names coming from telemetry are brought to snake_case.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from collector.contracts.names import role_of_name, snake_case

IN_BAND_ATTRIBUTE = "orbitrelay.contract"
RETURN_SUFFIX = ".return"

Accept = Literal["carried", "visible"]


class Requirement(msgspec.Struct, frozen=True):
    """What one role must be handed. `accept` "visible": a field seen only in the shared history counts as carried."""

    fields: tuple[str, ...]
    accept: Accept = "carried"


class ResolvedContract(msgspec.Struct, frozen=True):
    """The rule that a session is held against. `NO_CONTRACT` stands for none.

    `canonical` is the lookup behind `canonical_field`: snake_case name -> canonical name. `notes` tell what was wrong
    with an in-band contract that was not used.
    """

    name: str = ""
    roles: dict[str, tuple[str, ...]] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    contract: dict[str, Requirement] = {}
    canonical: dict[str, str] = {}
    hash: str = ""
    notes: tuple[str, ...] = ()

    def role_of(self, agent_name: str, attribute_role: str = "") -> str:
        """Return the agent's role: by configured pattern, else its role attribute, else by its name.

        Patterns are globs, compared case-sensitively with the name, then with its snake_case; the first that fits wins.
        """
        snake = snake_case(agent_name)
        for role, patterns in self.roles.items():
            if any(fnmatchcase(agent_name, pattern) or fnmatchcase(snake, pattern) for pattern in patterns):
                return role
        return attribute_role or role_of_name(agent_name)

    def canonical_field(self, name: str) -> str:
        """Return the contract's name for a field: itself, what it is an alias of, else its snake_case."""
        snake = snake_case(name)
        return self.canonical.get(snake, snake)

    def asked_of(self, role: str) -> frozenset[str]:
        """Return every name, in snake_case, that a field the role must be handed goes by."""
        required = self.contract.get(role)
        if required is None:
            return frozenset()
        return frozenset(name for name, field in self.canonical.items() if field in required.fields)

    def document(self) -> dict[str, Any]:
        """Return the `contract` object of the trace document; {fields, accept} stands only for accept `visible`."""
        return {
            role: list(required.fields)
            if required.accept == "carried"
            else {"fields": list(required.fields), "accept": required.accept}
            for role, required in self.contract.items()
        }


def resolved(
    name: str,
    roles: Mapping[str, tuple[str, ...]],
    aliases: Mapping[str, tuple[str, ...]],
    contract: Mapping[str, Requirement],
) -> ResolvedContract:
    """Build a ResolvedContract with its lookup and hash (SHA-256 of the canonical JSON of roles, aliases, contract)."""
    canonical = {snake_case(other): field for field, others in aliases.items() for other in (field, *others)}
    canonical |= {snake_case(field): field for required in contract.values() for field in required.fields}
    asked = {
        "roles": [[role, list(patterns)] for role, patterns in roles.items()],  # a list: order decides
        "aliases": {field: sorted(others) for field, others in aliases.items()},
        "contract": {
            role: {"fields": sorted(required.fields), "accept": required.accept} for role, required in contract.items()
        },
    }
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return ResolvedContract(name, dict(roles), dict(aliases), dict(contract), canonical, digest)


NO_CONTRACT = ResolvedContract()


class Rule(msgspec.Struct, frozen=True):
    """One rule of the file: which sessions it is for, and what it asks of them."""

    match: dict[str, str]
    contract: ResolvedContract

    def matches(self, resource_attributes: Mapping[str, Any]) -> bool:
        """Whether every glob of `match` fits the resource attribute of that name; an absent attribute never fits."""
        return all(
            key in resource_attributes and fnmatchcase(_text(resource_attributes[key]), glob)
            for key, glob in self.match.items()
        )


class ContractBook(msgspec.Struct, frozen=True):
    """All rules, in file order. `in_band`: honour the `orbitrelay.contract` resource attribute."""

    rules: tuple[Rule, ...] = ()
    in_band: bool = False

    def resolve(self, resource_attributes: Mapping[str, Any]) -> ResolvedContract | None:
        """Return what the session of these resource attributes is held against, or None where no rule is for it.

        An in-band contract (JSON object: role -> names, or {fields, accept}) takes the place of the rule's `contract`;
        the rule's roles and aliases stay. One that cannot be read is left out, and `notes` says why.
        """
        rule = next((rule.contract for rule in self.rules if rule.matches(resource_attributes)), None)
        if not self.in_band or IN_BAND_ATTRIBUTE not in resource_attributes:
            return rule
        base = rule or NO_CONTRACT
        try:
            contract = _read_in_band(resource_attributes[IN_BAND_ATTRIBUTE])
        except ValueError as error:
            note = f"in-band contract ignored: {error}"
            return msgspec.structs.replace(base, notes=(note,))
        return resolved("in-band", base.roles, base.aliases, contract)


_IN_BAND_LIMIT = 65_536


def _read_in_band(value: Any) -> dict[str, Requirement]:
    if not isinstance(value, str):
        raise ValueError(f"expected JSON text, got {type(value).__name__}")
    if len(value) > _IN_BAND_LIMIT:
        raise ValueError(f"longer than {_IN_BAND_LIMIT} characters")
    try:
        read = msgspec.json.decode(value, type=dict[str, tuple[str, ...] | _InBandRequirement])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error).lower()) from None
    contract: dict[str, Requirement] = {}
    for role, asked in read.items():
        fields, accept = (asked, "carried") if isinstance(asked, tuple) else (asked.fields, asked.accept)
        if twice := _first_twice(fields):
            raise ValueError(f"field {twice!r} stands twice in the contract of {role!r}")
        contract[role] = Requirement(fields, "visible" if accept == "visible" else "carried")
    return contract


class _InBandRequirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fields: tuple[str, ...]
    accept: Accept = "carried"


def _first_twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _text(value: Any) -> str:
    """An attribute value as a glob sees it: text as it is, anything else as JSON would write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
