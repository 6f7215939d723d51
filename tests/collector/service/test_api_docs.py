"""docs/api.md and docs/openapi.json against a running collector: every command is run, and every answer held to the schema."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import jsonschema
import pytest

from collector.admin.api import Api
from collector.admin.openapi import document, text

Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


class Example(NamedTuple):
    """A command and what the page says that it prints."""

    command: str
    output: str


def examples() -> list[Example]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [Example(*part.split("\n", 1)) for part in parts]


@pytest.fixture(scope="module")
def process(serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = {"contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml")}
    with serving(tmp_path_factory.mktemp("data"), options) as process:
        process.play()
        process.closed()
        yield process


def run(process: Any, command: str) -> str:
    """What a curl command of the page prints; JSON is printed over several lines where the page does so."""
    words = shlex.split(command)
    assert words[0] == "curl"
    url = next(word for word in words if word.startswith("http")).replace(
        "127.0.0.1:4319", process.address("admin.http")
    )
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    headers = dict(words[i + 1].split(": ", 1) for i, word in enumerate(words) if word == "-H")
    if "-sN" in words:
        with httpx.stream(method, url, headers=headers, timeout=10) as response:
            lines = response.iter_lines()
            return "".join(next(lines) + "\n" for _ in range(3))
    return httpx.request(method, url, headers=headers, timeout=10).text


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.command[:60])
def test_every_command_prints_what_the_page_says(process: Any, example: Example) -> None:
    printed = run(process, example.command)
    if example.output.startswith("{\n"):
        printed = json.dumps(json.loads(printed), indent=2) + "\n"
    wanted = re.sub(r"^\s*\.\.\.$", "...", example.output, flags=re.M)
    wanted = wanted if not wanted.endswith(",...\n") else wanted[:-1]
    assert doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
        printed
    )


def test_the_python_program_prints_what_the_page_says(process: Any) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (wanted,) = re.findall(r"```text\n(.*?)```", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program.replace("127.0.0.1:4320", process.address("admin.grpc")), {})
    assert printed.getvalue() == wanted


def test_the_page_names_every_method_of_the_service() -> None:
    names = {operation["operationId"] for path in document()["paths"].values() for operation in path.values()}
    assert set(re.findall(r"^## (\w+)$", PAGE, re.M)) >= names


def test_the_committed_document_is_the_one_the_code_gives() -> None:
    assert (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8") == text(), "run `make docs`"


def test_every_route_is_in_the_document() -> None:
    served = Api(None).routes()  # type: ignore[arg-type]
    routes = {(route.path, method.lower()) for route in served for method in (route.methods or set()) - {"HEAD"}}
    documented = {(path, method) for path, operations in document()["paths"].items() for method in operations}
    assert routes - {("/api/v1/openapi.json", "get")} == documented


@pytest.mark.parametrize("path", ["/api/v1/sessions", "/api/v1/sessions/{session_id}/report"])
def test_every_answer_is_as_its_schema_says(process: Any, path: str) -> None:
    whole = process.get("/api/v1/openapi.json").json()
    session_id = process.sessions()[0]["session_id"]
    response = process.get(path.replace("{session_id}", session_id))
    schema = whole["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": whole["components"]}).validate(response.json())
    wrong = process.get(path.replace("{session_id}", "none") + "?nothing=1")
    jsonschema.validate(wrong.json(), whole["components"]["schemas"]["Error"])
