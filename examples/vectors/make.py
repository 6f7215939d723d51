"""Make the vectors: run every command over every case, and write down the exact bytes.

    python examples/vectors/make.py              write them where they stand
    python examples/vectors/make.py --check      make them in a temporary folder, and say what differs (exit code 1)

The layout is described in README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from broken import BROKEN, Broken  # noqa: E402
from cases import CASES, STREAMS, Case  # noqa: E402

from orbitrelay import dumps  # noqa: E402
from orbitrelay.cli import main  # noqa: E402

COMMANDS = ("inspect", "score", "bottlenecks", "pipeline", "dossier")


class _Console(io.TextIOWrapper):
    """A standard stream that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)

    def written(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]


def run(command: str, folder: Path, file: str, contract: bool) -> tuple[int, bytes, bytes, bytes | None]:
    """Run one command in a folder; give exit code, standard output, standard error, and the dossier it wrote, if any."""
    arguments = [command, "--trace", file, *(["--contract", "contract.json"] if contract else [])]
    out, err = _Console(), _Console()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
        written = Path("dossier.md")
        dossier = written.read_bytes() if written.exists() else None
        written.unlink(missing_ok=True)
    return code, out.written(), err.written(), dossier


def make_case(case: Case, root: Path, stream: bool) -> dict[str, Any]:
    folder = root / case.name
    folder.mkdir()
    file = "traces.jsonl" if stream else "trace.json"
    (folder / file).write_bytes(case.trace)
    if case.contract is not None:
        (folder / "contract.json").write_bytes(case.contract)
    code = 0
    for command in COMMANDS:
        code, out, err, dossier = run(command, folder, file, case.contract is not None)
        if command == "dossier":
            (folder / "dossier.md").write_bytes(out)
        else:
            (folder / f"{command}.{'jsonl' if stream else 'json'}").write_bytes(out)
        assert command != "pipeline" or (dossier is None) == (code != 0), case.name
        if code:
            (folder / "stderr.txt").write_bytes(err)
        assert bool(code) == bool(err), (case.name, err)
        assert stream or code == 0, (case.name, err)
    kind = "stream" if stream else "trace"
    return {
        "about": case.about,
        "contract": case.contract is not None,
        "exit_code": code,
        "kind": kind,
        "name": case.name,
    }


def make_broken(case: Broken, root: Path) -> dict[str, Any]:
    folder = root / case.name
    folder.mkdir()
    (folder / "trace.json").write_bytes(case.trace)
    if case.contract is not None:
        (folder / "contract.json").write_bytes(case.contract)
    for command in COMMANDS:
        code, out, err, dossier = run(command, folder, "trace.json", case.contract is not None)
        assert (code, out, dossier) == (2, b"", None), (case.name, command, code)
        (folder / "stderr.txt").write_bytes(err)
    return {
        "contract": case.contract is not None,
        "exit_code": 2,
        "kind": "broken",
        "message_names": list(case.names),
        "name": case.name,
    }


def make(root: Path) -> None:
    """Write every vector below a folder that holds none yet."""
    manifest = [make_case(case, root, False) for case in CASES]
    manifest += [make_case(case, root, True) for case in STREAMS]
    manifest += [make_broken(case, root) for case in BROKEN]
    assert len({entry["name"] for entry in manifest}) == len(manifest), "a name twice"
    (root / "manifest.json").write_bytes(dumps({"vectors": manifest}))


def differences(made: Path, kept: Path) -> Iterator[str]:
    """Yield what differs between two folders of vectors, leaving out the sources."""
    ours, theirs = _files(made), _files(kept)
    yield from (f"missing: {name}" for name in sorted(ours - theirs))
    yield from (f"not made any more: {name}" for name in sorted(theirs - ours))
    yield from (
        f"differs: {name}" for name in sorted(ours & theirs) if not filecmp.cmp(made / name, kept / name, shallow=False)
    )


def _files(root: Path) -> set[str]:
    made = {path.relative_to(root).as_posix() for path in root.glob("*/*") if path.parent.name != "__pycache__"}
    return made | ({"manifest.json"} if (root / "manifest.json").exists() else set())


def _run(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary)
        make(fresh)
        if options.check:
            found = list(differences(fresh, HERE))
            for line in found:
                print(line)
            count = len(CASES) + len(STREAMS) + len(BROKEN)
            print(f"{count} vectors, {len(found)} differences")
            return 1 if found else 0
        for folder in {HERE / Path(name).parent for name in _files(HERE)} - {HERE}:
            shutil.rmtree(folder)
        shutil.copytree(fresh, HERE, dirs_exist_ok=True)
        os.utime(HERE)
    return 0


if __name__ == "__main__":
    sys.exit(_run())
