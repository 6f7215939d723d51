"""What the environment can set: one table, which the README prints and a test compares.

Separate so that importing the package reads no environment: settings are read when a command or the API starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["OPTIONS", "Option", "Settings", "SettingsError", "data_directory"]


class SettingsError(ValueError):
    """A variable that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Option:
    """One environment variable: the field of Settings it sets, how it is read, its default as text."""

    variable: str
    field: str
    read: Callable[[str], Any]
    default: str
    about: str


def _between(low: float, high: float, kind: Callable[[str], float]) -> Callable[[str], Any]:
    def read(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise ValueError(f"expected {low:g} to {high:g}")
        return value

    return read


def data_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where runs are kept unless ORCHESTRATORX_DB says otherwise."""
    home = environ.get("XDG_DATA_HOME") or environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".local" / "share") / "orchestratorx"


OPTIONS: tuple[Option, ...] = (
    Option("ORCHESTRATORX_DB", "database", str, "", "SQLAlchemy URL of the registry; empty: SQLite in the user's data"),
    Option("ORCHESTRATORX_TOKEN", "token", str, "", "bearer token that the API asks for; empty: none"),
    Option("ORCHESTRATORX_LLM", "llm", str, "fake", "fake, claude, gemini, openai or ollama"),
    Option("ORCHESTRATORX_LLM_MODEL", "llm_model", str, "", "model name; empty: the backend's default"),
    Option("ORCHESTRATORX_LLM_TIMEOUT", "llm_timeout", _between(0.01, 600, float), "15", "seconds for one model call"),
    Option("ORCHESTRATORX_HOP_BUDGET", "hop_budget", _between(1, 1000, int), "12", "dispatches a run may make"),
    Option(
        "ORCHESTRATORX_SPECIALIST_TIMEOUT",
        "specialist_timeout",
        _between(0.01, 600, float),
        "10",
        "seconds for one visit to a specialist, retries included",
    ),
    Option("ORCHESTRATORX_MAX_BODY", "max_body", _between(1, 2**30, int), "1048576", "bytes of a request's body"),
    Option("ORCHESTRATORX_MAX_RUNS", "max_runs", _between(1, 1000, int), "8", "runs at a time; more are answered 429"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process."""

    database: str
    token: str
    llm: str
    llm_model: str | None
    llm_timeout: float
    hop_budget: int
    specialist_timeout: float
    max_body: int
    max_runs: int

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read every option; raises SettingsError."""
        found: dict[str, Any] = {}
        for option in OPTIONS:
            text = environ.get(option.variable, "").strip() or option.default
            try:
                found[option.field] = option.read(text)
            except ValueError as error:
                raise SettingsError(f"{option.variable}: {error}, found {text!r}") from None
        found["llm"] = found["llm"].lower()
        found["llm_model"] = found["llm_model"] or None
        found["database"] = found["database"] or f"sqlite:///{data_directory(environ) / 'runs.db'}"
        return cls(**found)
