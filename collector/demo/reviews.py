"""OrchestratorX as a guest of the demonstration: a program in an environment of its own, which may be missing.

Separate because it is the one part of the demonstration that may fail and cost nothing but itself.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

PATIENCE = 90.0


class ReviewsError(Exception):
    """Why there are no reviews, in one line."""


def contracts(program: Path) -> list[dict[str, Any]]:
    """The rules of its contracts file. Raises ReviewsError where it is not installed or does not work."""
    if not program.exists():
        raise ReviewsError(f"OrchestratorX could not be installed ({program.parents[1] / 'install.log'} says why)")
    rules: list[dict[str, Any]] = yaml.safe_load(_run(program, "contracts", {}))["rules"]
    return rules


def play(program: Path, endpoint: str) -> int:
    """Review the demo's books, sending spans to an OTLP/HTTP endpoint; how many reviews there were."""
    said = _run(
        program, "demo", {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    )
    return len(re.findall(r"^\[\d+\] ", said, re.M))


def _run(program: Path, command: str, settings: Mapping[str, str]) -> str:
    # nobody's own settings of OpenTelemetry or OrchestratorX, and no proxy on the way to loopback
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "ORCHESTRATORX_"))}
    try:
        done = subprocess.run(  # noqa: S603  # the program that the caller named
            [program, command],
            env={**kept, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReviewsError(f"OrchestratorX did not run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ReviewsError(
            f"OrchestratorX ended with code {done.returncode}: {lines[-1] if lines else 'it said nothing'}"
        )
    return done.stdout
