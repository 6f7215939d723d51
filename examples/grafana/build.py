"""The dashboard, built from the table of names with Grafana's own types (`make dashboards`).

`python -m examples.grafana.build` writes dashboards/orbitrelay.json; a test holds the committed file to it. Separate from
the queries because it is layout: which question stands where, in which unit and colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from collector import semconv as s
from examples.grafana.queries import LE, label, labels, legend, mean, quantile, rate, series, share, total

FILE = Path(__file__).parent / "dashboards" / "orbitrelay.json"
SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
PAIR = (s.SOURCE_ROLE, s.TARGET_ROLE)
ROLE, SERVICE = '=~"$role"', '=~"$service"'
ASKED = {"target_role": ROLE, "service_name": SERVICE}
WINDOW, RANGE = "$window", "$__range"

GRADES = {
    "A": "green", "B": "light-green", "C": "yellow", "D": "orange", "F": "red", "unscored": "#808080",
}  # fmt: skip
OUTCOMES = {"PRESENT": "green", "EMPTY": "yellow", "MISSING": "red", "EXTRA": "blue", "UNRECORDED": "#808080"}

Steps = Sequence[tuple[float | None, str]]
BY_GRADE: Steps = ((None, "red"), (0.35, "orange"), (0.55, "yellow"), (0.75, "light-green"), (0.9, "green"))
NONE_IS_GOOD: Steps = ((None, "green"), (1e-9, "yellow"))
LITTLE_IS_GOOD: Steps = ((None, "green"), (0.05, "yellow"), (0.25, "red"))
NEUTRAL: Steps = ((None, "blue"),)


class Target(NamedTuple):
    """A query of a graph and how its series are named. `exemplar`: it also asks for the handoffs behind it."""

    expr: str
    legend: str
    exemplar: bool = False


def build() -> str:
    """Return the dashboard as JSON: the same text for the same table."""
    board = (
        dashboard.Dashboard("OrbitRelay")
        .uid("orbitrelay")
        .description(
            "Where multi-agent systems lose context: completeness of handoffs, and the collector that measures it."
        )
        .tags(["orbitrelay", "agents"])
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("service", "Service", series(s.M_HANDOFF_COMPLETENESS, "_count"), s.SERVICE_NAME))
        .with_variable(_variable("role", "Target role", series(s.M_HANDOFF_COUNT), s.TARGET_ROLE))
        .with_variable(
            dashboard.IntervalVariable("window")
            .label("Window")
            .description("How far back each point of a graph looks.")
            .values("15m,1h,6h,1d,7d")
            .current(models.VariableOption(text="1h", value="1h", selected=True))
        )
    )
    ids = count(1)
    for title, panels in (
        ("Relay completeness", _completeness()),
        ("Fields", _fields()),
        ("Latency and bottlenecks", _cost()),
        ("Sessions, and what has no score", _sessions()),
        ("The collector", _health()),
    ):
        board.with_row(dashboard.Row(title).id(next(ids)))
        for panel in panels:
            board.with_panel(panel.id(next(ids)))
    return JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"


def _completeness() -> Iterable[Any]:
    handoffs = series(s.M_HANDOFF_COUNT, target_role=ROLE)
    dropped = series(s.M_HANDOFF_COUNT, target_role=ROLE, status='="dropped"')
    unscored = series(s.M_HANDOFF_COUNT, target_role=ROLE, grade='="unscored"')
    yield _stat(
        "Mean completeness", "Mean over the contracted handoffs of the range.", 8, "percentunit", BY_GRADE,
        mean(s.M_HANDOFF_COMPLETENESS, RANGE, **ASKED),
    )  # fmt: skip
    yield _stat("Handoffs", "Handoffs of the range, contracted or not.", 4, "short", NEUTRAL, total(handoffs, RANGE))
    yield _stat(
        "Dropped", "Handoffs that were asked for and never taken up.", 4, "short", NONE_IS_GOOD,
        f"{total(dropped, RANGE)} or vector(0)",
    )  # fmt: skip
    yield _stat(
        "Unscored share", "Handoffs of which nobody knows what they carried, or that have no score by rule.",
        4, "percentunit", LITTLE_IS_GOOD, share(total(unscored, RANGE), total(handoffs, RANGE)),
    )  # fmt: skip
    yield _stat(
        "Sessions open", "Sessions that have not closed.", 4, "short", NEUTRAL, f"sum({series(s.M_SESSION_OPEN)})"
    )
    yield _pairs()
    yield _graph(
        "Completeness by role pair", "Mean completeness of contracted handoffs within the window.", "percentunit",
        Target(mean(s.M_HANDOFF_COMPLETENESS, WINDOW, *PAIR, **ASKED), legend(*PAIR)),
    ).max(1)  # fmt: skip
    buckets = series(s.M_HANDOFF_COMPLETENESS, "_bucket", le='=~"0.349999|0.549999|0.749999"', **ASKED)
    every = series(s.M_HANDOFF_COMPLETENESS, "_count", **ASKED)
    yield _graph(
        "Share of weak handoffs",
        "Contracted handoffs of a completeness of at most the bound: grades F, D and C. A point is one handoff; it leads to its trace.",
        "percentunit",
        Target(
            f"{total(buckets, WINDOW, LE)} / on () group_left () ({total(every, WINDOW)} > 0)", "at most {{le}}", True
        ),
    )
    yield _stacked(
        "Grade mix", "Handoffs by grade within the window.", GRADES, kinds.StackingMode.PERCENT,
        Target(total(handoffs, WINDOW, s.GRADE), legend(s.GRADE)),
    )  # fmt: skip


def _pairs() -> Any:
    counts = series(s.M_HANDOFF_COMPLETENESS, "_count", **ASKED)
    by = (*PAIR, s.MODE)
    names = {
        label(s.SOURCE_ROLE): "source", label(s.TARGET_ROLE): "target", label(s.MODE): "mode",
        "Value #A": "completeness", "Value #B": "handoffs",
    }  # fmt: skip
    return (
        _panel(table.Panel(), "Role pairs, weakest first", "Contracted handoffs of the range.", 12)
        .filterable(True)
        .with_target(_instant(mean(s.M_HANDOFF_COMPLETENESS, RANGE, *by, **ASKED), "A").format(PromQueryFormat.TABLE))
        .with_target(_instant(f"{total(counts, RANGE, *by)} > 0", "B").format(PromQueryFormat.TABLE))
        .with_transformation(models.DataTransformerConfig("merge", options={}))
        .with_transformation(
            models.DataTransformerConfig(
                "organize", options={"excludeByName": {"Time": True}, "renameByName": names, "indexByName": {}}
            )
        )
        .with_transformation(models.DataTransformerConfig("sortBy", options={"sort": [{"field": "completeness"}]}))
        .thresholds(_thresholds(BY_GRADE))
        .override_by_name(
            "completeness",
            [
                models.DynamicConfigValue("unit", "percentunit"),
                models.DynamicConfigValue("custom.cellOptions", {"type": "color-background"}),
            ],
        )
    )


def _fields() -> Iterable[Any]:
    by = (s.TARGET_ROLE, s.FIELD_NAME)
    named = legend(*by, between=": ")
    fields = s.M_HANDOFF_FIELDS
    missing = series(fields, target_role=ROLE, field_outcome='="MISSING"')
    empty = series(fields, target_role=ROLE, field_outcome='="EMPTY"')
    known = series(fields, target_role=ROLE, field_outcome='=~"PRESENT|EMPTY|MISSING"')
    yield _bars(
        "Fields most often missing", "Required fields that were not passed, over the range.",
        f"topk(15, {total(missing, RANGE, *by)} > 0)", named,
    )  # fmt: skip
    yield _bars(
        "Fields most often empty", "Required fields that were passed empty, over the range.",
        f"topk(15, {total(empty, RANGE, *by)} > 0)", named,
    )  # fmt: skip
    yield _graph(
        "Missing rate by field", "Share of required fields that were missing, of those where it can be known.",
        "percentunit", Target(f"{total(missing, WINDOW, *by)} / ({total(known, WINDOW, *by)} > 0)", named),
    )  # fmt: skip
    yield _stacked(
        "Field outcomes", "What became of the fields of contracted handoffs.", OUTCOMES, kinds.StackingMode.NORMAL,
        Target(total(series(fields, target_role=ROLE), WINDOW, s.FIELD_OUTCOME), legend(s.FIELD_OUTCOME)),
    )  # fmt: skip


def _cost() -> Iterable[Any]:
    found = series(s.M_BOTTLENECK_COUNT)
    yield _graph(
        "Handoff latency",
        "From a handoff's request to the start of its target. A point is one handoff; it leads to its trace.",
        "s",
        *(
            Target(quantile(q, s.M_HANDOFF_LATENCY, WINDOW, target_role=ROLE), f"p{q * 100:g}", q == 0.5)
            for q in (0.5, 0.9, 0.99)
        ),
    )
    yield _graph(
        "Latency by role pair, p90", "Ninetieth percentile within the window.", "s",
        Target(quantile(0.9, s.M_HANDOFF_LATENCY, WINDOW, *PAIR, target_role=ROLE), legend(*PAIR)),
    )  # fmt: skip
    yield _stacked(
        "Bottlenecks over time", "Bottlenecks of the sessions reported within the window.", {},
        kinds.StackingMode.NORMAL, Target(total(found, WINDOW, s.BOTTLENECK_KIND), legend(s.BOTTLENECK_KIND)),
    )  # fmt: skip
    yield _bars(
        "Bottlenecks by kind", "Bottlenecks of the sessions reported in the range.",
        f"{total(found, RANGE, s.BOTTLENECK_KIND)} > 0", legend(s.BOTTLENECK_KIND),
    )  # fmt: skip


def _sessions() -> Iterable[Any]:
    unscored = series(s.M_HANDOFF_COUNT, target_role=ROLE, grade='="unscored"')
    every = series(s.M_HANDOFF_COUNT, target_role=ROLE)
    yield _stacked(
        "Sessions by close reason", "Why sessions first closed. `idle` and `max_age`: nobody said that they ended.",
        {}, kinds.StackingMode.NORMAL,
        Target(total(series(s.M_SESSION_COUNT), WINDOW, s.CLOSE_REASON), legend(s.CLOSE_REASON)),
    )  # fmt: skip
    yield _graph(
        "Session completeness", "Mean of the sessions' own means, by service.", "percentunit",
        Target(
            mean(s.M_SESSION_COMPLETENESS, WINDOW, s.SERVICE_NAME, service_name=SERVICE), legend(s.SERVICE_NAME)
        ),
    ).max(1)  # fmt: skip
    yield _graph(
        "Unscored share by role pair",
        "Not recorded, dropped, a return without a contract, or a required field that nobody can know. Silence is not health.",
        "percentunit",
        Target(f"{total(unscored, WINDOW, *PAIR)} / ({total(every, WINDOW, *PAIR)} > 0)", legend(*PAIR)),
    ).max(1)
    yield _graph(
        "Reports and revisions", "Every report, and handoffs of which a later one says something else than was counted.",
        "short",
        Target(total(series(s.M_REPORT_COUNT), WINDOW), "reports"),
        Target(f"{total(series(s.M_HANDOFF_REVISED, target_role=ROLE), WINDOW)} or vector(0)", "handoffs revised"),
    )  # fmt: skip


def _health() -> Iterable[Any]:
    yield _graph(
        "Spans", "Spans a second.", "short",
        Target(rate(series(s.H_SPANS_ACCEPTED)), "accepted"),
        Target(rate(series(s.H_SPANS_REJECTED)), "rejected"),
        Target(rate(series(s.H_SPANS_LATE)), "late"),
        Target(rate(series(s.H_SPANS_DUPLICATE)), "duplicate"),
    )  # fmt: skip
    yield _graph(
        "Requests refused", "A second, by reason: senders are told to come back, or that they are wrong.", "short",
        Target(rate(series(s.H_REFUSED), s.REASON), legend(s.REASON)),
    )  # fmt: skip
    yield _graph(
        "Kept", "Journal and store on disk; what waits to be decoded, and spans held for annotation, in memory.", "bytes",
        Target(f"sum({series(s.H_JOURNAL_SIZE)})", "journal"),
        Target(f"sum({series(s.H_STORE_SIZE)})", "store"),
        Target(f"sum({series(s.H_QUEUE_SIZE)})", "queue"),
        Target(f"sum({series(s.H_FORWARD_HELD)})", "held"),
    )  # fmt: skip
    waiting = series(s.H_EXPORT_WAITING)
    yield _graph(
        "Waiting for downstream", "Entries of the outbox by destination.", "short",
        Target(f"sum by ({labels(s.DESTINATION)}) ({waiting})", legend(s.DESTINATION)),
    )  # fmt: skip
    yield _graph(
        "Exports in trouble", "Entries of the outbox tried again, refused for good, or dropped, a second.", "short",
        Target(rate(series(s.H_EXPORT_RETRIES), s.DESTINATION), f"tried again: {legend(s.DESTINATION)}"),
        Target(rate(series(s.H_EXPORT_PARKED), s.DESTINATION), f"refused: {legend(s.DESTINATION)}"),
        Target(rate(series(s.H_EXPORT_DROPPED), s.DESTINATION), f"dropped: {legend(s.DESTINATION)}"),
    )  # fmt: skip
    yield _graph(
        "Trouble", "A second: sessions not recovered, journal records not read, verdicts too late for their span.", "short",
        Target(rate(series(s.H_RECOVERY_FAILED)), "recovery failed"),
        Target(rate(series(s.H_JOURNAL_CORRUPT)), "journal corrupt"),
        Target(rate(series(s.H_JOURNAL_FAILED)), "journal failed"),
        Target(rate(series(s.H_FORWARD_EARLY)), "verdict too late"),
    )  # fmt: skip


# --- panels -----------------------------------------------------------------------------------------------------------


def _panel(panel: Any, title: str, description: str, width: int, height: int = 8) -> Any:
    return panel.title(title).description(description).datasource(SOURCE).span(width).height(height)


def _stat(title: str, description: str, width: int, unit: str, steps: Steps, expr: str) -> Any:
    return (
        _panel(stat.Panel(), title, description, width, 4)
        .unit(unit)
        .thresholds(_thresholds(steps))
        .graph_mode(kinds.BigValueGraphMode.NONE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .no_value("–")
        .with_target(_instant(expr, "A"))
    )


def _graph(title: str, description: str, unit: str, *targets: Target) -> Any:
    panel = (
        _panel(timeseries.Panel(), title, description, 12)
        .unit(unit)
        .min(0)
        .line_width(2)
        .show_points(kinds.VisibilityMode.AUTO)
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
        .legend(
            common.VizLegendOptions()
            .display_mode(kinds.LegendDisplayMode.LIST)
            .placement(kinds.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    for at, target in enumerate(targets):
        query = prometheus.Dataquery().expr(target.expr).range().legend_format(target.legend).datasource(SOURCE)
        panel.with_target(query.exemplar(target.exemplar).ref_id("ABCDEFGH"[at]))
    return panel


def _stacked(title: str, description: str, colours: dict[str, str], mode: kinds.StackingMode, target: Target) -> Any:
    panel = _graph(title, description, "short", target).stacking(common.StackingConfig().mode(mode)).fill_opacity(60)
    for name, colour in colours.items():
        panel.override_by_name(name, [models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})])
    return panel


def _bars(title: str, description: str, expr: str, named: str) -> Any:
    return (
        _panel(bargauge.Panel(), title, description, 12)
        .orientation(kinds.VizOrientation.HORIZONTAL)
        .display_mode(kinds.BarGaugeDisplayMode.BASIC)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(((None, "orange"),)))
        .min(0)
        .no_value("none")
        .with_target(_instant(expr, "A").legend_format(named))
    )


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    config = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE)
    return config.steps([models.Threshold(value=value, color=colour) for value, colour in steps])


def _instant(expr: str, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expr).instant().ref_id(ref).datasource(SOURCE)


def _variable(name: str, title: str, selector: str, attribute: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(title)
        .datasource(SOURCE)
        .query({"query": f"label_values({selector}, {label(attribute)})", "refId": name})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(text="All", value="$__all", selected=True))
    )


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(build(), encoding="utf-8", newline="\n")
