"""Every block of code in the README and in docs/ is run, or held against what it shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import pytest

import orbitrelay
from tests.docs.pages import CHECKED, ROOT, Block, agrees, blocks, pages, read

HELD_ELSEWHERE = {
    # page: the test that runs each of its blocks itself
    "docs/api.md": "tests/collector/service/test_api_docs.py",
}
MARK = "\x1e"


class Sandbox:
    """A folder with the examples, in which the blocks of one page run one after the other, as a reader would run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "examples").mkdir()
        shutil.copy(ROOT / "examples" / "incident_triage.json", folder / "examples")
        shutil.copytree(ROOT / "collector" / "demo", folder / "collector" / "demo")
        commands = folder / ".bin"
        commands.mkdir()
        for name, call in (
            ("orbitrelay", "-m orbitrelay"),
            ("orbitrelay-collector", "-m collector"),
            ("python", ""),
            ("python3", ""),
        ):
            self._command(name, f'"{sys.executable}" {call} "$@"')
        self.environment = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
        }

    def keep(self, block: Block) -> None:
        if "file" in block.options:
            (self.folder / block.options["file"]).write_text(block.text)

    def install(self) -> None:
        """Put the sources there, and a pip that asks no index: it builds the wheel and puts that where `pip` would."""
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.folder)
        for package in ("orbitrelay", "collector"):
            shutil.copytree(
                ROOT / package, self.folder / package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
            )
        pip = f'"{sys.executable}" -m pip --isolated --quiet'
        self._command(
            "pip",
            f'{pip} wheel --no-index --no-build-isolation --wheel-dir wheel "$3" && '
            f'{pip} --python "$VIRTUAL_ENV/bin/python" "$1" --no-index wheel/*.whl',
        )
        self._command("python3", f'"{sys.executable}" "$@" --without-pip')
        del self.environment["PYTHONPATH"]

    def _command(self, name: str, call: str) -> None:
        shim = self.folder / ".bin" / name
        shim.write_text(f"#!/bin/sh\n{call}\n")
        shim.chmod(0o755)

    def console(self, block: Block) -> None:
        """Run the commands of a block in one shell. One that fails must be followed by `echo $?`, which shows its exit code."""
        examples = [part.split("\n", 1) for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]]
        commands: list[str] = []
        expected: list[list[str]] = []
        for first, rest in examples:
            lines = rest.splitlines()
            more = list(takewhile(lambda line: line.startswith("> "), lines))
            commands.append("\n".join([first, *(line[2:] for line in more)]))
            expected.append(lines[len(more) :])
        script = "status=0\n" + "".join(
            f"(exit $status)\n{command}\nstatus=$?\nprintf '{MARK}%s{MARK}' $status\n" for command in commands
        )
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
        )
        parts = done.stdout.split(MARK)
        outputs, statuses = parts[:-1:2], parts[1::2]
        assert len(statuses) == len(commands), done.stdout
        for i, (command, lines) in enumerate(zip(commands, expected, strict=True)):
            printed = outputs[i].splitlines()
            assert agrees(lines, printed), f"line {block.line}: $ {command}\nprints\n{outputs[i]}"
            if statuses[i] != "0":
                assert commands[i + 1 : i + 2] == ["echo $?"], f"line {block.line}: $ {command} fails: {outputs[i]}"

    def python(self, block: Block, output: Block | None) -> None:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block.text],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"line {block.line}:\n{done.stdout}"
        expected = output.text.splitlines() if output is not None else []
        assert agrees(expected, done.stdout.splitlines()), f"line {block.line} prints\n{done.stdout}"


def check(block: Block, following: Block | None, page: str, sandbox: Sandbox) -> None:
    """Hold one block to the truth in the way that its info string names."""
    where = f"{page}, line {block.line}"
    match block.language, block.how:
        case "console", "run":
            sandbox.console(block)
        case "console", "install":
            sandbox.install()
            sandbox.console(block)
        case "console", "usage":
            for line in block.text.splitlines():
                assert_usage(line.removeprefix("$ "), where)
        case "python", "run":
            sandbox.keep(block)
            follows = following is not None and (following.language, following.how) == ("text", "output")
            sandbox.python(block, following if follows else None)
        case "python", "kept":
            sandbox.keep(block)
            later = [other for other in blocks(read(page)) if other.line > block.line and other.how == "run"]
            assert any(block.options["file"] in other.text for other in later), f"{where}: nothing runs it"
        case "json", "trace":
            sandbox.keep(block)
            orbitrelay.loads(block.text.encode())
        case "json", "contract":
            sandbox.keep(block)
            orbitrelay.load_contract(block.text.encode())
        case "json", "part":
            whole = json.loads((ROOT / block.options["of"]).read_bytes())
            assert stands_in(json.loads(block.text), whole), f"{where}: not in {block.options['of']}"
        case "json", "lines" if "file" in block.options:
            sandbox.keep(block)
            assert [json.loads(line) for line in block.text.splitlines()]
        case _, "lines" if "of" in block.options:
            wanted = ["...", *block.text.splitlines(), "..."]
            assert agrees(wanted, ["", *(ROOT / block.options["of"]).read_text().splitlines(), ""]), where
        case _, "shown":
            assert page in (ROOT / block.options["by"]).read_text(), f"{where}: {block.options['by']} does not name it"
        case "text", "output":
            pass  # compared with what the block before it printed
        case _:
            assert block.language not in CHECKED, f"{where}: {block.language!r} {block.how!r} says no way to check it"
            assert not block.how, f"{where}: unknown way {block.how!r}"


def assert_usage(line: str, where: str) -> None:
    """Hold a call to what the program's help says: the command exists, and has the options that are given."""
    program, command, *words = shlex.split(line)
    module = {"orbitrelay": "orbitrelay", "orbitrelay-collector": "collector"}[program]
    done = subprocess.run(
        [sys.executable, "-m", module, command, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{where}: {program} has no command {command}"
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert {option for option in options if option not in done.stdout} == set(), f"{where}: {line}"


def stands_in(part: Any, whole: Any) -> bool:
    """Tell whether a value, or an object with just these members, stands anywhere in JSON data."""
    if isinstance(part, dict) and isinstance(whole, dict):
        if part.keys() <= whole.keys() and all(part[key] == whole[key] for key in part):
            return True
    elif part == whole:
        return True
    parts = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return any(stands_in(part, inner) for inner in parts)


@pytest.mark.timeout(300)  # it builds a wheel, and a machine may be slow
@pytest.mark.parametrize("page", [page for page in pages() if page not in HELD_ELSEWHERE])
def test_the_blocks_of_a_page_do_what_they_show(page: str, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    found = blocks(read(page))
    for block, following in zip_longest(found, found[1:]):
        if block.how != "install":
            check(block, following, page, sandbox)


def test_what_the_pages_install_brings_no_dependency_and_works(tmp_path: Path) -> None:
    installing = [(page, block) for page in pages() for block in blocks(read(page)) if block.how == "install"]
    assert installing
    for i, (page, block) in enumerate(installing):
        (tmp_path / str(i)).mkdir()
        check(block, None, page, Sandbox(tmp_path / str(i)))


def test_pages_that_are_held_elsewhere_are_named_by_their_test() -> None:
    for page, test in HELD_ELSEWHERE.items():
        assert page in read(test)


def test_a_block_that_shows_something_else_is_found(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    for wrong in (
        "```console run\n$ echo one\ntwo\n```",
        "```console run\n$ false\n```",
        "```python run\nprint(1)\n```\n```text output\n2\n```",
        "```python run\nraise SystemExit(1)\n```",
        "```json trace\n{}\n```",
        '```json part of=examples/incident_triage.json\n{"trace_id": "other"}\n```',
        "```text lines of=LICENSE\nno such line\n```",
        "```text shown by=tests/docs/pages.py\n```",
        "```console\n$ true\n```",
        "```python somehow\n```",
        "```console usage\n$ orbitrelay weigh --trace x\n```",
        "```console usage\n$ orbitrelay score --trice x\n```",
    ):
        block, *others = blocks(wrong)
        with pytest.raises((AssertionError, orbitrelay.TraceError)):
            check(block, others[0] if others else None, "no-such-page.md", sandbox)


def test_a_block_that_shows_the_truth_passes(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    for right in (
        "```console run\n$ printf '1\\n2\\n3\\n'\n1\n...\n$ false\n$ echo $?\n1\n$ cat <<END\n> a\n> END\na\n```",
        "```python run file=one.py\nprint(1)\n```\n```text output\n1\n```",
        "```console run\n$ python one.py\n1\n```",
    ):
        block, *others = blocks(right)
        check(block, others[0] if others else None, "no-such-page.md", sandbox)
