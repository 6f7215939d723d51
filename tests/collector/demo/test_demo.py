"""`make run`: it says what it found and where to look, ends by itself where nobody watches, and leaves no collector behind."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_the_demonstration_says_what_it_found_and_ends(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = f"import collector.demo.__main__ as demo; demo.PORTS['receive.grpc'] = {port}; raise SystemExit(demo.main())"
        guest = tmp_path / "none" / "bin" / "orchestratorx"
        done = subprocess.run(
            [sys.executable, "-c", program, "--orchestratorx", str(guest)],
            cwd=ROOT,
            env={
                "TMPDIR": str(tmp_path),
                "PATH": "",
                "HTTP_PROXY": "http://127.0.0.1:9",
                "http_proxy": "http://127.0.0.1:9",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^port {port} \(receive\.grpc\.endpoint\) is taken; using \d+ in its place$", done.stdout, re.M)
    log = guest.parents[1] / "install.log"
    assert f"OrchestratorX could not be installed ({log} says why); going on with the recorded session\n" in done.stdout
    said = dict(re.findall(r"^(\w[\w ]+?) {2,}(.+)$", done.stdout, re.M))
    assert said["sessions"] == "1"
    assert said["mean completeness"] == "0.662"
    assert said["weakest relay"].startswith("engineer -> reviewer: 0.380 (grade D; missing goal, ")
    assert Path(said["its dossier"]).read_text(encoding="utf-8").startswith("# Handoff dossier")
    assert said["metrics"].endswith("/metrics")
    assert said["API"].endswith("/api/v1/sessions")
    assert said["page"].endswith("/")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demonstration_that_is_ended_ends_its_collector(tmp_path: Path, number: signal.Signals) -> None:
    ours, terminal = pty.openpty()
    demo = subprocess.Popen(
        [sys.executable, "-m", "collector.demo"],
        cwd=ROOT,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
    )
    os.close(terminal)
    said = b""
    while b"stays up" not in said:
        said += os.read(ours, 4096)
    demo.send_signal(number)
    assert demo.wait(30) == 0
    os.close(ours)
    (log,) = tmp_path.glob("*/collector.log")
    assert '"message": "stopped"' in log.read_text(encoding="utf-8").splitlines()[-1]
