"""Alert and recording rules: names from the table, and behaviour by Prometheus' own unit tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import get_args

import pytest
import yaml

from collector.engine import Reason
from collector.receive.answers import Answer
from tests.examples import promql

PROMETHEUS = promql.ROOT / "examples" / "prometheus"


def test_rules_ask_for_nothing_that_the_collector_cannot_give() -> None:
    names = promql.exposed()
    for rule in promql.rules():
        assert promql.strangers(rule["expr"], names) == [], rule.get("alert", rule.get("record"))
        if "record" in rule:
            names[rule["record"]] = frozenset(promql.grouped(rule["expr"]))


def test_an_alert_says_what_it_is_about() -> None:
    for rule in promql.rules():
        if "alert" not in rule:
            continue
        text = " ".join(rule["annotations"].values())
        assert rule["annotations"]["summary"], rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}, rule["alert"]
        kept = promql.grouped(rule["expr"]) or {label for each in promql.exposed().values() for label in each}
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= kept, rule["alert"]


def test_refusals_are_told_apart_by_reasons_that_there_are() -> None:
    refusing = [rule["expr"] for rule in promql.rules() if "requests_refused" in rule["expr"]]
    named = {reason for expr in refusing for found in re.findall(r'orbitrelay_reason[=!]~"([^"]*)"', expr) for reason in found.split("|")}  # fmt: skip
    retryable = {*get_args(Reason), *(each.name.lower() for each in Answer if each.value.retryable), "failed"}
    assert named == retryable - {"overloaded"}, "`overloaded` always says which reason"


def test_every_alert_has_a_unit_test() -> None:
    tests = yaml.safe_load((PROMETHEUS / "tests" / "orbitrelay.yml").read_text(encoding="utf-8"))["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", ()) if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in promql.rules() if "alert" in rule}


@pytest.mark.services
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "rules/orbitrelay.yml"],
        ["test", "rules", "tests/orbitrelay.yml"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_promtool_agrees(arguments: list[str]) -> None:
    program = shutil.which("promtool")
    assert program, "install Debian's package `prometheus`"
    ran = subprocess.run([program, *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
