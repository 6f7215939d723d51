"""A real Prometheus with the example's configuration and rules scrapes a collector: what panels and alerts ask is answered.

The collector is given sessions of three frameworks, with handoffs that lose fields, are dropped or not recorded, and trouble:
a downstream that is away, one that refuses for good, requests and spans that are malformed, spans twice and late.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from tests.examples import promql

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]
Serving = Callable[..., AbstractContextManager[Any]]
CAPTURES = promql.ROOT / "tests" / "conformance" / "captures"
SESSIONS = {
    "strands-agents__native-swarm": "handoffs that lose fields",
    "openai-agents__openinference": "a handoff that is dropped",
    "openai-agents-chat__openinference": "enough handoffs for a rate",
    "langgraph-swarm__openinference__freight-loop-nocontent": "handoffs that are not recorded",
}
CONTRACTS = """
version: 1
rules:
  - contract:
      researcher: [goal, objective, constraints, artifacts]
      engineer: [goal, objective, constraints, artifacts]
      reviewer: [goal, objective, constraints, artifacts]
"""
MALFORMED = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "00", "spanId": "01", "name": "no ids"}]}]}]}


class Scraped(NamedTuple):
    """A Prometheus that has scraped a collector after all that was sent to it had been reported."""

    url: str
    sessions: list[dict[str, Any]]
    metrics: str

    def ask(self, path: str, **query: str) -> Any:
        """Data of an answer of its API; fails with what it says where it is no success."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=query, timeout=10).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The instant vector of an expression."""
        result: list[dict[str, Any]] = self.ask("query", query=expr)["result"]
        return result

    def value(self, expr: str) -> float:
        """The value of an expression of one series."""
        (series,) = self.query(expr)
        return float(series["value"][1])


def requests(name: str) -> list[bytes]:
    """A capture's requests; two captures of one program are two sessions."""
    lines = (CAPTURES / name / "traces.otlp.jsonl").read_bytes().splitlines()
    return [line.replace(b'"sess-pay-412"', b'"sess-pay-413"') if "chat" in name else line for line in lines]


class Refusing(BaseHTTPRequestHandler):
    """A downstream that refuses for good."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(400)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def trouble(process: Any) -> None:
    """Send what is refused, rejected, late or a duplicate."""
    receiver = f"http://{process.address('receive.http')}/v1/traces"
    json_type = {"content-type": "application/json"}
    assert httpx.post(receiver, content=b"{", headers=json_type).status_code == 400
    assert httpx.post(receiver, json=MALFORMED).json()["partialSuccess"]["rejectedSpans"] in (1, "1")
    process.play(requests("strands-agents__native-swarm"))


@pytest.fixture(scope="module")
def scraped(
    serving: Serving, free_ports: Callable[[int], list[int]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scraped]:
    program = shutil.which("prometheus")
    assert program, "install Debian's package `prometheus`"
    folder: Path = tmp_path_factory.mktemp("prometheus")
    port, nobody = free_ports(2)
    refusing = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=refusing.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    (folder / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
    options = {
        "contracts.file": str(folder / "contracts.yaml"),
        "sessions.idle": "3s",
        "traces.forward": "annotated",
        "export.traces.endpoint": f"http://127.0.0.1:{nobody}",
        "export.logs.endpoint": f"http://127.0.0.1:{refusing.server_address[1]}",
        "export.logs.protocol": "http",
    }
    with serving(folder / "data", options) as process:
        config = yaml.safe_load(
            (promql.ROOT / "examples" / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")
        )
        config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
        config["rule_files"] = [str(promql.RULES)]
        config["scrape_configs"][0]["static_configs"] = [{"targets": [process.address("admin.http")]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        command = [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        ]
        with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as prometheus:
            try:
                first, *others = SESSIONS
                half = len(requests(first)) // 2
                process.play(requests(first)[:half])
                process.closed()  # by idle: its root is still to come
                for name in others:
                    process.play(requests(name))
                process.play(requests(first)[half:])
                process.until(
                    lambda: (
                        (s := process.sessions())
                        and len(s) == len(SESSIONS)
                        and any(each["revision"] > 1 for each in s)
                    ),
                    40,
                    "no second revision",
                )
                trouble(process)
                metrics = process.get("/metrics").text
                answer = Scraped(f"http://127.0.0.1:{port}", process.sessions(), metrics)
                process.until(lambda: seen(answer, "orbitrelay_collector_export_parked_total"), 60, "not scraped")
                trouble(process)
                # A rate needs two scrapes that differ, and the next try may be some seconds away when Prometheus comes up.
                for total in ("spans_rejected_total", "export_retries_total"):
                    rate = f"rate(orbitrelay_collector_{total}[5m]) > 0"
                    process.until(lambda rate=rate: seen(answer, rate), 90, f"no {rate}")
                yield answer
            finally:
                prometheus.terminate()
                refusing.shutdown()
                refusing.server_close()


def seen(prometheus: Scraped, expr: str) -> bool:
    """Whether an expression has data by now."""
    try:
        return bool(prometheus.query(expr))
    except httpx.TransportError:
        time.sleep(0.2)
        return False


def produced(scraped: Scraped) -> set[str]:
    """Names of the samples that the collector gives."""
    return {line.split("{")[0].split(" ")[0] for line in scraped.metrics.splitlines() if not line.startswith("#")}


NOTHING_LOST = {"orbitrelay_collector_export_dropped_total"}
"""Produced by no session here: the outbox has room."""
NOTHING_BROKE = {
    "orbitrelay_collector_recovery_failed_total",
    "orbitrelay_collector_journal_corrupt_total",
    "orbitrelay_collector_journal_failed_total",
}


def test_all_but_the_worst_has_been_produced(scraped: Scraped) -> None:
    asked = {each.metric for _, target in promql.panels() for each in promql.selectors(promql.filled(target["expr"]))}
    assert asked - produced(scraped) == NOTHING_LOST | NOTHING_BROKE


def test_every_panel_has_data(scraped: Scraped) -> None:
    empty = []
    now = time.time()
    for title, target in promql.panels():
        expr = promql.filled(target["expr"])
        if target["instant"]:
            result = scraped.query(expr)
        else:
            result = scraped.ask("query_range", query=expr, start=f"{now - 300}", end=f"{now}", step="5")["result"]
        if not result:
            empty.append((title, target["legendFormat"].split(":")[0]))
    assert empty == [
        ("Exports in trouble", "dropped"),
        ("Trouble", "recovery failed"),
        ("Trouble", "journal corrupt"),
        ("Trouble", "journal failed"),
    ]


def test_panels_show_what_the_reports_say(scraped: Scraped) -> None:
    shown = {
        title: scraped.value(promql.filled(target["expr"]))
        for title, target in promql.panels()
        if title in {"Mean completeness", "Handoffs", "Dropped", "Unscored share", "Sessions open"}
    }
    counts = [each["counts"] for each in scraped.sessions]
    # A handoff that the first report took for dropped counted then, and was taken up by the next.
    handoffs = sum(each["handoffs"] for each in counts) + 1
    dropped = sum(each["dropped_handoffs"] for each in counts) + 1
    unscored = sum(each["unscored_handoffs"] for each in counts) + 1
    every = "sum(orbitrelay_handoff_completeness_sum) / sum(orbitrelay_handoff_completeness_count)"
    assert shown == {
        "Mean completeness": pytest.approx(scraped.value(every)),
        "Handoffs": handoffs,
        "Dropped": dropped,
        "Unscored share": pytest.approx(unscored / handoffs),
        "Sessions open": 0,
    }
    revised = {
        target["legendFormat"]: scraped.value(promql.filled(target["expr"]))
        for title, target in promql.panels()
        if title == "Reports and revisions"
    }
    assert revised == {"reports": len(SESSIONS) + 1, "handoffs revised": 1}


def test_variables_list_services_and_roles(scraped: Scraped) -> None:
    services = scraped.ask("label/service_name/values", **{"match[]": "orbitrelay_handoff_completeness_count"})
    roles = scraped.ask("label/orbitrelay_handoff_target_role/values", **{"match[]": "orbitrelay_handoff_count_total"})
    assert services == ["gateway-team", "invoice-agents"]
    assert {"researcher", "engineer", "reviewer"} < set(roles)


def test_marked_panels_lead_to_the_traces(scraped: Scraped) -> None:
    traces = {
        span["traceId"]
        for name in SESSIONS
        for line in requests(name)
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    for title, target in promql.panels():
        if target.get("exemplar"):
            found = scraped.ask("query_exemplars", query=promql.filled(target["expr"]), start="0", end="4000000000")
            exemplars = [each for series in found for each in series["exemplars"]]
            assert exemplars, title
            assert {each["labels"]["trace_id"] for each in exemplars} <= traces, title
            if title == "Share of weak handoffs":
                assert all(float(each["value"]) < 0.75 for each in exemplars)


def test_every_rule_is_evaluated(scraped: Scraped) -> None:
    groups = scraped.ask("rules")["groups"]
    health = {rule["name"]: (rule["health"], rule.get("lastError")) for group in groups for rule in group["rules"]}
    assert health == {rule.get("alert") or rule["record"]: ("ok", None) for rule in promql.rules()}


def test_alerts_are_about_what_there_is(scraped: Scraped) -> None:
    told = {}
    for rule in promql.rules():
        told[rule.get("alert") or rule["record"]] = len(scraped.query(rule["expr"])) > 0
        for each in promql.selectors(rule["expr"]):
            recorded = ":" in each.metric
            assert recorded or each.metric == "up" or each.metric in produced(scraped) | NOTHING_LOST | NOTHING_BROKE
    assert {name for name, tells in told.items() if tells} == {
        "role_pair:orbitrelay_handoff_completeness_count:gained1h",
        "role_pair:orbitrelay_handoff_completeness:mean1h",
        "role_field:orbitrelay_handoff_fields:gained1h",
        "role_pair:orbitrelay_handoff:gained1h",
        "HandoffFieldMissing",
        "HandoffsDropped",
        "OrbitRelaySendersWrong",
        "OrbitRelaySpansRejected",
        "OrbitRelayExportFailing",
        "OrbitRelayExportParked",
    }
