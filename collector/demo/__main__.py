"""Start a collector, play the recording into it over OTLP/gRPC and OrchestratorX's reviews over OTLP/HTTP, and say what it found.

A program of its own, and a client of the collector like any other: it starts the real process, and reads the API.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import yaml

from collector.demo import reviews
from collector.otlp.encode import traces_to_protobuf

HERE = Path(__file__).parent
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PORTS = {"receive.grpc": 4317, "receive.http": 4318, "admin.http": 4319, "admin.grpc": 4320}
PATIENCE = 60.0


class DemoError(Exception):
    """What kept the demonstration from its end, in one line."""


def main() -> int:
    """Run it; stay until Ctrl-C on a terminal, else end by itself."""
    parser = argparse.ArgumentParser(prog="python -m collector.demo", description=__doc__)
    parser.add_argument(
        "--orchestratorx", type=Path, metavar="PROGRAM", help="play its reviews, too; without it the recording alone"
    )
    guest: Path | None = parser.parse_args().orchestratorx
    for number in (signal.SIGTERM, signal.SIGHUP):  # also a terminal that is closed must not leave the collector behind
        signal.signal(number, signal.default_int_handler)
    data = Path(tempfile.mkdtemp(prefix="orbitrelay-demo-"))
    log = data / "collector.log"
    rules = yaml.safe_load((HERE / "contracts.yaml").read_bytes())["rules"]
    try:
        if guest is not None:
            try:
                rules += reviews.contracts(guest)
            except reviews.ReviewsError as error:
                guest = None
                _alone(error)
        (data / "contracts.yaml").write_text(yaml.safe_dump({"version": 1, "rules": rules}), encoding="utf-8")
        ports = _ports()
        with _collector(data, ports, log) as process:
            base = f"http://127.0.0.1:{ports['admin.http']}"
            _wait(process, log, "the collector to be ready", lambda: _get(f"{base}/readyz").status_code == 200)
            sent = _play(ports["receive.grpc"])
            print(f"played a recorded session into 127.0.0.1:{ports['receive.grpc']} ({sent} requests of OTLP/gRPC)")
            expected = 1
            if guest is not None:
                endpoint = f"http://127.0.0.1:{ports['receive.http']}"
                try:
                    count = reviews.play(guest, endpoint)
                    print(f"played {count} reviews of OrchestratorX live into {endpoint} (OTLP/HTTP)")
                    expected += count
                except reviews.ReviewsError as error:
                    _alone(error)
            _wait(
                process,
                log,
                "the sessions to close",
                lambda: len(_sessions(base)) >= expected and len(_dossiers(data)) >= expected,
            )
            print(_summary(base, data, log))
            if sys.stdout.isatty():
                with contextlib.suppress(KeyboardInterrupt):  # from the moment that it says so
                    print("\nthe collector stays up: point an OTLP exporter at it, or end it with Ctrl-C", flush=True)
                    process.wait()
            else:
                print("\nnot on a terminal: the collector ends now, its files stay", flush=True)
    except DemoError as error:
        print(f"orbitrelay demo: {error}; its log is {log}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _alone(error: reviews.ReviewsError) -> None:
    print(f"{error}; going on with the recorded session")


@contextlib.contextmanager
def _collector(data: Path, ports: dict[str, int], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    options = {
        "data.dir": str(data),
        "contracts.file": str(data / "contracts.yaml"),
        "sessions.grace": "2s",
        **{f"{name}.endpoint": f"127.0.0.1:{port}" for name, port in ports.items()},
    }
    command = [sys.executable, "-m", "collector", "serve"]
    for name, value in options.items():
        command += ["--set", f"{name}={value}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORBITRELAY_")}
    with log.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603  # our own interpreter and our own module
            command, env=environment, stderr=stream, start_new_session=True
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _ports() -> dict[str, int]:
    """The default ports, or free ones for those that are taken."""
    chosen = {}
    for name, port in PORTS.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.bind(("127.0.0.1", 0))
                print(f"port {port} ({name}.endpoint) is taken; using {probe.getsockname()[1]} in its place")
            chosen[name] = int(probe.getsockname()[1])
    return chosen


def _play(port: int) -> int:
    requests = [
        traces_to_protobuf(line) for line in (HERE / "session.otlp.jsonl").read_bytes().splitlines() if line.strip()
    ]
    with grpc.insecure_channel(f"127.0.0.1:{port}", (("grpc.enable_http_proxy", 0),)) as channel:
        export = channel.unary_unary(EXPORT)
        for request in requests:
            export(request, timeout=10)
    return len(requests)


def _get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=5, trust_env=False)  # no proxy on the way to loopback


def _sessions(base: str) -> list[dict[str, Any]]:
    sessions = _get(f"{base}/api/v1/sessions").raise_for_status().json()["sessions"]
    return [session for session in sessions if session["state"] == "SESSION_STATE_CLOSED"]


def _dossiers(data: Path) -> list[Path]:
    return sorted(data.glob("dossiers/*.dossier.md"))


def _wait(process: subprocess.Popen[bytes], log: Path, what: str, done: Any) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise DemoError(
                f"the collector ended with code {process.returncode}: {lines[-1] if lines else 'it said nothing'}"
            )
        with contextlib.suppress(httpx.TransportError):
            if done():
                return
        time.sleep(0.1)
    raise DemoError(f"waited {PATIENCE:g} s for {what}")


def _summary(base: str, data: Path, log: Path) -> str:
    sessions = _sessions(base)
    scores = [session["mean_completeness"] for session in sessions if "mean_completeness" in session]
    lines = [f"\nsessions             {len(sessions)}"]
    if scores:
        lines.append(f"mean completeness    {sum(scores) / len(scores):.3f}")
    weakest = [_weakest(base, session) for session in sessions if "weakest" in session]
    if weakest:
        _, relay, session_name = min(weakest)
        lines.append(f"weakest relay        {relay}")
        lines += [f"its dossier          {path}" for path in _dossiers(data) if path.name.startswith(session_name)]
    lines += [
        f"all dossiers         {data / 'dossiers'}",
        f"page                 {base}/",
        f"metrics              {base}/metrics",
        f"API                  {base}/api/v1/sessions",
        f"log                  {log}",
    ]
    return "\n".join(lines)


def _weakest(base: str, session: dict[str, Any]) -> tuple[float, str, str]:
    """Completeness of a session's weakest handoff, that handoff in words, and the session's name."""
    report = _get(f"{base}/api/v1/sessions/{session['session_id']}/report").raise_for_status()
    handoffs = json.loads(report.content)["report"]["handoffs"]
    handoff = next(h for h in handoffs if h["handoff_id"] == session["weakest"]["handoff_id"])
    lacks = [f"missing {', '.join(handoff['missing_fields'])}"] if handoff["missing_fields"] else []
    lacks += [f"empty {', '.join(handoff['empty_fields'])}"] if handoff["empty_fields"] else []
    relay = f"{handoff['source']['name']} -> {handoff['target']['name']}"
    verdict = f"{relay}: {handoff['completeness']:.3f} (grade {handoff['grade']}; {'; '.join(lacks) or 'whole'})"
    return handoff["completeness"], verdict, session["name"]


if __name__ == "__main__":
    sys.exit(main())
