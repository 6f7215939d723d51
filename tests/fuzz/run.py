"""Fuzz one target with atheris: `python tests/fuzz/run.py TARGET [libFuzzer options]`.

Inputs that find new ways through the code are kept in `.fuzz/TARGET`, which is no part of the repository. An input that
breaks a promise is written to `tests/fuzz/corpus/TARGET`; once its fault is mended it stays there, for `make test`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["collector", "orbitrelay"]):
    from tests.fuzz.seeds import CORPUS, seeds
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name, *options = sys.argv[1:]
    work = Path(".fuzz", name)
    work.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(name)):
        (work / f"seed-{number}").write_bytes(seed)
    found = CORPUS / name
    found.mkdir(parents=True, exist_ok=True)
    atheris.Setup([sys.argv[0], str(work), f"-artifact_prefix={found}/", "-timeout=20", "-rss_limit_mb=2048", *options],
                  TARGETS[name])  # fmt: skip
    atheris.Fuzz()


if __name__ == "__main__":
    main()
