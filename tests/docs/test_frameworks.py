"""docs/frameworks.md: one row a convention, saying the same switch that `doctor` says."""

from __future__ import annotations

import re
from pathlib import Path

from collector.conventions.registry import BUILT_IN

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def rows() -> dict[str, str]:
    """Name of the convention -> what its row says of content."""
    out = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 4:
            out.update(dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[3]))
    return out


def test_every_convention_has_one_row() -> None:
    assert sorted(rows()) == sorted(c.name for c in BUILT_IN)


def test_the_page_says_the_switch_that_doctor_says() -> None:
    for convention in BUILT_IN:
        variables = re.findall(r"[A-Z][A-Z0-9]+_[A-Z0-9_]+", convention.content_switch)
        said = rows()[convention.name]
        assert convention.content_switch
        for variable in variables:
            family = variable.rsplit("_", 1)[0]
            assert variable in said or family.startswith("OPENINFERENCE_HIDE"), (convention.name, variable)
