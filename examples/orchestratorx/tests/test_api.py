"""Tests of api.py over real HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import uvicorn

from orchestratorx.api import create_app
from orchestratorx.deadline import call_with_deadline
from orchestratorx.orchestrator import Orchestrator
from orchestratorx.portfolio import demo_book
from orchestratorx.settings import Settings
from orchestratorx.trace import verify
from scripted import book, raises, tells, world

BOOK = book().model_dump(mode="json")


@contextmanager
def served(tmp_path: Path, orchestrator: Orchestrator | None = None, **environ: str) -> Iterator[httpx.Client]:
    """The API on a real socket, with settings from an environment."""
    settings = Settings.from_environment({"ORCHESTRATORX_DB": f"sqlite:///{tmp_path / 'runs.db'}"} | environ)
    app = create_app(settings, orchestrator or world())
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(15)
    assert not thread.is_alive()


def events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event
            event = {}


def test_a_run_can_be_posted_fetched_and_interrogated(tmp_path: Path) -> None:
    with served(tmp_path, Orchestrator()) as client:
        posted = client.post("/runs", json=demo_book("restricted").model_dump(mode="json", exclude_none=True))
        run = posted.json()
        assert (posted.status_code, posted.headers["location"]) == (201, f"/runs/{run['run_id']}")
        assert (run["status"], run["halted"], run["escalation"]) == ("halted", True, "halt")
        assert run["path"][-1] == "Reporter"
        assert [finding["code"] for finding in run["report"]["findings"]] == ["CMP-003"]
        assert client.get(f"/runs/{run['run_id']}").json() == run
        trace = client.get(f"/runs/{run['run_id']}/trace").json()
        assert trace.pop("problems") == []
        assert verify(trace, head=run["trace_head"]) == []


def test_runs_are_listed_in_pages(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        made = [client.post("/runs", json=BOOK).json()["run_id"] for _ in range(5)]
        first = client.get("/runs", params={"limit": 2}).json()
        second = client.get("/runs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
        third = client.get("/runs", params={"limit": 2, "cursor": second["next_cursor"]}).json()
        pages = [[run["run_id"] for run in page["runs"]] for page in (first, second, third)]
        assert pages == [made[4:2:-1], made[2:0:-1], made[:1]]
        assert third["next_cursor"] is None


def test_a_run_survives_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        run = client.post("/runs", json=BOOK).json()
        trace = client.get(f"/runs/{run['run_id']}/trace").json()
    with served(tmp_path) as client:
        assert client.get(f"/runs/{run['run_id']}").json() == run
        assert client.get(f"/runs/{run['run_id']}/trace").json() == trace


def test_hops_are_streamed_as_they_happen(tmp_path: Path) -> None:
    release = threading.Event()

    def wait(agent: str, brief: dict[str, Any]) -> Any:
        assert release.wait(10)
        return tells()(agent, brief)

    with served(tmp_path, world(compliance=[wait], call=call_with_deadline)) as client:
        posted = client.post("/runs?wait=false", json=BOOK)
        run_id = posted.json()["run_id"]
        assert (posted.status_code, posted.json()["status"]) == (202, "running")
        seen = []
        with client.stream("GET", f"/runs/{run_id}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for event in events(stream.iter_lines()):
                seen.append(event)
                if event["event"] == "hop" and json.loads(event["data"])["detail"]["target"] == "ComplianceChecker":
                    # the checker is still at work, and what went before has been told
                    assert client.get(f"/runs/{run_id}").json()["status"] == "running"
                    assert client.get(f"/runs/{run_id}/trace").json()["problems"]
                    release.set()
        assert [event["event"] for event in seen] == [
            "run_started",
            *("decision", "hop", "hop", "decision", "hop", "hop", "decision", "hop"),
            *("run_ended", "end"),
        ]
        assert json.loads(seen[-1]["data"]) == {"status": "clean"}
        entries = client.get(f"/runs/{run_id}/trace").json()["entries"]
        assert [json.loads(event["data"]) for event in seen[:-1]] == entries
        with client.stream("GET", f"/runs/{run_id}/events", headers={"last-event-id": "8"}) as stream:
            assert [event.get("id") for event in events(stream.iter_lines())] == ["9", "10", None]


def test_no_more_runs_than_allowed_at_a_time(tmp_path: Path) -> None:
    release = threading.Event()

    def wait(agent: str, brief: dict[str, Any]) -> Any:
        assert release.wait(10)
        return tells()(agent, brief)

    slow = world(risk=[wait], call=call_with_deadline)
    with served(tmp_path, slow, ORCHESTRATORX_MAX_RUNS="2") as client:
        running = [client.post("/runs?wait=false", json=BOOK) for _ in range(2)]
        refused = client.post("/runs?wait=false", json=BOOK)
        assert [answer.status_code for answer in running] == [202, 202]
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        release.set()
        for answer in running:
            with client.stream("GET", f"/runs/{answer.json()['run_id']}/events") as stream:
                stream.read()
        assert client.post("/runs", json=BOOK).status_code == 201
        assert len(client.get("/runs").json()["runs"]) == 3


def test_a_token_is_asked_for_when_one_is_configured(tmp_path: Path) -> None:
    with served(tmp_path, ORCHESTRATORX_TOKEN="s3cret") as client:
        for given in ("", "Bearer wrong", "s3cret", "Bearer \xff"):
            headers = [(b"authorization", given.encode("latin-1"))]
            for answer in (client.get("/runs", headers=headers), client.get("/openapi.json", headers=headers)):
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert client.post("/runs", json=BOOK).status_code == 401
        assert client.get("/runs", headers={"authorization": "Bearer s3cret"}).json()["runs"] == []
        assert client.get("/healthz").json() == {"status": "ok"}


def test_a_body_over_the_limit_is_refused_with_and_without_a_length(tmp_path: Path) -> None:
    with served(tmp_path, ORCHESTRATORX_MAX_BODY="2000") as client:
        big = json.dumps(BOOK | {"name": "x" * 3000}).encode()
        chunks = (big[i : i + 500] for i in range(0, len(big), 500))
        assert client.post("/runs", content=big).status_code == 413
        assert client.post("/runs", content=chunks).status_code == 413
        assert client.post("/runs", json=BOOK).status_code == 201


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"{", "json"),
        (b"[" * 50_000, "there was an error parsing the body"),
        (b'{"portfolio_id": 7}', "portfolio_id: input should be a valid string"),
        (json.dumps(BOOK | {"equity": float("nan")}).encode(), "equity: input should be a finite number"),
        (json.dumps(BOOK | {"positions": [{"instrument": "Z", "value": 1}]}).encode(), "positions[0].instrument: 'Z'"),
        (json.dumps(BOOK | {"name": "\ud800"}).encode(), "name"),
    ],
)
def test_a_bad_book_is_the_callers_fault_and_says_where(tmp_path: Path, body: bytes, detail: str) -> None:
    with served(tmp_path) as client:
        answer = client.post("/runs", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422)
        assert detail in answer.json()["detail"] or detail in answer.text.lower()
        assert client.get("/runs").json()["runs"] == []


def test_what_is_not_there_is_404(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        paths = ("/runs/none", "/runs/none/trace", "/runs/none/events", "/else")
        assert [client.get(path).status_code for path in paths] == [404] * 4


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=-1"])
def test_a_bad_page_is_refused(tmp_path: Path, query: str) -> None:
    with served(tmp_path) as client:
        assert client.get(f"/runs?{query}").status_code == 422


def test_a_failing_specialist_is_a_run_like_any_other(tmp_path: Path) -> None:
    with served(tmp_path, world(risk=[raises(OSError("down"))])) as client:
        run = client.post("/runs", json=BOOK).json()
        assert run["status"] == "incomplete"
        assert run["report"]["incomplete"] == ["RiskModeler failed: OSError: down"]


def test_a_registry_that_fails_is_503(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'runs.db'}")
        with engine.begin() as connection:
            connection.execute(sa.text("DROP TABLE orchestratorx_entries"))
        engine.dispose()
        answer = client.post("/runs", json=BOOK)
        assert answer.status_code == 503
        assert answer.json()["detail"].startswith("the registry cannot be used: no such table")


def test_uvicorn_serves_the_module_and_a_killed_process_leaves_an_interrupted_run(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environ = os.environ | {"ORCHESTRATORX_DB": f"sqlite:///{tmp_path / 'runs.db'}"}
    command = [sys.executable, "-m", "uvicorn", "orchestratorx.api:app", "--port", str(port), "--log-level", "error"]

    process = subprocess.Popen(command, env=environ)
    try:
        for _ in range(600):
            assert process.poll() is None
            try:
                httpx.get(f"{url}/healthz")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        run = httpx.post(f"{url}/runs", json=BOOK).json()
    finally:
        process.kill()
        process.wait(10)
    # as if it had been killed in the middle of that run
    engine = sa.create_engine(environ["ORCHESTRATORX_DB"])
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE orchestratorx_runs SET status = 'running'"))
    engine.dispose()
    with served(tmp_path) as client:
        assert client.get(f"/runs/{run['run_id']}").json()["status"] == "interrupted"
        assert client.get(f"/runs/{run['run_id']}/trace").json()["problems"] == []
