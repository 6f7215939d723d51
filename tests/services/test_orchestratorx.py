"""OrchestratorX, instrumented, sends its reviews to a running collector: what it wrote down of each hop is what the collector recovers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.services
Serving = Callable[..., AbstractContextManager[Any]]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = ROOT / ".venv-orchestratorx" / "bin"

JsonObject = dict[str, Any]


class Review(NamedTuple):
    """One review: what OrchestratorX wrote down (its audit trail), and the collector's report and trace document of it."""

    trail: JsonObject
    report: JsonObject
    document: JsonObject

    def ended(self) -> JsonObject:
        """The last entry of the trail."""
        return next(dict(entry["detail"]) for entry in self.trail["entries"] if entry["kind"] == "run_ended")

    def verdicts(self) -> list[tuple[Any, ...]]:
        """Of every handoff: source and target role, mode, status, score, missing, empty and extra names."""
        return [
            (
                h["source"]["role"],
                h["target"]["role"],
                h["mode"],
                h["status"],
                h.get("completeness"),
                h["missing_fields"],
                h["empty_fields"],
                h["extra_fields"],
            )
            for h in self.report["handoffs"]
        ]

    def hops_of_the_trail(self) -> list[tuple[Any, ...]]:
        return [
            (h["source"], h["target"], h["mode"], h["reason"], h["fields"], h["fields_sha256"])
            for h in (entry["detail"] for entry in self.trail["entries"] if entry["kind"] == "hop")
        ]

    def hops_of_the_document(self) -> list[tuple[Any, ...]]:
        hops = []
        for h in self.document["handoffs"]:
            fields = {field["name"]: field["value"] for field in h["fields"] if "seen_in" not in field}
            hashed = hashlib.sha256(
                json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
            ).hexdigest()
            hops.append(
                (h["source_agent"], h["target_agent"], h["origin"]["mode"], h["reason"], sorted(fields), hashed)
            )
        return hops


def run(program: str, *arguments: str, **environment: str) -> str:
    """What a program of OrchestratorX's environment prints."""
    assert (PROGRAMS / program).exists(), "run `make test-services`, which installs OrchestratorX"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "ORCHESTRATORX_"))}
    done = subprocess.run(
        [PROGRAMS / program, *arguments],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def reviews(serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Review]]:
    """The demo's three books, the incomplete handoff and the troubled review, all sent to one collector."""
    folder = tmp_path_factory.mktemp("orchestratorx")
    contracts = folder / "contracts.yaml"
    contracts.write_text(run("orchestratorx", "contracts"), encoding="utf-8")
    names = {
        "1-PF-1001": "compliant",
        "2-PF-1002": "concentrated",
        "3-PF-1003": "restricted",
        "4-PF-1002": "incomplete",
    }
    with serving(folder / "data", {"contracts.file": str(contracts)}) as process:
        endpoint = f"http://{process.address('receive.http')}"
        run(
            "orchestratorx",
            "demo",
            "--incomplete-handoff",
            "--traces",
            str(folder / "trails"),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        )
        run(
            "python",
            str(HERE / "programs" / "troubled_review.py"),
            str(folder / "trails" / "troubled.trace.json"),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        )
        sessions = {session["name"]: session for session in process.closed(5)}
        made = {}
        for path in sorted((folder / "trails").iterdir()):
            trail = json.loads(path.read_bytes())
            session = sessions.pop(trail["run_id"])
            assert (session["close_reason"], session["partial_reasons"]) == ("explicit", [])
            base = f"/api/v1/sessions/{session['session_id']}"
            name = path.name.removesuffix(".trace.json")
            made[names.get(name, name)] = Review(
                trail, process.get(f"{base}/report").json()["report"], process.get(f"{base}/trace").json()
            )
        assert sessions == {}
        yield made


@pytest.mark.parametrize("name", ["compliant", "concentrated", "restricted", "incomplete"])
def test_every_hop_of_the_audit_trail_is_recovered_in_order_with_its_fields(
    reviews: dict[str, Review], name: str
) -> None:
    review = reviews[name]
    assert review.hops_of_the_document() == review.hops_of_the_trail()
    path = ["supervisor", *(hop[1] for hop in review.hops_of_the_document())]
    assert path == review.ended()["path"]


@pytest.mark.parametrize("name", ["compliant", "concentrated", "restricted"])
def test_a_review_that_hands_everything_on_is_whole(reviews: dict[str, Review], name: str) -> None:
    assert {verdict[3:] for verdict in map(_hashable, reviews[name].verdicts())} == {("completed", 1.0, (), (), ())}


def test_the_halted_review_is_seen_to_be_halted_and_asks_nobody_for_a_mitigation(reviews: dict[str, Review]) -> None:
    review = reviews["restricted"]
    last = review.document["handoffs"][-1]
    fields = {field["name"]: field["value"] for field in last["fields"]}
    assert (last["target_agent"], last["origin"]["mode"]) == ("Reporter", "transfer")
    assert (fields["escalation"], fields["halted"]) == ("halt", True)
    assert [item["code"] for item in fields["findings"]["items"]] == ["CMP-003"]
    assert "ClientAdvisor" not in {agent["agent_id"] for agent in review.document["agents"]}
    assert review.ended()["halted"] is True


def test_the_one_incomplete_handoff_is_graded_and_no_other(reviews: dict[str, Review]) -> None:
    review = reviews["incomplete"]
    assert [verdict for verdict in review.verdicts() if verdict[4] != 1.0] == [
        ("supervisor", "client_advisor", "delegate", "completed", 0.82, ["mandate"], ["open_findings"], []),
    ]
    (weakest,) = (h for h in review.report["handoffs"] if h["completeness"] != 1.0)
    assert weakest["grade"] == "B"
    assert weakest["present_fields"] == ["portfolio_id", "equity", "positions"]
    assert review.report["session"]["weakest"]["handoff_id"] == weakest["handoff_id"]


def test_a_specialist_that_fails_and_one_that_hangs_are_repeated_delegations_and_dropped_ones(
    reviews: dict[str, Review],
) -> None:
    review = reviews["troubled"]
    asked: tuple[Any, ...] = ("supervisor", "risk_modeler", "delegate", "completed", 1.0, [], [], [])
    failed: tuple[Any, ...] = (
        "risk_modeler",
        "supervisor",
        "return",
        "completed",
        0.58,
        ["findings", "evidence"],
        [],
        ["error"],
    )
    dropped: tuple[Any, ...] = ("supervisor", "compliance_checker", "delegate", "dropped", None, [], [], [])
    assert review.verdicts() == [
        asked,
        failed,
        asked,
        failed,
        dropped,
        dropped,
        ("supervisor", "reporter", "transfer", "completed", 1.0, [], [], []),
    ]
    # the trail also has the answers that did not come; the collector has no handoff for what was not handed
    trail = [hop for hop in review.hops_of_the_trail() if (hop[0], hop[2]) != ("ComplianceChecker", "return")]
    assert review.hops_of_the_document() == trail
    found = {(b["kind"], b["subject"]): b["measured"] for b in review.report["bottlenecks"]}
    assert found[("dropped", "supervisor")] == 2
    assert found[("rework", "supervisor -> RiskModeler")] == 2


def test_the_demonstration_plays_its_three_books_beside_the_recording(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "collector.demo", "--orchestratorx", PROGRAMS / "orchestratorx"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path), "OTEL_SDK_DISABLED": "true", "ORCHESTRATORX_LLM": "no-such-model"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "played 3 reviews of OrchestratorX live into " in done.stdout
    said = dict(re.findall(r"^(\w[\w ]+?) {2,}(.+)$", done.stdout, re.M))
    assert (said["sessions"], said["mean completeness"]) == ("4", "0.915")
    assert said["weakest relay"].startswith("engineer -> reviewer: 0.380 (grade D; ")
    assert len(list(Path(said["all dossiers"]).glob("run-*.dossier.md"))) == 3


def _hashable(verdict: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list) else item for item in verdict)
