"""`make run` as it is run where nobody watches: it ends by itself, and says what it found and where to look."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1].parent


def test_the_demonstration_says_what_it_found_and_ends(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = f"import collector.demo.__main__ as demo; demo.PORTS['receive.grpc'] = {port}; raise SystemExit(demo.main())"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"TMPDIR": str(tmp_path), "PATH": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^port {port} \(receive\.grpc\.endpoint\) is taken; using \d+ in its place$", done.stdout, re.M)
    said = dict(re.findall(r"^(\w[\w ]+?) {2,}(.+)$", done.stdout, re.M))
    assert said["sessions"] == "1"
    assert said["mean completeness"] == "0.662"
    assert said["weakest relay"].startswith("engineer -> reviewer: 0.380 (grade D; missing goal, ")
    assert Path(said["dossier"]).read_text(encoding="utf-8").startswith("# Handoff dossier")
    assert said["metrics"].endswith("/metrics")
    assert said["API"].endswith("/api/v1/sessions")
