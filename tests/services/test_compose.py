"""The composed example's configuration files, each read by the program that it is for, and the images' own commands."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from collector.cli import main

pytestmark = [pytest.mark.services, pytest.mark.timeout(1800)]  # the first run builds Jaeger
Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "examples" / "compose"


def test_composes_own_reader_takes_the_file(compose_program: Path) -> None:
    command = [str(compose_program), "-format", "json", "compose.yaml"]
    ran = subprocess.run(command, cwd=COMPOSE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    services = json.loads(ran.stdout)["services"]
    assert set(services) == set(yaml.safe_load((COMPOSE / "compose.yaml").read_text(encoding="utf-8"))["services"])
    assert {name: service["build"]["context"] for name, service in services.items() if "build" in service} == {
        "orbitrelay": str(ROOT),
        "orchestratorx": str(ROOT / "examples" / "orchestratorx"),
    }
    assert services["reviews"]["environment"] == services["orchestratorx"]["environment"]


def test_the_collector_takes_its_file(otelcol_program: Path) -> None:
    command: list[str | Path] = [otelcol_program, "validate", "--config", COMPOSE / "otelcol.yaml"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_jaeger_takes_its_file_and_starts(jaeger_program: Path, jaeger: Any) -> None:
    command: list[str | Path] = [jaeger_program, "validate", "--config", ROOT / "examples" / "jaeger" / "jaeger.yaml"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    with jaeger() as (_, api):
        assert httpx.get(f"{api}/api/services", timeout=10).status_code == 200


def test_orbitrelay_takes_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = yaml.safe_load((COMPOSE / "orbitrelay.yaml").read_text(encoding="utf-8"))
    contracts = ROOT / "examples" / "orchestratorx" / "src" / "orchestratorx" / "contracts.yaml"
    assert f"..{str(contracts).partition('examples')[2]}:{config['contracts']['file']}:ro" in (
        COMPOSE / "compose.yaml"
    ).read_text(encoding="utf-8")
    config["contracts"]["file"] = str(contracts)
    (tmp_path / "orbitrelay.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert main(["check", str(tmp_path / "orbitrelay.yaml")]) == 0, capsys.readouterr()


def test_the_images_health_check_asks_a_running_collector(serving: Serving, tmp_path: Path) -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(r"^HEALTHCHECK [^\[]*CMD (\[.*\])$", text, re.MULTILINE)
    assert found is not None
    program, *arguments = ast.literal_eval(found[1])
    assert program == "python"
    hosts = yaml.safe_load((COMPOSE / "orbitrelay.yaml").read_text(encoding="utf-8"))["admin"]["http"]["hosts"]
    with serving(tmp_path, {"admin.http.hosts": ",".join(hosts)}) as process:
        port = process.address("admin.http").rpartition(":")[2]
        asked = [argument.replace(":4319", f":{port}") for argument in arguments]
        assert asked != arguments
        assert subprocess.run([sys.executable, *asked], check=False).returncode == 0
        assert process.stop() == 0
        assert subprocess.run([sys.executable, *asked], capture_output=True, check=False).returncode == 1


def test_what_the_image_copies_installs_and_runs(tmp_path: Path) -> None:
    """As the Dockerfile does, but for the dependencies, which are those of this environment."""
    context = tmp_path / "context"
    context.mkdir()
    for line in re.findall(r"^COPY (?!--from)(.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE):
        for source in line.split()[:-1]:
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, context / source)
    venv.EnvBuilder(with_pip=False).create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (purelib,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (purelib / "of-the-tests.pth").write_text(
        next(path for path in sys.path if path.endswith("site-packages")) + "\n", encoding="utf-8"
    )
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--force-reinstall",
        context,
    ]
    subprocess.run(install, check=True, cwd=tmp_path)
    asked = "import collector, sys; print(collector.__file__)"
    ran = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert Path(ran.stdout.strip()).is_relative_to(purelib)
    command: list[str | Path] = [
        tmp_path / "venv" / "bin" / "orbitrelay-collector",
        "check",
        ROOT / "collector" / "demo" / "contracts.yaml",
    ]
    assert subprocess.run(command, check=False, cwd=tmp_path, capture_output=True).returncode == 0
