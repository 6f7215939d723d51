"""docs/grafana.md names every panel, alert and address that there is."""

from __future__ import annotations

import json
import re

import yaml

from tests.examples import promql

PAGE = (promql.ROOT / "docs" / "grafana.md").read_text(encoding="utf-8")


def test_the_page_has_every_row_and_its_panels_in_order() -> None:
    rows: dict[str, list[str]] = {}
    for panel in json.loads(promql.DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        if panel["type"] == "row":
            titles = rows[panel["title"]] = []
        else:
            titles.append(panel["title"])
    for row, titles in rows.items():
        assert f"| {row} | {', '.join(titles)} |" in PAGE


def test_the_page_has_every_alert() -> None:
    alerts = [rule["alert"] for rule in promql.rules() if "alert" in rule]
    assert re.findall(r"^\| `(\w+)` \| ", PAGE, re.MULTILINE) == alerts


def test_the_page_has_every_published_port() -> None:
    services = yaml.safe_load((promql.ROOT / "examples" / "compose" / "compose.yaml").read_text(encoding="utf-8"))
    published = {each.split(":")[1] for one in services["services"].values() for each in one.get("ports", ())}
    assert set(re.findall(r"localhost:(\d+)", PAGE)) == published
