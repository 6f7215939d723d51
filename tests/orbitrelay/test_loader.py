"""Loading, where the frozen vectors do not reach: Python data, paths, streams, hostile sizes."""

from __future__ import annotations

import enum
import io
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from orbitrelay import (
    ABSENT,
    Agent,
    ContextField,
    Handoff,
    HandoffTrace,
    Number,
    Origin,
    RoleContract,
    TraceError,
    Turn,
    Usage,
    dumps,
    dumps_line,
    from_document,
    iter_traces,
    load,
    load_contract,
    loads,
)
from tests.orbitrelay.worlds import AGENTS, Json, document, field, handoff, origin


def message(value: Any) -> str:
    with pytest.raises(TraceError) as caught:
        loads(value) if isinstance(value, bytes) else from_document(value)
    return str(caught.value)


def test_every_key_has_its_place_in_the_model() -> None:
    made = document(
        {
            **handoff(1, fields=[field("goal", 1, required=True, state="full", seen_in="history", odd=1)]),
            "latency_ms": Number("1.50"),
            "recorded": True,
            "truncated": True,
            "status": "dropped",
            "run": "r",
            "origin": origin("return"),
            "odd": [],
        },
        contract={"a": ["x"], "b": {"fields": [], "accept": "visible"}},
        agents=[{"agent_id": agent, "role": agent, "capabilities": ["c"], "model": "m"} for agent in AGENTS],
        turns=[
            {
                "turn_id": "t1",
                "agent_id": "pln",
                "tick": 1,
                "text": None,
                "tokens": 3,
                "usage": {"input_tokens": 1, "output_tokens": None, "odd": 1},
            }
        ],
        odd=None,
    )
    assert from_document(made) == HandoffTrace(
        trace_id="t",
        contract={"a": RoleContract(("x",)), "b": RoleContract((), "visible", as_object=True)},
        agents=tuple(Agent(agent, agent, ("c",), "m") for agent in AGENTS),
        turns=(Turn("t1", "pln", 1, None, 3, Usage(1, None, {"odd": 1}), ABSENT),),
        handoffs=(
            Handoff(
                "h1",
                "pln",
                "cod",
                1,
                "go on",
                Number("1.50"),
                (ContextField("goal", "note", 1, True, "full", "history", ("state",), {"odd": 1}),),
                truncated=True,
                status="dropped",
                run="r",
                origin=Origin("a", "b", "c", "return", "explicit"),
                stated=("recorded",),
                extra={"odd": []},
            ),
        ),
        extra={"odd": None},
    )


def test_a_trace_loads_from_bytes_and_from_a_path(tmp_path: Path) -> None:
    data = dumps(document(handoff(1)))
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    assert load(data) == load(path) == load(str(path)) == loads(data)


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dumps(document()))))
    assert load("-").trace_id == "t"


def test_a_stream_holds_one_trace_at_a_time() -> None:
    class Lines:
        given = 0

        def __iter__(self) -> Any:
            for i in range(3):
                self.given = i + 1
                yield dumps_line(document(trace_id=str(i)))

    lines = Lines()
    for i, trace in enumerate(iter_traces(lines)):
        assert (trace.trace_id, lines.given) == (str(i), i + 1)


class Color(enum.StrEnum):
    RED = "red"


class Number5(enum.IntEnum):
    FIVE = 5


def test_python_data_of_related_types_is_taken_as_the_json_it_stands_for() -> None:
    made: Json = document(
        handoff(1, fields=[field("goal", (1.5, Color.RED, Number5.FIVE, MappingProxyType({"a": 1e-7})))])
    )
    made["handoffs"] = tuple(made["handoffs"])
    made["handoffs"][0]["latency_ms"] = 0.1
    read = from_document(MappingProxyType(made)).handoffs[0]
    assert read.latency_ms == Number("0.1")
    assert read.fields[0].value == [Number("1.5"), "red", 5, {"a": Number("0.0000001")}]
    assert [type(one) for one in read.fields[0].value] == [Number, str, int, dict]


def test_the_document_given_is_not_changed() -> None:
    made = document(handoff(1, fields=["goal"]))
    from_document(made)
    assert made == document(handoff(1, fields=["goal"]))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "value is NaN, which is no JSON number"),
        (float("-inf"), "value is -Infinity, which is no JSON number"),
        (b"x", "value is a Python 'bytes', which JSON does not have"),
        ({1: 2}, "value has a key that is no text but number 1"),
        ({"\ud800": 2}, "value has a key '\\ud800' with a lone surrogate"),
        (["\udfff"], "value[0] holds a lone surrogate"),
        (10**1000, "value is an integer of over 1000 digits"),
        (Number("1e400"), "value is '1e400', a number out of range"),
        (Number("01"), "value is '01', which is no JSON number"),
        (Number("5"), "value is '5', which is no JSON number"),
        (Number("1.0\n"), "value is '1.0\\u000a', which is no JSON number"),
        ({1, 2}, "value is a Python 'set', which JSON does not have"),
    ],
)
def test_python_data_that_is_no_json_is_refused_naming_its_place(value: Any, said: str) -> None:
    assert message(document(handoff(1, fields=[field("goal", value)]))) == f"handoffs[0] (h1): fields[0] (goal): {said}"


def test_python_data_that_holds_itself_is_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert message(document(metadata={"a": loop})) == "trace: metadata nesting over 100"


@pytest.mark.parametrize("levels", [101, 500, 2_000, 100_000])
def test_nesting_is_refused_alike_however_deep_it_is(levels: int) -> None:
    deep = b"[" * levels + b"]" * levels
    data = dumps(document(handoff(1, fields=[field("goal", "@")]))).replace(b'"@"', deep)
    assert message(data) == "handoffs[0] (h1): fields[0] (goal): value nesting over 100"
    assert message(b'{"a": ' * levels + b"1" + b"}" * levels) == "trace: a nesting over 100"
    assert message(deep) == "trace: [0] nesting over 100"
    assert message(b"[" * levels) == "line 1 column 101: nesting over 100"


def test_nesting_comes_before_what_else_is_wrong() -> None:
    deep = b"[" * 101 + b"]" * 101
    assert message(b'{"trace_id": 7, "x": ' + deep + b"}") == "trace: x nesting over 100"


def test_a_fault_of_syntax_before_the_depth_is_the_one_reported() -> None:
    assert message(b"[1 2" + b"[" * 200).startswith("line 1 column 4: malformed JSON")


def test_brackets_in_strings_are_no_nesting() -> None:
    made = document(metadata={"a": "[{" * 1000, 'b"\\': ["\\", '"[']})
    assert loads(dumps(made)).metadata == made["metadata"]


def test_a_call_from_deep_down_still_gives_a_trace_error() -> None:
    data = dumps(document(metadata={"a": [[[[1]]]]}))

    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            loads(data)

    descend(100)


def test_the_depth_allowed_is_one_hundred() -> None:
    value: Any = 1
    for _ in range(95):
        value = [value]
    assert loads(dumps(document(handoff(1, fields=[field("goal", value)])))).handoffs[0].fields[0].value == value


def test_integers_of_a_thousand_digits_are_kept_whatever_limit_the_interpreter_sets() -> None:
    limit = sys.get_int_max_str_digits()
    data = dumps(document(metadata={"a": "@"})).replace(b'"@"', b"-" + b"9" * 1000)
    sys.set_int_max_str_digits(640)
    try:
        trace = loads(data)
        assert trace.metadata["a"] == -(10**1000 - 1)
        assert dumps(dict(trace.metadata)) == b'{\n  "a": -' + b"9" * 1000 + b"\n}\n"
    finally:
        sys.set_int_max_str_digits(limit)


def test_a_contract_is_read_on_its_own() -> None:
    assert load_contract(b'{"a": ["x"], "b": {"fields": ["y"], "accept": "visible"}}') == {
        "a": RoleContract(("x",)),
        "b": RoleContract(("y",), "visible", as_object=True),
    }
    with pytest.raises(TraceError, match=r"^contract \(a\): field 'x' is named twice$"):
        load_contract(b'{"a": ["x", "x"]}')
    with pytest.raises(TraceError, match=r"^contract: a nesting over 100$"):
        load_contract(b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}")


def test_a_long_id_and_a_long_key_do_not_flood_the_message() -> None:
    said = message(document({**handoff(1), "handoff_id": "h" * 10_000, "tick": "x" * 10_000}))
    assert said == f"handoffs[0]: tick must be an integer, found string '{'x' * 40}'... (+9960 characters)"
    assert len(message(document(metadata={"k" * 10_000: float("nan")}))) < 300
