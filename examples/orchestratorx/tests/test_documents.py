"""The words of the package against the package: flowchart, examples, the two READMEs against each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from orchestratorx.cli import main
from orchestratorx.policy import MITIGATION_LIMIT
from orchestratorx.rules import RULES
from orchestratorx.state import ReviewState
from scripted import world

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "README.ar.md", "SPECIFICATION.md")
READMES = PAGES[:2]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str = r"\w+") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_the_flowchart_is_the_compiled_graph(name: str) -> None:
    (chart,) = blocks(name, "mermaid")
    names = {"start([start])": "__start__", "finish([end])": "__end__"}
    drawn = {
        (names.get(source, source), names.get(target, target), arrow == "-.->")
        for source, arrow, target in re.findall(r"^    (\S+) (-->|-\.->) (\S+)$", chart, re.MULTILINE)
    }
    compiled = {(edge.source, edge.target, edge.conditional) for edge in world().graph.get_graph().edges}
    assert drawn == compiled
    assert len(drawn) == len(chart.splitlines()) - 1


def test_the_readmes_have_equal_structure() -> None:
    english, arabic = (page(name) for name in READMES)
    for pattern in (r"^(#+) ", r"^(```\w*)$", r"^(\|)", r"^(- )"):
        assert re.findall(pattern, english, re.MULTILINE) == re.findall(pattern, arabic, re.MULTILINE)


def test_the_readmes_have_the_same_code_and_link_to_the_same_pages() -> None:
    english, arabic = READMES
    assert blocks(english) == blocks(arabic)
    targets = [set(re.findall(r"\]\(([^)]+)\)", page(name))) - set(READMES) for name in READMES]
    assert targets[0] == targets[1]


def test_the_readmes_name_the_same_variables_commands_and_agents_in_each_section() -> None:
    def words(section: str) -> set[str]:
        prose = re.sub(r"^```.*?^```$", "", section, flags=re.DOTALL | re.MULTILINE)
        return set(re.findall(r"`([^`]+)`", prose)) | set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+|\b[A-Z]{3,}\b", prose))

    english, arabic = (re.split(r"^## ", page(name), flags=re.MULTILINE) for name in READMES)
    for ours, theirs in zip(english, arabic, strict=True):
        left, right = words(ours), words(theirs)
        assert left - right <= {"API", "URL"}
        assert right - left <= {"English", "SSE"}


def test_the_arabic_readme_is_right_to_left_and_its_code_is_not() -> None:
    text = page("README.ar.md")
    assert text.startswith('<div dir="rtl">\n')
    assert text.count('<div dir="rtl">') == text.count("</div>")
    inside = re.findall(r'<div dir="rtl">(.*?)</div>', text, re.DOTALL)
    assert not [part for part in inside if "```" in part]
    outside = re.sub(r'<div dir="rtl">.*?</div>', "", text, flags=re.DOTALL)
    assert not re.search(r"[\u0600-\u06ff]", outside)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page(name)):
        assert (ROOT / target).exists()


@pytest.mark.parametrize("name", READMES)
def test_the_demo_in_the_readme_is_the_golden_one(name: str) -> None:
    assert blocks(name, "text")[0] == (ROOT / "tests" / "golden" / "demo.txt").read_text()


def test_the_book_in_the_readme_can_be_reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = blocks("README.md", "json")
    (tmp_path / "book.json").write_text(text)
    assert json.loads(text)["portfolio_id"] == "PF-2001"
    assert main(["run", str(tmp_path / "book.json")]) == 0
    assert "findings   : RSK-005(medium)" in capsys.readouterr().out


def test_the_python_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "halted\n"


def test_the_specification_lists_the_state() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (add|–) \|$", page("SPECIFICATION.md"), re.MULTILINE)
    added = {name for name, reducer in rows if reducer == "add"}
    assert [name for name, _ in rows] == list(ReviewState.__annotations__)
    assert added == {name for name, hint in ReviewState.__annotations__.items() if "operator.add" in str(hint)}


def test_the_specification_knows_the_bound_and_the_codes() -> None:
    text = page("SPECIFICATION.md")
    assert f"`MITIGATION_LIMIT` ({MITIGATION_LIMIT}) times" in text
    assert set(re.findall(r"(?:RSK|CMP)-\d+", text)) == set(RULES)


@pytest.mark.parametrize("name", PAGES)
def test_the_boundaries_are_stated(name: str) -> None:
    said = {"README.ar.md": ("مصطنعة", "نصيحة استثمارية")}.get(name, ("synthetic", "investment advice"))
    assert all(word in page(name) for word in said)
