"""A real Prometheus scrapes a running collector, and has its figures and exemplars."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.services
Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[2]


def test_prometheus_has_what_the_collector_counted(serving: Serving, free_ports: Any, tmp_path: Path) -> None:
    program = shutil.which("prometheus")
    assert program, "install Debian's package `prometheus`"
    (port,) = free_ports(1)
    with serving(tmp_path / "data", {"contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml")}) as process:
        process.play()
        process.closed()
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms}\n"
            f"scrape_configs:\n- job_name: orbitrelay\n  static_configs: [{{targets: ['{process.address('admin.http')}']}}]\n",
            encoding="utf-8",
        )
        command = [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prometheus:
            try:

                def ask(path: str, **query: str) -> Any:
                    try:
                        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/{path}", params=query, timeout=5)
                    except httpx.TransportError:
                        return []
                    return answer.json()["data"] if answer.status_code == 200 else []

                count = process.until(
                    lambda: (r := ask("query", query="sum(orbitrelay_handoff_count_total)")) and r["result"], 40
                )
                assert float(count[0]["value"][1]) == 5
                mean = ask(
                    "query",
                    query="sum(orbitrelay_handoff_completeness_sum) / sum(orbitrelay_handoff_completeness_count)",
                )["result"]
                assert round(float(mean[0]["value"][1]), 3) == 0.662
                exemplars = ask(
                    "query_exemplars", query="orbitrelay_handoff_completeness_bucket", start="0", end="4000000000"
                )
                assert {e["labels"]["trace_id"] for series in exemplars for e in series["exemplars"]} == {
                    "9ac6a31117db02b026578c04dd1c3731"
                }
            finally:
                prometheus.terminate()
