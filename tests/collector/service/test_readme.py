"""README.md, the collector's section, as a reader follows it: its contracts, its programs and its commands against a running collector."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, agrees, blocks, read

Serving = Callable[..., AbstractContextManager[Any]]
OURS = [
    block for block in blocks(read("README.md")) if block.options.get("by") == "tests/collector/service/test_readme.py"
]
DEFAULTS = {"receive.grpc": "127.0.0.1:4317", "receive.http": "127.0.0.1:4318", "admin.http": "127.0.0.1:4319"}


def only(language: str, holding: str) -> Block:
    """The one block of that language that holds the text."""
    (block,) = (block for block in OURS if block.language == language and holding in block.text)
    return block


@pytest.mark.parametrize(("protocol", "listener"), [("http", "receive.http"), ("grpc", "receive.grpc")])
def test_a_program_instrumented_by_hand_gets_its_verdict(
    serving: Serving, tmp_path: Path, protocol: str, listener: str
) -> None:
    start = only("console", "serve").text.splitlines()[-1].split()
    assert start == ["$", "orbitrelay-collector", "serve", "--set", "contracts.file=contracts.yaml"]
    (tmp_path / "contracts.yaml").write_text(only("yaml", "contract:").text)
    for block in OURS:
        if "file" in block.options:
            text = block.text.replace("otlp.proto.http.", f"otlp.proto.{protocol}.")
            (tmp_path / block.options["file"]).write_text(text)
    variables, program = only("console", "python app.py").text.removeprefix("$ ").split("\n$ ")
    with serving(tmp_path / "data", {"contracts.file": str(tmp_path / "contracts.yaml")}) as process:

        def here(text: str) -> str:
            for name, address in DEFAULTS.items():
                text = text.replace(address, process.address(name))
            return text

        assert DEFAULTS["receive.http"] in variables
        variables = here(variables.replace(DEFAULTS["receive.http"], DEFAULTS[listener]))
        python, *arguments = shlex.split(program)
        assert python == "python"
        done = subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=tmp_path,
            env=os.environ | dict(word.split("=", 1) for word in shlex.split(variables)[1:]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        process.closed()
        command, *shown = only("console", "curl").text.splitlines()
        printed = subprocess.run(
            ["sh", "-c", here(command.removeprefix("$ "))], stdout=subprocess.PIPE, text=True, timeout=60, check=True
        ).stdout
        assert agrees(shown, printed.splitlines()), printed
        assert [path.name for path in (tmp_path / "data" / "dossiers").glob("*.dossier.md")] == ["report-42.dossier.md"]
