"""Tests of settings.py: the defaults, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestratorx.orchestrator import Limits
from orchestratorx.settings import OPTIONS, Settings, SettingsError


def test_an_empty_environment_gives_the_defaults(tmp_path: Path) -> None:
    assert Settings.from_environment({"XDG_DATA_HOME": str(tmp_path)}) == Settings(
        database=f"sqlite:///{tmp_path / 'orchestratorx' / 'runs.db'}",
        token="",
        llm="fake",
        llm_model=None,
        llm_timeout=15.0,
        hop_budget=Limits().hop_budget,
        specialist_timeout=Limits().specialist_seconds,
        max_body=1024 * 1024,
        max_runs=8,
    )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ORCHESTRATORX_HOP_BUDGET", "0", "ORCHESTRATORX_HOP_BUDGET: expected 1 to 1000, found '0'"),
        ("ORCHESTRATORX_HOP_BUDGET", "many", "ORCHESTRATORX_HOP_BUDGET: invalid literal"),
        ("ORCHESTRATORX_LLM_TIMEOUT", "nan", "ORCHESTRATORX_LLM_TIMEOUT: expected 0.01 to 600, found 'nan'"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(variable: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.from_environment({variable: value})


@pytest.mark.parametrize("page", ["README.md", "README.ar.md"])
def test_both_readmes_list_every_option_with_its_default(page: str) -> None:
    text = (Path(__file__).parents[1] / page).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `ORCHESTRATORX_")]
    assert [row.split("|")[1].strip(" `") for row in rows] == [option.variable for option in OPTIONS]
    for row, option in zip(rows, OPTIONS, strict=True):
        assert row.split("|")[2].strip(" `") == (option.default or "–")
