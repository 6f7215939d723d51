"""The vocabularies of a session's end: why it closed, and what its report may lack.

Separate so that the assembler, reports, metrics and documentation draw from one table each.
"""

from __future__ import annotations

from typing import Final

EXPLICIT: Final = "explicit"
ROOTS_ENDED: Final = "roots_ended"
IDLE: Final = "idle"
MAX_AGE: Final = "max_age"
DRAIN: Final = "drain"

CLOSE_REASONS: Final[dict[str, str]] = {
    EXPLICIT: "the session said so by an orbitrelay.session.end event",
    ROOTS_ENDED: "every root had ended, no parent was unresolved, and it was quiet for the grace time",
    IDLE: "it was quiet for the idle time",
    MAX_AGE: "it reached the maximum age",
    DRAIN: "the collector was told to report what was open",
}

UNRESOLVED_PARENTS: Final = "unresolved_parents"
UNENDED_SPANS: Final = "unended_spans"
SPAN_LIMIT: Final = "span_limit"
SIZE_LIMIT: Final = "size_limit"
SAMPLED: Final = "sampled"
DRAINED: Final = "drained"
UNREADABLE: Final = "unreadable"

PARTIAL_REASONS: Final[dict[str, str]] = {
    UNRESOLVED_PARENTS: "spans name parents that never arrived",
    UNENDED_SPANS: "roots never ended",
    SPAN_LIMIT: "the session passed the span limit; only its skeleton and both its ends were kept",
    SIZE_LIMIT: "the session passed the size limit; only its skeleton and both its ends were kept",
    SAMPLED: "its traces were sampled, so others of it may have been left out",
    DRAINED: "it was reported while open, because the collector was told to stop",
    UNREADABLE: "stored facts of it could not be read back",
}
