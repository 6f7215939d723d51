from __future__ import annotations

import re
from pathlib import Path

from collector import semconv
from collector.config import load, table
from collector.emit.downstream import RETRYABLE_CODES, RETRYABLE_STATUSES

PAGE = (Path(__file__).parents[3] / "docs" / "export.md").read_text()


def test_the_page_names_every_answer_that_is_tried_again() -> None:
    row = next(line for line in PAGE.splitlines() if "tried again: after 1 s" in line).partition("| tried again")[0]
    assert set(re.findall("`([A-Z_]+)`", row)) == {code.name for code in RETRYABLE_CODES} | {"RESOURCE_EXHAUSTED"}
    assert {int(number) for number in re.findall(r"\d{3}", row)} == RETRYABLE_STATUSES


def test_the_page_names_only_instruments_events_and_options_that_exist() -> None:
    named = set(re.findall(r"`((?:orbitrelay|export|traces|sessions|files)\.[a-z_.]+)`", PAGE))
    sections = {name.rpartition(".")[0] for name in table()}
    assert named - set(semconv.INSTRUMENTS) - set(semconv.EVENTS) - set(table()) - sections == set()
    assert len(named) > 10


def test_the_configuration_of_the_page_loads(tmp_path: Path) -> None:
    path = tmp_path / "orbitrelay.yaml"
    path.write_text(PAGE.split("```yaml\n")[1].split("```")[0])
    (tmp_path / "token").write_text("t")
    text = path.read_text().replace("/run/secrets/otlp-token", str(tmp_path / "token"))
    path.write_text(text)
    options = load(path, {}).options
    assert (options.traces.forward, options.export.metrics.protocol) == ("annotated", "http")
