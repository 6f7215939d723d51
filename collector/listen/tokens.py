"""Bearer tokens that a listener accepts.

Separate from the servers because gRPC and HTTP ask the same question, and because tokens rotate while the servers run.

Rules:
- a token comes from an environment variable or a file that an option names, and is never in a message, a log or a repr;
- comparison takes the same time whatever was sent;
- a file that turns unreadable or empty while running keeps the tokens that were in force, and says so.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from collector.config.options import Auth
from collector.listen.errors import StartError


class Tokens:
    """The tokens of one listener. `now` gives Unix seconds."""

    def __init__(self, auth: Auth, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self._auth = auth
        self._environment = environment
        self._now = now
        self._accepted: list[tuple[bytes, float]] = []
        self.reload()

    @property
    def demanded(self) -> bool:
        """Whether the listener asks for a token at all."""
        return bool(self._auth.token_env or self._auth.token_file)

    @property
    def file(self) -> str:
        """The file to watch, or "" for none."""
        return self._auth.token_file

    def reload(self) -> None:
        """Read the tokens again. Raises `StartError` and keeps what was in force."""
        accepted: list[tuple[bytes, float]] = []
        if self._auth.token_env:
            accepted.append((self._environment.get(self._auth.token_env, "").strip().encode(), float("inf")))
        if self._auth.token_file:
            accepted.extend(_read(Path(self._auth.token_file)))
        accepted = [(token, until) for token, until in accepted if token]
        if self.demanded and not accepted:
            raise StartError(f"expected a token in {self._auth.token_file or self._auth.token_env!r}, found none")
        self._accepted = accepted

    def fault(self, authorization: str | None) -> str:
        """Why an `authorization` header is not accepted, or "" where it is."""
        if not self.demanded:
            return ""
        if not authorization:
            return "expected the header 'authorization: Bearer TOKEN', found none"
        scheme, _, sent = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return "expected the header 'authorization: Bearer TOKEN', found another scheme"
        given, until = sent.strip().encode("utf-8", "surrogateescape"), 0.0
        for token, end in self._accepted:
            if hmac.compare_digest(token, given):
                until = max(until, end)
        if not until:
            return "the bearer token is not one that is accepted here"
        return "" if self._now() < until else "the bearer token has expired"


def _read(path: Path) -> list[tuple[bytes, float]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise StartError(f"cannot read the token file {str(path)!r}: {reason}") from error
    tokens = []
    for number, line in enumerate(text.splitlines(), 1):
        token, *until = line.split()[:2] or [""]
        if token and not token.startswith("#"):
            tokens.append((token.encode(), _time(path, number, until[0]) if until else float("inf")))
    return tokens


def _time(path: Path, line: int, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise StartError(
            f"{path}:{line}: expected an ISO 8601 time after the token, such as '2027-01-31T00:00:00Z'"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
