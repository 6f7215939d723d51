"""The pages hold together: links lead somewhere, the index is whole, and tables say what the code says."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest

import orbitrelay
from collector import semconv
from orbitrelay import bottleneck, dossier, model, notes, phrases, scoring, text
from orbitrelay.analysis import bottlenecks_document, score_document
from tests.docs.pages import ROOT, headings, links, pages, read

SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text())
FIXTURE = ROOT / "examples" / "incident_triage.json"


def cells(page: str, column: int = 0) -> set[str]:
    """The words in code spans of one column of a page's tables."""
    rows = [line.split("|")[1:-1] for line in read(page).splitlines() if line.startswith("|")]
    return {word for row in rows if len(row) > column for word in re.findall(r"`([^`]+)`", row[column])}


@pytest.mark.parametrize("page", pages())
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    astray = []
    for link in links(read(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (folder / path).resolve() if path else ROOT / page
        if not target.exists() or (anchor and anchor not in headings(target.read_text(encoding="utf-8"))):
            astray.append(link)
    assert astray == []


@pytest.mark.parametrize("page", pages())
def test_a_page_names_no_package_registry_and_no_path_of_a_machine(page: str) -> None:
    assert re.findall(r"pypi|pythonhosted|npmjs|/home/|/root/|/Users/|/tmp/", read(page), re.I) == []


def test_the_index_has_every_page_and_schema_of_docs() -> None:
    indexed = {link for link in links(read("docs/README.md")) if "/" not in link}
    there = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in {".md", ".json"}}
    assert there - indexed == {"README.md", "contracts.schema.json"}


def test_the_trace_page_has_every_key_of_the_schema_and_no_other() -> None:
    keys = {key for part in (SCHEMA, *SCHEMA["$defs"].values()) for key in part.get("properties", {})}
    assert keys - set(re.findall(r"`(\w+)`", read("docs/trace-schema.md"))) == set()
    assert cells("docs/trace-schema.md") - keys == set()


def test_the_trace_page_has_every_choice_of_the_loader() -> None:
    choices = {*model.ACCEPTS, *model.STATES, *model.SEEN_IN, *model.STATUSES, *model.MODES, *model.EVIDENCE}
    assert choices - set(re.findall(r"`(\w+)`", read("docs/trace-schema.md"))) == set()


def test_the_scoring_page_has_the_formula_the_grades_and_the_reasons_of_the_code() -> None:
    page = read("docs/scoring.md")
    cap = scoring.EXTRA_CAP
    assert (
        f"clamp(1 - {scoring.MISSING_WEIGHT:.2f}*missing/max(required,1) - {scoring.EMPTY_WEIGHT:.2f}*empty/max(required,1)"
        f" - {scoring.EXTRA_WEIGHT:.2f}*min(extra,{cap})/{cap}, 0, 1)"
    ) in page
    assert re.findall(r"^\| ([A-F]) \| ([0-9.]+) \|$", page, re.M) == [
        (grade, f"{floor:.2f}" if floor else "0.0") for grade, floor in scoring.GRADES
    ]
    reasons = page.split("## What has no score")[1].split("## The report")[0]
    assert re.findall(r"^\| `(\w+)` \| .*", reasons, re.M)[1:] == [*scoring.UNSCORED_REASONS]


def test_the_scoring_page_has_every_key_of_the_report() -> None:
    report = score_document(*_scored())
    named = set(re.findall(r"`(\w+)`", read("docs/scoring.md")))
    assert set(report) - named == {"handoffs", "trace_id"}


def test_the_bottleneck_page_has_the_detectors_and_keys_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (?:(\d+)|[^|]+) \|$", read("docs/bottlenecks.md"), re.M)
    kinds = [detector.__name__.removeprefix("detect_") for detector in bottleneck.DETECTORS]
    assert rows == [
        (kind, threshold)
        for kind, threshold in zip(
            kinds,
            (
                "",
                str(bottleneck.FAN_THRESHOLD),
                str(bottleneck.FAN_THRESHOLD),
                str(bottleneck.REWORK_THRESHOLD),
                str(bottleneck.CYCLE_THRESHOLD),
                str(bottleneck.DROPPED_THRESHOLD),
            ),
            strict=True,
        )
    ]
    trace = orbitrelay.load(FIXTURE)
    keys = bottlenecks_document(trace, orbitrelay.find_bottlenecks(trace))["bottlenecks"][0]
    assert set(keys) - set(re.findall(r"`(\w+)`", read("docs/bottlenecks.md"))) == set()


def test_the_dossier_page_has_the_sections_and_limits_of_the_code() -> None:
    page = read("docs/dossier-format.md")
    written = dossier.dossier(orbitrelay.analyse(orbitrelay.load(FIXTURE)))
    titles = re.findall(r"^## (.+)$", written, re.M)
    assert re.findall(r"^## (.+)$", page, re.M)[1:] == ["Header", *titles]
    assert len(dossier.BLOCKS) == len(titles) + 1
    for limit, said in (
        (dossier.MAP_FIELDS, "up to {}; beyond"),
        (phrases.NAMES_SHOWN, "A list of names shows {} and"),
        (notes.VALUES_SHOWN, "of each {} fields"),
        (dossier.METADATA_SHOWN, "in code-point order, {} at most"),
        (phrases.VALUE_LIMIT, "values to {},"),
        (dossier.AGENT_WIDTH, "agents to {} characters"),
        (text.DOSSIER_LIMIT, "cut to {} characters"),
    ):
        assert said.format(limit) in page
    for table in re.findall(r"^\| .* \|$\n\| ---.*$", written, re.M)[1:]:
        for column in table.split("\n")[0].strip("| ").split(" | "):
            assert f"`{column}`" in page, column


def test_the_glossary_has_every_outcome_grade_mode_and_kind() -> None:
    page = read("docs/glossary.md")
    words = {outcome.value for outcome in model.Outcome}
    words |= {detector.__name__.removeprefix("detect_") for detector in bottleneck.DETECTORS}
    words |= {*model.MODES, *model.EVIDENCE, "HandoffTrace", "ContextField", "Contract", "Completeness", "Revision"}
    assert [word for word in sorted(words) if not re.search(rf"\b{word}\b", page)] == []


def test_the_extending_page_names_every_part_of_a_bottleneck() -> None:
    given = set(re.findall(r"^                (\w+)=", read("docs/extending.md"), re.M))
    assert given == {field.name for field in fields(orbitrelay.Bottleneck)}


def test_the_excerpt_in_the_readme_is_of_the_fixtures_dossier() -> None:
    written = read("examples/vectors/incident-triage/dossier.md").splitlines()
    excerpt = read("README.md").split("## What it says")[1].split("The whole dossier")[0].split("\n\n", 2)[2]
    lines = [line.removeprefix("> ") for line in excerpt.splitlines() if line and not line.startswith("```")]
    assert len(lines) > 12
    assert [line for line in lines if line not in written] == []


def test_the_performance_tables_of_the_readme_are_those_that_were_measured() -> None:
    shown, measured = (
        dict(re.findall(r"<!-- benchmark: (\w+) -->\n(.*?)<!-- /benchmark: \1 -->", read(page), re.DOTALL))
        for page in ("README.md", "benchmarks/results.md")
    )
    assert shown.keys() == {"analysis", "accept", "pipeline"}
    assert all(table.strip() for table in measured.values())
    assert {name: measured[name] for name in shown} == shown


def _scored() -> tuple[orbitrelay.HandoffTrace, orbitrelay.ScoreReport]:
    analysis = orbitrelay.analyse(orbitrelay.load(FIXTURE))
    return analysis.trace, analysis.scores


def test_the_readme_has_every_instrument_and_event_of_the_one_table() -> None:
    def names(attributes: tuple[str, ...]) -> str:
        return ", ".join(f"`{name}`" for name in attributes) or "–"

    rows = [
        f"| `{each.name}` | {each.kind}, {each.unit} | {names(each.attributes)} | {each.brief} |"
        for each in semconv.INSTRUMENTS.values()
        if each not in semconv.HEALTH_INSTRUMENTS.values()
    ]
    rows += [
        f"| `{each.name}` | {each.carrier} | {names(each.attributes)} | {each.brief} |"
        for each in semconv.EVENTS.values()
    ]
    tables = read("README.md").split("### What it emits")[1].split("\n### ")[0]
    found = [line for line in tables.splitlines() if line.startswith("| `") and "collector.*" not in line]
    assert found == rows
