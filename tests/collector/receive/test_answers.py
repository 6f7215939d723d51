from __future__ import annotations

from pathlib import Path

import pytest
from google.rpc.status_pb2 import Status

from collector.receive.answers import Answer, RefusedError

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.mark.parametrize("answer", list(Answer), ids=lambda answer: answer.name)
def test_the_page_has_every_answer_as_it_is_given(answer: Answer) -> None:
    row = answer.value
    line = f"| {row.http} | {row.grpc.name} | {'yes' if row.retryable else 'no'} | {row.when} | {row.advice} |"
    assert line in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_has_no_answer_that_is_never_given() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Answers")[2].partition("\n## ")[0]
    rows = [
        line.split(" | ")[0].strip("| ") for line in table.splitlines() if line.startswith("| ") and line[2].isdigit()
    ]
    assert sorted(rows) == sorted(["200", *(str(answer.value.http) for answer in Answer)])


@pytest.mark.parametrize(("given", "seconds"), [(0.0, 1.0), (7.5, 7.5)])
def test_a_retryable_answer_always_says_when_and_a_permanent_one_never(given: float, seconds: float) -> None:
    assert RefusedError(Answer.OVERLOADED, "memory is short", "memory", given).retry_after == seconds
    permanent = RefusedError(Answer.MALFORMED, "no OTLP", retry_after=given)
    assert (permanent.retry_after, permanent.reason) == (0.0, "malformed")
    status = Status.FromString(permanent.body("protobuf"))
    assert (status.code, status.message, len(status.details)) == (3, "no OTLP", 0)
