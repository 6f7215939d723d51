from __future__ import annotations

from typing import Any

import msgspec
import pytest

from collector.contracts import NO_CONTRACT, ContractBook, Requirement, ResolvedContract, load

FILE = b"""\
version: 1
rules:
  - name: billing
    match: {service.name: "billing-*", deployment.environment.name: "prod*"}
    roles: {engineer: ["engineer", "*-dev"], lead: ["*"]}
    aliases: {goal: [objective, Main Aim]}
    contract:
      engineer: [goal, rootCause]
      reviewer: {fields: [task], accept: visible}
      planner.return: [findings]
  - contract:
      writer: []
"""


def rule(resource: dict[str, Any], book: ContractBook | None = None) -> ResolvedContract:
    found = (book or load(FILE)).resolve(resource)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ({"service.name": "billing-eu", "deployment.environment.name": "prod-1"}, "billing"),
        ({"service.name": "billing-eu"}, ""),
        ({"service.name": "Billing-eu", "deployment.environment.name": "prod"}, ""),
        ({}, ""),
    ],
)
def test_the_first_rule_whose_globs_all_fit_wins(resource: dict[str, Any], name: str) -> None:
    assert rule(resource).name == name


def test_no_rule_for_a_resource_resolves_to_none() -> None:
    book = load(b"version: 1\nrules:\n  - match: {n: '7'}\n    contract: {a: [x]}\n")
    assert book.resolve({"n": 8}) is None
    assert book.resolve({"n": 7}) is not None


def test_role_comes_from_the_pattern_then_the_attribute_then_the_name() -> None:
    billing = rule({"service.name": "billing-eu", "deployment.environment.name": "prod"})
    assert billing.role_of("lisa-dev", "Tester") == "engineer"
    assert billing.role_of("Lisa-Dev", "Tester") == "lead"
    assert rule({}).role_of("Lisa-Dev", "Tester") == "Tester"
    assert rule({}).role_of("ReviewAgent_2") == "review"
    assert NO_CONTRACT.role_of("eng-1") == "eng"


def test_role_pattern_is_tried_on_the_snake_case_name_too() -> None:
    book = load(b"version: 1\nrules:\n  - roles: {planner: ['*_planner']}\n    contract: {}\n")
    assert rule({}, book).role_of("TripPlanner") == "planner"


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("objective", "goal"),
        ("mainAim", "goal"),
        ("Goal", "goal"),
        ("root_cause", "rootCause"),
        ("rootCause", "rootCause"),
        ("Findings", "findings"),
        ("loadEvidence", "load_evidence"),
    ],
)
def test_field_names_become_the_contracts_own(name: str, canonical: str) -> None:
    assert rule({"service.name": "billing-", "deployment.environment.name": "prod"}).canonical_field(name) == canonical


def test_document_writes_accept_only_where_it_is_not_the_default() -> None:
    assert rule({"service.name": "billing-", "deployment.environment.name": "prod"}).document() == {
        "engineer": ["goal", "rootCause"],
        "reviewer": {"fields": ["task"], "accept": "visible"},
        "planner.return": ["findings"],
    }


def test_resolved_contract_survives_msgpack() -> None:
    contract = rule({"service.name": "billing-", "deployment.environment.name": "prod"})
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(contract), type=ResolvedContract) == contract


def test_hash_follows_what_is_asked_and_nothing_else() -> None:
    def hash_of(text: str) -> str:
        return rule({}, load(f"version: 1\nrules:\n  - {text}\n".encode())).hash

    base = hash_of("contract: {a: [x, y]}")
    assert base == "b19f972a2c0927c0b3169084d7c2396ed0493b51d79a26f8e0f9e497db348f03"
    assert hash_of("{name: other, match: {}, contract: {a: [y, x]}}") == base
    assert hash_of("contract: {a: [x]}") != base
    assert hash_of("{roles: {a: [q]}, contract: {a: [x, y]}}") != base
    assert hash_of("contract: {a: {fields: [x, y], accept: visible}}") != base


def test_in_band_contract_is_used_only_when_switched_on() -> None:
    resource = {"orbitrelay.contract": '{"engineer": ["plan"], "writer": {"fields": ["tone"], "accept": "visible"}}'}
    assert rule(resource).contract == {"writer": Requirement(())}
    used = rule(resource, load(FILE, in_band=True))
    assert (used.name, used.contract, used.notes) == (
        "in-band",
        {"engineer": Requirement(("plan",)), "writer": Requirement(("tone",), "visible")},
        (),
    )


def test_in_band_contract_keeps_the_rules_roles_and_aliases() -> None:
    book = load(FILE, in_band=True)
    resource = {
        "service.name": "billing-1",
        "deployment.environment.name": "prod",
        "orbitrelay.contract": '{"a": ["aim"]}',
    }
    used = rule(resource, book)
    assert used.role_of("x-dev") == "engineer"
    assert used.canonical_field("objective") == "goal"


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("{", "in-band contract ignored: input data was truncated"),
        (7, "in-band contract ignored: expected json text, got int"),
        ('{"a": ["x", "x"]}', "in-band contract ignored: field 'x' stands twice in the contract of 'a'"),
        ('{"a": [1]}', "in-band contract ignored: expected `str`, got `int` - at `$[...][0]`"),
        ("[" * 70_000, "in-band contract ignored: longer than 65536 characters"),
        ("[" * 60_000, "in-band contract ignored: expected `object`, got `array`"),
    ],
)
def test_unreadable_in_band_contract_is_left_out_and_noted(value: Any, note: str) -> None:
    used = rule({"orbitrelay.contract": value}, load(FILE, in_band=True))
    assert used.contract == {"writer": Requirement(())}
    assert [each.lower() for each in used.notes] == [note]
