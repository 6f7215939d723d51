"""Call something that may never return.

Separate because it is the only place that starts threads for others. A thread cannot be killed in Python: a call that
is late goes on in a daemon thread, with a copy of its input and nothing of the run, and what it returns is thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from orchestratorx.policy import DeadlineExceeded

__all__ = ["call_with_deadline"]

T = TypeVar("T")


def call_with_deadline(call: Callable[[], T], seconds: float) -> T:
    """What the call returns or raises, or DeadlineExceeded after `seconds`.

    Also turns what is no Exception (SystemExit and the like) into a RuntimeError: an agent does not end the process.
    """
    answer: list[T] = []
    failure: list[BaseException] = []
    context = copy_context()

    def run() -> None:
        try:
            answer.append(context.run(call))
        except BaseException as error:  # handed to the caller below
            failure.append(error)

    thread = threading.Thread(target=run, name="orchestratorx-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        error = failure[0]
        if isinstance(error, Exception):
            raise error
        raise RuntimeError(f"raised {type(error).__name__}") from error
    if not answer:
        raise DeadlineExceeded(f"no answer within {seconds:.3g} s")
    return answer[0]
