"""What a decoder raises when a whole request cannot be read, apart so that receivers need no decoder to catch it."""

from __future__ import annotations


class MalformedError(ValueError):
    """A request that is no OTLP: sending it again cannot help.

    One line: what was expected, what was found, and where (a JSON path, a protobuf path or a byte). `permanent` is what
    a receiver asks of any error of intake: HTTP 400 and INVALID_ARGUMENT where it is true.
    """

    permanent = True

    def __init__(self, expected: str, found: str, where: str = "$") -> None:
        super().__init__(f"expected {expected}, found {found} at {where}")
        self.expected = expected
        self.found = found
        self.where = where
