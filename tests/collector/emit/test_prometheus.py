"""A real Prometheus scrapes the text and keeps the exemplars, and its own linter objects to nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from collector.emit.openmetrics import render
from tests.collector.emit.receiver import free_port
from tests.collector.emit.test_otlp_metrics import reader, rows

pytestmark = pytest.mark.services

PAIR = {
    "orbitrelay_handoff_mode": "transfer",
    "orbitrelay_handoff_source_role": "planner",
    "orbitrelay_handoff_target_role": "researcher",
}


@pytest.fixture(scope="module")
def target() -> Iterator[int]:
    data = reader(rows())()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, content_type = render(data, self.headers.get("accept", ""))
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def prometheus(target: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("prometheus")
    assert program, "install Debian's package `prometheus`"
    folder: Path = tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text(
        json.dumps(
            {
                "scrape_configs": [
                    {
                        "job_name": "orbitrelay",
                        "scrape_interval": "1s",
                        "scrape_timeout": "1s",
                        "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
                    }
                ]
            }
        )
    )
    port = free_port()
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def ask(url: str, path: str, **arguments: str) -> Any:
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urlencode(arguments)}", timeout=5) as answer:
        return json.load(answer)["data"]


def until_scraped(url: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if ask(url, "query", query="orbitrelay_session_open")["result"]:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("prometheus never scraped the target")


def test_a_real_prometheus_scrapes_values_labels_and_exemplars(prometheus: str) -> None:
    until_scraped(prometheus)
    (latency,) = ask(prometheus, "query", query="orbitrelay_handoff_latency_seconds_sum")["result"]
    labels = {key: value for key, value in latency["metric"].items() if key not in ("__name__", "instance", "job")}
    assert (labels, latency["value"][1]) == (PAIR, "0.9503")
    quantile = 'histogram_quantile(0.5, orbitrelay_handoff_completeness_bucket{service_name="billing-agents"})'
    (median,) = ask(prometheus, "query", query=quantile)["result"]
    assert 0.55 < float(median["value"][1]) < 0.75
    now = time.time()
    found = ask(
        prometheus,
        "query_exemplars",
        query="orbitrelay_handoff_completeness_bucket",
        start=str(1_700_000_000),
        end=str(now),
    )
    assert [each["exemplars"][0]["labels"] for each in found] == [
        {"span_id": "00f067aa0ba902b7", "trace_id": "0af7651916cd43dd8448eb211c80319c"}
    ]


def test_promtool_has_nothing_to_object_to() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "install Debian's package `prometheus`"
    body, _ = render(reader(rows())(), "text/plain;version=0.0.4")
    checked = subprocess.run([promtool, "check", "metrics"], input=body, capture_output=True, check=False, timeout=30)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")
