"""Laws that hold for every trace, and agreement with the independent oracle."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbitrelay import (
    HandoffTrace,
    Number,
    TraceError,
    analyse,
    dumps,
    from_document,
    inspect,
    loads,
    score,
    trace_to_document,
    trace_to_json,
)
from orbitrelay.dossier import dossier
from orbitrelay.text import visible
from tests.orbitrelay import oracle
from tests.orbitrelay.worlds import Json, documents, field

law = settings(deadline=None, max_examples=120, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def scores(document: Json) -> list[float | None]:
    return [handoff.score for handoff in score(inspect(from_document(document))).handoffs]


@law
@given(documents(), st.randoms(use_true_random=False))
def test_order_of_fields_changes_no_score(document: Json, random: Any) -> None:
    before = scores(document)
    for handoff in document["handoffs"]:
        random.shuffle(handoff["fields"])
    assert scores(document) == before


@law
@given(documents())
def test_adding_a_present_required_field_never_lowers_a_score(document: Json) -> None:
    before = inspect(from_document(document))
    old = scores(document)
    for handoff, inspection in zip(document["handoffs"], before, strict=True):
        wanted = {*inspection.missing, *inspection.unrecorded, *inspection.empty}
        handoff["fields"] = [one for one in handoff["fields"] if one["name"] not in wanted]
        handoff["fields"] += [field(name) for name in inspection.required if name in wanted]
    for was, now in zip(old, scores(document), strict=True):
        assert was is None or (now is not None and now >= was)


@law
@given(documents())
def test_scores_lie_between_zero_and_one_and_have_six_decimals(document: Json) -> None:
    for value in scores(document):
        assert value is None or (0 <= value <= 1 and value == round(value, 6))


@law
@given(documents())
def test_what_was_written_loads_to_the_same_trace(document: Json) -> None:
    trace = from_document(document)
    written = trace_to_json(trace)
    assert loads(written) == trace
    assert trace_to_document(trace) == document
    assert trace_to_json(loads(written)) == written


@law
@given(documents())
def test_bytes_and_python_data_give_the_same_trace(document: Json) -> None:
    assert loads(dumps(document)) == from_document(document)


@law
@given(documents())
def test_outcome_counts_add_up(document: Json) -> None:
    for inspection in inspect(from_document(document)):
        found = [name for name, _ in inspection.outcomes()]
        judged = (*inspection.present, *inspection.empty, *inspection.missing, *inspection.unrecorded)
        assert sorted(judged) == sorted(inspection.required)
        assert found == [*inspection.required, *inspection.extra]
        carried = {one.name for one in inspection.handoff.fields} - set(inspection.history)
        assert carried == {*inspection.present, *inspection.empty, *inspection.extra}


@law
@given(documents())
def test_the_report_agrees_with_the_oracle(document: Json) -> None:
    assert_agrees_with_the_oracle(dumps(document))


def assert_agrees_with_the_oracle(data: bytes, contract: bytes | None = None) -> None:
    """Hold what the product prints of a document against what the oracle computes of it."""
    plain = oracle.read(data)
    if contract is not None:
        plain["contract"] = oracle.read(contract)
    report = analyse(loads(dumps_again(plain) if contract is not None else data)).report()
    printed = json.loads(dumps(report), parse_float=str, parse_int=str)
    for handoff, inspected, scored in zip(
        plain["handoffs"], printed["inspect"]["handoffs"], printed["score"]["handoffs"], strict=True
    ):
        expected = oracle.outcomes(plain, handoff)
        assert {key: inspected[key] for key in expected} == expected
        exact = oracle.score(plain, handoff)
        assert scored["score"] == (oracle.shown(exact) if exact is not None else None)
        assert scored["grade"] == (oracle.grade(exact) if exact is not None else None)
        assert {key: scored[key] for key in expected} == {key: str(len(names)) for key, names in expected.items()}
    mean, contracted, weakest = oracle.means(plain)
    totals = printed["score"]
    assert (totals["mean_score"], totals["mean_contracted"], totals["weakest_handoff"]) == (mean, contracted, weakest)
    assert [
        (one["kind"], one["subject"], one["severity"], one["measured"], one["threshold"], one["handoff_ids"])
        for one in printed["bottlenecks"]["bottlenecks"]
    ] == oracle.bottlenecks(plain)


def dumps_again(value: Any) -> bytes:
    """Write what the oracle read, its numbers as their texts."""

    def real(one: Any) -> Any:
        if isinstance(one, oracle.Text):
            return Number(str(one))
        if isinstance(one, dict):
            return {key: real(item) for key, item in one.items()}
        return [real(item) for item in one] if isinstance(one, list) else one

    return dumps(real(value))


@law
@given(st.binary(max_size=60))
def test_any_bytes_give_a_trace_or_a_trace_error(data: bytes) -> None:
    assert_one_line(lambda: loads(data))


@settings(law, max_examples=250)
@given(documents(), st.data())
def test_a_damaged_document_gives_a_trace_or_a_trace_error(document: Json, data: st.DataObject) -> None:
    whole = dumps(document)
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start, min(start + 4, len(whole))))
    junk = data.draw(
        st.sampled_from([b"", b'"', b"{", b"]", b"\\", b"\x00", b"\xff", b"1e999", b"null", b"NaN", b"-0", b"\xef"])
    )
    trace = assert_one_line(lambda: loads(whole[:start] + junk + whole[end:]))
    if trace is not None:
        dumps(analyse(trace).report())
        dossier(analyse(trace))


def assert_one_line(make: Callable[[], HandoffTrace]) -> HandoffTrace | None:
    """Make a trace, or see that what is wrong with it is said in one line that any terminal can show."""
    try:
        return make()
    except TraceError as error:
        message = str(error)
    assert message
    assert visible(message) == message
    return None


@law
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.binary(max_size=2),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["trace_id", "handoffs", "agents", "fields", "contract", "turns", "metadata", "\ud800"]
                ),
                inner,
                max_size=7,
            )
        ),
    )
)
def test_any_python_data_gives_a_trace_or_a_trace_error(document: Any) -> None:
    assert_one_line(lambda: from_document(document))
