"""What PromQL expressions ask for, by a real parser, and what the table of names can answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import yaml

from collector import semconv
from collector.emit.openmetrics import family_name, label_name

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "examples" / "grafana" / "dashboards" / "orbitrelay.json"
RULES = ROOT / "examples" / "prometheus" / "rules" / "orbitrelay.yml"
OF_A_SCRAPE = frozenset({"job", "instance"})
OVERFLOW = label_name(semconv.OVERFLOW)


class Asked(NamedTuple):
    """A metric, and the labels that it is chosen by."""

    metric: str
    labels: frozenset[str]


def selectors(expr: str) -> list[Asked]:
    """The selectors of an expression."""
    found: list[Asked] = []

    def visit(node: promql_parser.Expr) -> None:
        selector = node.vector_selector if isinstance(node, promql_parser.MatrixSelector) else node
        if isinstance(selector, promql_parser.VectorSelector):
            assert selector.name
            found.append(Asked(selector.name, frozenset(each.name for each in selector.matchers.matchers)))

    promql_parser.walk(promql_parser.parse(expr), visit)
    return found


def grouped(expr: str) -> set[str]:
    """The labels that an expression groups or matches by."""
    found: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier:
            found.update(node.modifier.labels)
        if isinstance(node, promql_parser.BinaryExpr) and node.modifier and node.modifier.matching:
            found.update(node.modifier.matching.labels)

    promql_parser.walk(promql_parser.parse(expr), visit)
    return found


def exposed() -> dict[str, frozenset[str]]:
    """Every sample name that /metrics can have, and its labels in Prometheus."""
    names = {"up": OF_A_SCRAPE}
    for each in semconv.INSTRUMENTS.values():
        family = family_name(each.name, each.unit)
        labels = OF_A_SCRAPE | {label_name(name) for name in each.attributes} | {OVERFLOW}
        if each.kind == "histogram":
            names |= {f"{family}_bucket": labels | {"le"}, f"{family}_sum": labels, f"{family}_count": labels}
        else:
            names[f"{family}_total" if each.kind == "counter" else family] = labels
    return names


def strangers(expr: str, names: dict[str, frozenset[str]]) -> list[str]:
    """What an expression asks for and no collector can give."""
    asked = selectors(expr)
    unknown = [each.metric for each in asked if each.metric not in names]
    known = [each for each in asked if each.metric in names]
    unknown += [f"{each.metric}: {label}" for each in known for label in sorted(each.labels - names[each.metric])]
    every = frozenset[str]().union(*(names[each.metric] for each in known))
    return unknown + sorted(grouped(expr) - every)


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Title and query of each panel's targets."""
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target


def filled(expr: str, window: str = "1h") -> str:
    """An expression with Grafana's variables at their defaults."""
    for name, value in (("__range", window), ("__rate_interval", window), ("window", window), ("role", ".*"), ("service", ".*")):  # fmt: skip
        expr = expr.replace(f"${name}", value)
    assert "$" not in expr, expr
    return expr


def rules() -> Iterator[dict[str, Any]]:
    """The rules of the rule file, in the order in which they are evaluated."""
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]
