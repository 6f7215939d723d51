from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.contracts import ContractBook, ContractError, load
from collector.contracts.loader import MAX_BYTES

DOCS = Path(__file__).parents[3] / "docs"
HEAD = "version: 1\nrules:\n"

FAULTS = [
    ("", "c.yaml: empty; a contract file starts with 'version: 1'"),
    ("[]", "c.yaml:1:1: $: expected a mapping, got a list (and 2 more)"),
    ("rules: []", "c.yaml:1:1: $: the key 'version' is missing; expected 'version: 1'"),
    ("version: 2\nrules: []", "c.yaml:1:10: $.version: expected 1, the only version there is, got the number '2'"),
    ("version: 1", "c.yaml:1:1: $: the key 'rules' is missing; expected a list of rules"),
    ("version: 1\nrules: {}", "c.yaml:2:8: $.rules: expected a list of rules, got a mapping"),
    (
        "version: 1\nrules: []\nrulez: []",
        "c.yaml:3:1: $: unknown key 'rulez'; did you mean 'rules'?; known are version, rules",
    ),
    (
        HEAD + "  - contrakt: {a: [x]}\n    contract: {}",
        "c.yaml:3:5: $.rules[0]: unknown key 'contrakt'; did you mean 'contract'?; "
        "known are name, match, roles, aliases, contract",
    ),
    (
        HEAD + "  - name: x",
        "c.yaml:3:5: $.rules[0]: the key 'contract' is missing; expected role -> required field names",
    ),
    (
        HEAD + "  - contract:\n      a: [x]\n      a: [y]",
        "c.yaml:5:7: $.rules[0].contract: the key 'a' stands twice, first on line 4; keep one",
    ),
    (
        HEAD + "  - contract: {a: [x, 7]}",
        "c.yaml:3:23: $.rules[0].contract.a[1]: expected a field name, got the number '7'; "
        "quote it if a field name is meant",
    ),
    (
        HEAD + "  - contract: {a: [no]}",
        "c.yaml:3:20: $.rules[0].contract.a[0]: expected a field name, got the boolean 'no'; "
        "quote it if a field name is meant",
    ),
    (
        HEAD + "  - contract: {a: }",
        "c.yaml:3:19: $.rules[0].contract.a: expected a list of field names, got nothing",
    ),
    (
        HEAD + "  - contract: {a: goal}",
        "c.yaml:3:19: $.rules[0].contract.a: expected a list of field names, got the text 'goal'",
    ),
    (
        HEAD + "  - contract: {a: [x, x]}",
        "c.yaml:3:23: $.rules[0].contract.a[1]: 'x' stands twice in this list; keep one",
    ),
    (
        HEAD + "  - contract: {a: ['']}",
        "c.yaml:3:20: $.rules[0].contract.a[0]: expected a field name, got an empty text",
    ),
    (
        HEAD + '  - contract: {a: ["x\\n"]}',
        "c.yaml:3:20: $.rules[0].contract.a[0]: expected a field name without control characters, got the text 'x\\n'",
    ),
    (
        HEAD + "  - contract: {a: {fields: [x], acept: visible}}",
        "c.yaml:3:33: $.rules[0].contract.a: unknown key 'acept'; did you mean 'accept'?; known are fields, accept",
    ),
    (
        HEAD + "  - contract: {a: {fields: [x], accept: visble}}",
        "c.yaml:3:41: $.rules[0].contract.a.accept: expected 'carried' or 'visible', got the text 'visble'; "
        "did you mean 'visible'?",
    ),
    (
        HEAD + "  - contract: {a: {accept: visible}}",
        "c.yaml:3:19: $.rules[0].contract.a: the key 'fields' is missing; expected a list of field names",
    ),
    (
        HEAD + "  - contract: {a: [rootCause], b: [root_cause]}",
        "c.yaml:3:5: $.rules[0]: fields 'rootCause' and 'root_cause' are one name in snake_case; use one spelling",
    ),
    (
        HEAD + "  - contract: {a: [aim]}\n    aliases: {goal: [aim]}",
        "c.yaml:3:5: $.rules[0]: 'aim' is an alias of 'goal' and a field itself; drop one",
    ),
    (
        HEAD + "  - contract: {}\n    aliases: {goal: [aim], task: [Aim]}",
        "c.yaml:4:34: $.rules[0].aliases.task: 'Aim' is an alias of 'goal' too; a name stands for one field",
    ),
    (
        HEAD + "  - contract: {}\n    match: {host.cpu: 4}",
        "c.yaml:4:23: $.rules[0].match.host.cpu: expected a glob, got the number '4'; quote it if a glob is meant",
    ),
    (
        HEAD + "  - contract: {? [a] : [x]}",
        "c.yaml:3:18: $.rules[0].contract: expected a role, got a list",
    ),
    (
        HEAD + "  - contract: !!python/object:os.system {}",
        "c.yaml:3:15: $.rules[0].contract: expected a mapping, "
        "got a value tagged 'tag:yaml.org,2002:python/object:os.syste...'",
    ),
    ("version: 1\nrules: [", "c.yaml:3:1: not YAML: while parsing a flow node did not find expected node content"),
    (
        "version: 1\n---\nversion: 1",
        "c.yaml:2:1: not YAML: expected a single document in the stream but found another document",
    ),
    ("version: 1\nrules: " + "[" * 30, "c.yaml:2:27: nested deeper than 20 levels"),
    ("version: 1\nrules: [*r]", "c.yaml:2:9: not YAML: found undefined alias"),
    (
        HEAD + "  - &r {contract: {a: [x]}}\n  - {<<: *r}",
        "c.yaml:4:6: $.rules[1]: merge keys ('<<') are not read; write the entries out or alias a whole value "
        "(and 1 more)",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_each_fault_is_named_by_line_path_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(text.encode(), name="c.yaml")
    assert str(caught.value) == message
    assert "\n" not in str(caught.value)


def test_every_fault_of_a_file_is_found_at_once() -> None:
    text = HEAD + "  - contract: {a: [7], b: [8]}\n    nane: x"
    with pytest.raises(ContractError) as caught:
        load(text.encode(), name="c.yaml")
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (4, "$.rules[0]"),
        (3, "$.rules[0].contract.a[0]"),
        (3, "$.rules[0].contract.b[0]"),
    ]


def test_a_file_with_a_hundred_faults_names_twenty() -> None:
    text = HEAD + "  - contract: {a: [" + ", ".join(map(str, range(100))) + "]}"
    with pytest.raises(ContractError) as caught:
        load(text.encode())
    assert len(caught.value.problems) == 20


def test_anchors_are_read_and_a_bomb_of_them_is_refused_quickly() -> None:
    shared = HEAD + "  - contract: {a: &f [x, y], b: *f}\n"
    assert load(shared.encode()).rules[0].contract.document() == {"a": ["x", "y"], "b": ["x", "y"]}
    names = ", ".join(f"n{index}" for index in range(300))
    bomb = HEAD + f"  - contract: &c\n      r: &f [{names}]\n" + "".join(f"      r{i}: *f\n" for i in range(400))
    with pytest.raises(ContractError, match="more than 100000 values, counted as often as aliases repeat them"):
        load(bomb.encode())
    cycle = HEAD + "  - &r [*r]\n"
    with pytest.raises(ContractError, match="expected a mapping, got a list"):
        load(cycle.encode())


def test_a_path_is_read_and_named_and_a_missing_one_said(tmp_path: Path) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\nrules: []\n")
    assert load(path) == load(str(path)) == ContractBook()
    with pytest.raises(ContractError, match=r"none\.yaml: cannot be read: No such file or directory$"):
        load(tmp_path / "none.yaml")


def test_too_large_and_not_utf8_are_refused() -> None:
    with pytest.raises(ContractError, match="larger than 1048576 bytes"):
        load(b" " * (MAX_BYTES + 1))
    with pytest.raises(ContractError, match="not UTF-8 at byte 2"):
        load(b"a:\xff")


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.binary(max_size=60), st.text(alphabet="{}[]:,-&*!'\"\n abversion1rules", max_size=60).map(str.encode))
)
def test_any_bytes_load_or_raise_a_contract_error(data: bytes) -> None:
    with suppress(ContractError):
        load(data)


def schema() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((DOCS / "contracts.schema.json").read_text())
    return read


def test_the_schema_is_valid_and_refuses_what_the_loader_refuses_by_shape() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())
    by_shape = ("unknown key", "missing", "expected", "stands twice in this list")
    for text, message in FAULTS:
        if (
            "not YAML" in message
            or "tagged" in message
            or "empty;" in message
            or "$.rules[0].contract: expected" in message
        ):
            continue
        if any(phrase in message for phrase in by_shape):
            assert not validator.is_valid(yaml.safe_load(text)), message


def test_the_example_of_the_docs_loads_and_fits_the_schema() -> None:
    page = (DOCS / "contracts.md").read_text()
    examples = [block.split("```", 1)[0] for block in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        assert load(example.encode()).rules
        jsonschema.validate(yaml.safe_load(example), schema())
