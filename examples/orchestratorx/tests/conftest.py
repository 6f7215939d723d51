"""No test reads the settings of whoever runs it, and none leaves anything behind in their home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("quick", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prefixes = ("ORCHESTRATORX_", "OTEL_", "LANGSMITH_", "LANGCHAIN_", "ANTHROPIC_", "GEMINI_", "OPENAI_", "OLLAMA_")
    for name in list(os.environ):
        if name.startswith(prefixes) and not name.startswith("ORCHESTRATORX_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "*")
