"""Tests of deadline.py."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from orchestratorx.deadline import call_with_deadline
from orchestratorx.policy import DeadlineExceeded

name: ContextVar[str] = ContextVar("name", default="nobody")


def test_an_answer_in_time_is_returned_also_when_it_is_none() -> None:
    assert (call_with_deadline(lambda: 7, 5), call_with_deadline(lambda: None, 5)) == (7, None)


def test_an_error_is_raised_as_it_is() -> None:
    empty: dict[str, int] = {}
    with pytest.raises(KeyError, match="k"):
        call_with_deadline(lambda: empty["k"], 5)


def test_a_late_answer_is_a_missed_deadline() -> None:
    release = threading.Event()
    with pytest.raises(DeadlineExceeded, match=r"no answer within 0.02 s"):
        call_with_deadline(lambda: release.wait(10), 0.02)
    release.set()


def test_what_would_end_the_process_is_an_error() -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="raised KeyboardInterrupt"):
        call_with_deadline(leave, 5)


def test_the_context_goes_along_and_changes_do_not_come_back() -> None:
    token = name.set("caller")

    def look() -> str:
        seen = name.get()
        name.set("callee")
        return seen

    assert (call_with_deadline(look, 5), name.get()) == ("caller", "caller")
    name.reset(token)
