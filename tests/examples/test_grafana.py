"""The dashboard and what provisions it: built from the table of names, and nothing in it that the table does not have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from collector import semconv
from examples.grafana import build
from examples.grafana.queries import series
from tests.examples import promql

GRAFANA = promql.ROOT / "examples" / "grafana"


def test_the_dashboard_is_the_one_that_the_table_gives() -> None:
    assert promql.DASHBOARD.read_text(encoding="utf-8") == build.build(), "run `make dashboards`"


def test_it_asks_for_nothing_that_the_collector_cannot_give() -> None:
    names = promql.exposed()
    assert {title: found for title, target in promql.panels() if (found := promql.strangers(promql.filled(target["expr"]), names))} == {}  # fmt: skip


def test_it_names_series_only_by_labels_that_they_have() -> None:
    for title, target in promql.panels():
        kept = promql.grouped(promql.filled(target["expr"]))
        assert set(re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))) <= kept, title


def test_it_shows_every_instrument_of_sessions() -> None:
    asked = {each.metric for _, target in promql.panels() for each in promql.selectors(promql.filled(target["expr"]))}
    shown = {name for name in semconv.STORED_INSTRUMENTS if any(each.startswith(name.replace(".", "_")) for each in asked)}  # fmt: skip
    assert shown == set(semconv.STORED_INSTRUMENTS)


def test_a_name_that_is_not_in_the_table_cannot_be_written() -> None:
    with pytest.raises(KeyError):
        series("orbitrelay.handoff.completness", "_sum")
    with pytest.raises(ValueError, match=r"orbitrelay\.session\.count has no attribute orbitrelay\.handoff\.grade"):
        series(semconv.M_SESSION_COUNT, grade='="A"')
    with pytest.raises(ValueError, match="is a histogram, asked for with part ''"):
        series(semconv.M_HANDOFF_COMPLETENESS)


def test_its_variables_list_what_there_is() -> None:
    board = json.loads(promql.DASHBOARD.read_text(encoding="utf-8"))
    variables = {each["name"]: each.get("query") for each in board["templating"]["list"]}
    assert {name: query["query"] if isinstance(query, dict) else query for name, query in variables.items()} == {
        "datasource": "prometheus",
        "service": "label_values(orbitrelay_handoff_completeness_count, service_name)",
        "role": "label_values(orbitrelay_handoff_count_total, orbitrelay_handoff_target_role)",
        "window": "15m,1h,6h,1d,7d",
    }
    used = set(re.findall(r"\$(\w+)", " ".join(target["expr"] for _, target in promql.panels())))
    assert used == {"role", "service", "window", "__range", "__rate_interval"}


def test_grafanas_own_types_read_it_back_whole() -> None:
    register_default_plugins()
    text = promql.DASHBOARD.read_text(encoding="utf-8")
    read = Dashboard.from_json(json.loads(text))
    assert json.loads(JSONEncoder().encode(read)) == json.loads(text)
    ids = [panel["id"] for panel in json.loads(text)["panels"]]
    assert len(ids) == len(set(ids))


def test_panels_stand_beside_and_under_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(promql.DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


def test_exemplars_lead_to_the_data_source_of_traces() -> None:
    sources = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "orbitrelay.yaml").read_text(encoding="utf-8"))
    by_uid = {each["uid"]: each for each in sources["datasources"]}
    (destination,) = by_uid["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert destination["name"] == "trace_id"
    assert by_uid[destination["datasourceUid"]]["type"] == "jaeger"
    marked = {title for title, target in promql.panels() if target.get("exemplar")}
    assert marked == {"Share of weak handoffs", "Handoff latency"}
    assert all(
        any(each.metric.endswith("_bucket") for each in promql.selectors(promql.filled(target["expr"])))
        for _, target in promql.panels()
        if target.get("exemplar")
    ), "exemplars stand on buckets"


def test_the_weak_handoffs_are_those_under_the_bounds_of_the_table() -> None:
    (expr,) = {target["expr"] for title, target in promql.panels() if title == "Share of weak handoffs"}
    bounds = re.search(r'le=~"([^"]*)"', expr)
    assert bounds is not None
    assert bounds[1].split("|") == [str(bound) for bound in semconv.GRADE_BOUNDS[:3]]


def test_the_folder_of_dashboards_is_where_compose_puts_it() -> None:
    (provider,) = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "orbitrelay.yaml").read_text())["providers"]
    assert Path(provider["options"]["path"]) == Path("/var/lib/grafana/dashboards")
