from __future__ import annotations

import pytest

from collector.config.values import Kind, ValueFaultError, parse, show, split_address


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (Kind.DURATION, "250ms", 0.25),
        (Kind.DURATION, "5m", 300.0),
        (Kind.DURATION, 15, 15.0),
        (Kind.DURATION, "0", 0.0),
        (Kind.SIZE, "16MiB", 16 << 20),
        (Kind.SIZE, "2gb", 2_000_000_000),
        (Kind.SIZE, 512, 512),
        (Kind.FLAG, "off", False),
        (Kind.FLAG, True, True),
        (Kind.COUNT, "7", 7),
        (Kind.LIST, "a, b", ("a", "b")),
        (Kind.LIST, ["a,b"], ("a,b",)),
        (Kind.PAIRS, "a=1,b=x=y", {"a": "1", "b": "x=y"}),
        (Kind.PAIRS, {"a": 1}, {"a": "1"}),
        (Kind.ENDPOINT, "[::1]:4317", "[::1]:4317"),
        (Kind.ENDPOINT, "", ""),
    ],
)
def test_a_value_means_the_same_wherever_it_is_written(kind: Kind, written: object, value: object) -> None:
    assert parse(kind, written) == value


@pytest.mark.parametrize(
    ("kind", "written", "fault"),
    [
        (Kind.DURATION, "5 minutes", "expected a duration such as '15s', '5m' or '6h', found '5 minutes'"),
        (Kind.DURATION, -1, "expected a duration such as '15s', '5m' or '6h', found -1"),
        (Kind.SIZE, True, "expected a size such as '16MiB', found True"),
        (Kind.COUNT, -3, "expected a whole number, 0 or more, found -3"),
        (Kind.COUNT, True, "expected a whole number, 0 or more, found True"),
        (Kind.COUNT, "\u00b2", "expected a whole number, 0 or more, found '\u00b2'"),
        (Kind.COUNT, 1 << 31, "expected at most 2147483647, found 2147483648"),
        (Kind.DURATION, "36501d", "expected at most 36500d, found '36501d'"),
        (Kind.SIZE, "1025TiB", "expected at most 1024TiB, found '1025TiB'"),
        (Kind.SIZE, "9" * 400 + "B", f"expected at most 1024TiB, found '{'9' * 76}..."),
        (Kind.ENDPOINT, "h:\u00b2", "expected an address such as '127.0.0.1:4317', or '' for none, found 'h:\u00b2'"),
        (Kind.FLAG, "maybe", "expected true or false, found 'maybe'"),
        (Kind.NUMBER, "nan", "expected a number, 0 or more, found 'nan'"),
        (Kind.LIST, 3, "expected a list of texts, found 3"),
        (Kind.PAIRS, "a", "expected a map of text to text, found 'a'"),
        (Kind.TEXT, ["a"], "expected text, found ['a']"),
        (Kind.ENDPOINT, "localhost", "expected an address such as '127.0.0.1:4317', or '' for none, found 'localhost'"),
        (Kind.ENDPOINT, "h:70000", "expected an address such as '127.0.0.1:4317', or '' for none, found 'h:70000'"),
    ],
)
def test_a_value_of_the_wrong_form_says_what_was_expected_and_found(kind: Kind, written: object, fault: str) -> None:
    with pytest.raises(ValueFaultError) as error:
        parse(kind, written)
    assert str(error.value) == fault


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (Kind.DURATION, 0.005, "5ms"),
        (Kind.DURATION, 90.0, "90s"),
        (Kind.DURATION, 86400.0, "1d"),
        (Kind.SIZE, 16 << 20, "16MiB"),
        (Kind.SIZE, 1000, "1000B"),
        (Kind.SIZE, 0, "0"),
        (Kind.FLAG, True, "true"),
        (Kind.LIST, ("a", "b"), "[a, b]"),
        (Kind.TEXT, "", "''"),
    ],
)
def test_a_value_is_shown_as_it_would_be_written(kind: Kind, value: object, written: str) -> None:
    assert show(kind, value) == written
    if kind in {Kind.DURATION, Kind.SIZE}:
        assert parse(kind, written) == value


def test_an_address_is_split_at_its_last_colon() -> None:
    assert [split_address(a) for a in ("127.0.0.1:80", "[::1]:0", "host:1")] == [
        ("127.0.0.1", 80),
        ("::1", 0),
        ("host", 1),
    ]
