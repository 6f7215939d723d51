"""Session keys: precedence, scope, and ids as producers write them."""

from __future__ import annotations

from typing import Any

import pytest

from collector.sessions.keys import SessionKey, claims, unquote

ALL = {
    "session.id": "s",
    "gen_ai.conversation.id": "c",
    "traceloop.association.properties.session_id": "a",
    "thread": "t",
    "group": "g",
}


def order(values: dict[str, Any], root: bool = True) -> list[tuple[str, str]]:
    found = claims(values, root=root, start_ns=5, span_id="0" * 16)
    return [(claim.key.kind, claim.key.value) for claim in sorted(found)]


def test_the_highest_key_comes_first() -> None:
    assert order(ALL) == [
        ("session", "s"),
        ("conversation", "c"),
        ("association", "a"),
        ("thread", "t"),
        ("group", "g"),
    ]


def test_a_conversation_id_below_the_root_gives_way_to_all_else() -> None:
    assert order(ALL, root=False) == [
        ("session", "s"), ("association", "a"), ("thread", "t"), ("group", "g"), ("conversation", "c"),
    ]  # fmt: skip


def test_the_roots_claim_speaks_for_the_trace_else_the_earliest_spans() -> None:
    def claim(value: str, root: bool, start_ns: int, span_id: str = "a") -> Any:
        return claims({"session.id": value}, root=root, start_ns=start_ns, span_id=span_id)[0]

    late_root, early, later, tied = (
        claim("r", True, 9),
        claim("e", False, 1),
        claim("l", False, 2),
        claim("t", False, 1, "b"),
    )
    assert sorted([tied, later, early, late_root]) == [late_root, early, tied, later]


def test_tenant_and_environment_scope_every_key_and_service_the_weak_ones() -> None:
    found = claims(ALL, root=True, start_ns=1, span_id="a", tenant="T", environment="E", service="S")
    assert [claim.key for claim in found] == [
        SessionKey("session", "s", "T", "E"),
        SessionKey("conversation", "c", "T", "E", "S"),
        SessionKey("association", "a", "T", "E"),
        SessionKey("thread", "t", "T", "E", "S"),
        SessionKey("group", "g", "T", "E", "S"),
    ]
    assert len({claim.key.id() for claim in found}) == 5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "abc"),
        ('"abc"', "abc"),
        ('"\\"abc\\""', "abc"),
        (' "ä b" ', "ä b"),
        ('"', '"'),
        ('"a" and "b"', '"a" and "b"'),
        ('""', ""),
        ("  ", ""),
        (42, "42"),
        (None, ""),
        (True, ""),
        (["a"], ""),
        ("[Scrubbed due to 'session']", ""),
        ("__REDACTED__", ""),
        ("********", ""),
        ("None", ""),
        ('"null"', ""),
        ("undefined", ""),
        ("none-7", "none-7"),
    ],
)
def test_ids_are_unquoted(value: Any, text: str) -> None:
    assert unquote(value) == text


def test_an_empty_id_is_no_id() -> None:
    assert order({"session.id": '""', "thread": "t"}) == [("thread", "t")]


def test_what_a_filter_wrote_in_place_of_ids_joins_no_sessions() -> None:
    assert order({"session.id": "[Scrubbed due to 'session']", "thread": "t"}) == [("thread", "t")]


def test_an_id_is_the_same_everywhere_and_numbered_from_the_second_generation_on() -> None:
    key = SessionKey("session", "sess-1")
    assert (key.id(), key.id(2)) == ("999c7b1bbd73ea5b614e", "999c7b1bbd73ea5b614e~2")
