"""All captures through `convert`, scored against their ground truth: the bar that recovery is held to."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pytest

from collector.convert import convert
from collector.offline import Telling
from tests.conformance import score_capture as scorer
from tests.conformance.harness import CAPTURES, NAMES, files


def converted(name: str, out: Path, suffix: str = ".jsonl") -> Path:
    """Convert the files of a capture in one encoding."""
    outcome = convert([str(p) for p in files(name, suffix)], out, None, Telling(quiet=True, stream=io.StringIO()))
    assert outcome.unread == 0
    return out


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


@cache
def scored(name: str, folder: Path) -> scorer.Score:
    """A capture's score."""
    out = folder / name
    out.mkdir()
    converted(name, out)
    return scorer.score(
        name,
        scorer.read_expected(CAPTURES / name / "expected.json"),
        [scorer.read(p) for p in sorted(out.glob("*.trace.json"))],
    )


@pytest.mark.parametrize("name", NAMES)
def test_capture(name: str, folder: Path) -> None:
    score = scored(name, folder)
    told = "\n".join([scorer.table([score]), *score.misses])

    assert score.sessions.f1 == 1.0, told
    assert score.session_id.f1 == 1.0, told
    assert score.edges.f1 >= 0.97, told
    assert score.fields.f1 >= 0.9, told
    assert score.unrecorded.f1 == 1.0, told


@pytest.mark.parametrize("name", NAMES)
def test_protobuf_gives_the_same_bytes(name: str, folder: Path, tmp_path: Path) -> None:
    scored(name, folder)
    again = converted(name, tmp_path, ".pb")

    names = sorted(p.name for p in (folder / name).iterdir())
    assert sorted(p.name for p in again.iterdir()) == names
    for file in names:
        assert (again / file).read_bytes() == (folder / name / file).read_bytes()


def test_all_captures_together_reach_the_bar(folder: Path) -> None:
    total = scorer.Score("TOTAL")
    for name in NAMES:
        total.add(scored(name, folder))
    told = "\n".join(
        [
            scorer.table([*(scored(n, folder) for n in NAMES), total]),
            *(m for n in NAMES for m in scored(n, folder).misses),
        ]
    )

    print(told)
    assert total.edges.f1 >= 0.98, told
    assert total.fields.f1 >= 0.92, told
    assert total.returns.f1 >= 0.85, told
    assert total.dropped.recall >= 0.8, told
    assert total.unrecorded.f1 == 1.0, told
