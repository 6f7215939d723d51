"""Fields to outcomes: each handoff held against the contract of its target's role.

Separate from scoring because the outcomes are facts, and a score is an opinion about them. Names are compared
exactly, values only for emptiness (null, "", [] and {}; not 0, false or " "), and a field's own `required` flag is
not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Handoff, HandoffTrace, Json, Outcome, RoleContract

RETURN_SUFFIX = ".return"

_NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspection:
    """The outcome of every name at one handoff. Required names stand in contract order, the others in field order."""

    handoff: Handoff
    source_role: str
    target_role: str
    contract_role: str
    """The contract's key it was looked up by: the target's role, or `<role>.return` for a return."""
    contracted: bool
    """Whether the contract has that key; an empty list is a contract."""
    required: tuple[str, ...]
    present: tuple[str, ...]
    empty: tuple[str, ...]
    missing: tuple[str, ...]
    unrecorded: tuple[str, ...]
    extra: tuple[str, ...]
    history: tuple[str, ...]
    """Names with `seen_in: history` that the contract does not accept; those that it lists are MISSING too."""

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """Yield each name with its outcome: the required ones in contract order, then the extra ones."""
        empty, missing, unrecorded = set(self.empty), set(self.missing), set(self.unrecorded)
        for name in self.required:
            if name in missing:
                yield name, Outcome.MISSING
            elif name in empty:
                yield name, Outcome.EMPTY
            elif name in unrecorded:
                yield name, Outcome.UNRECORDED
            else:
                yield name, Outcome.PRESENT
        for name in self.extra:
            yield name, Outcome.EXTRA


def is_empty(value: Json) -> bool:
    """Tell whether a field's value is one of the four that count as empty: null, "", [] and {}."""
    return value is None or value == "" or ((value.__class__ is list or value.__class__ is dict) and not value)


def inspect(trace: HandoffTrace) -> tuple[Inspection, ...]:
    """Inspect every handoff of a trace, in relay order."""
    roles = {agent.agent_id: agent.role for agent in trace.agents}
    contract = trace.contract
    made = []
    for handoff in trace.handoffs:
        target_role = roles[handoff.target_agent]
        contract_role = target_role + RETURN_SUFFIX if handoff.is_return else target_role
        made.append(
            _inspect(handoff, roles[handoff.source_agent], target_role, contract_role, contract.get(contract_role))
        )
    return tuple(made)


def _inspect(
    handoff: Handoff, source_role: str, target_role: str, contract_role: str, contract: RoleContract | None
) -> Inspection:
    visible = contract is not None and contract.accept == "visible"
    bag: dict[str, Json] = {}
    history: list[str] = []
    for field in handoff.fields:
        if visible or field.seen_in != "history":
            bag[field.name] = field.value
        else:
            history.append(field.name)
    required = contract.fields if contract is not None else _NOTHING
    present: list[str] = []
    empty: list[str] = []
    absent: list[str] = []
    for name in required:
        if name not in bag:
            absent.append(name)
        elif is_empty(bag[name]):
            empty.append(name)
        else:
            present.append(name)
    found = len(present) + len(empty)
    extra: tuple[str, ...] = _NOTHING
    if found != len(bag):
        listed = set(required)
        extra = tuple(name for name in bag if name not in listed)
    knowable = handoff.recorded and not handoff.truncated
    return Inspection(
        handoff,
        source_role,
        target_role,
        contract_role,
        contract is not None,
        required,
        required if len(present) == len(required) else tuple(present),
        tuple(empty) if empty else _NOTHING,
        tuple(absent) if absent and knowable else _NOTHING,
        tuple(absent) if absent and not knowable else _NOTHING,
        extra,
        tuple(history) if history else _NOTHING,
    )
