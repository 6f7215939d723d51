"""The registry: scopes before marks, the longest prefix wins, and conventions from outside the package."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import collector.conventions
from collector.conventions.base import Convention, Registry
from collector.conventions.registry import BUILT_IN
from collector.otlp.model import Scope, Span

OUTSIDE = """
from collector.conventions.base import Convention
from collector.facts import Content, ToolCall, Visit

def facts(span):
    if span.name.startswith("run "):
        yield Visit(name=span.name[4:])
    elif span.name == "pass on":
        yield ToolCall(name="pass on", target=span.attributes["to"], certain=True, arguments=Content(span.attributes["what"]))

CONVENTION = Convention(name="relaykit", facts=facts, scopes=("relaykit",), content_switch="nothing to switch on")
"""

PROGRAM = """
from tests.collector.spans import Trace, recovered, relays

t = Trace("relaykit.tracing")
root = t.span("w", 0, 90)
a = t.span("run Empfang", 0, 10, root)
t.span("pass on", 8, 9, a, attributes={"to": "Lager 2", "what": {"menge": 0}})
t.span("run Lager 2", 12, 20, root)
print("\\n".join(relays(recovered(t))))
"""


def span(scope: str, **attributes: str) -> Span:
    return Span("0" * 31 + "1", "0" * 15 + "1", "s", scope=Scope(scope), attributes=attributes)


def named(name: str, *scopes: str, marked: str = "") -> Convention:
    if not marked:
        return Convention(name, lambda s: (), scopes)
    return Convention(name, lambda s: (), scopes, marks=lambda s: marked in s.attributes)


def test_the_longest_scope_prefix_wins_whatever_the_order() -> None:
    registry = Registry([named("all", ""), named("long", "a.b"), named("short", "a")])
    found = [registry.of_span(span(s)) for s in ("a.b.c", "a.c", "x")]
    assert [c.name for c in found if c] == ["long", "short", "all"]


def test_a_mark_wins_over_the_scope() -> None:
    registry = Registry([named("scoped", "a"), named("marked", marked="m")])
    found = [registry.of_span(span("a")), registry.of_span(span("a", m="1"))]
    assert [c.name for c in found if c] == ["scoped", "marked"]


def test_a_scope_that_was_lost_is_read_from_an_attribute_or_told_by_what_only_one_producer_writes() -> None:
    shaped = Convention("shaped", lambda s: (), shapes=(("kind", "x-"), ("own", "")))
    registry = Registry([named("all", ""), named("scoped", "a"), shaped])
    spans = [
        span("", **{"otel.scope.name": "a.b"}),
        span("", kind="an x-1"),
        span("", kind="y"),
        span("elsewhere", own=""),
        span("a", own=""),
    ]
    found = [registry.of_span(s) for s in spans]
    assert [c.name for c in found if c] == ["scoped", "shaped", "all", "shaped", "scoped"]


def test_names_are_unique_and_every_convention_says_its_switch() -> None:
    assert len({c.name for c in BUILT_IN}) == len(BUILT_IN)
    assert all(c.content_switch for c in BUILT_IN)


def test_no_mapper_knows_another() -> None:
    folder = Path(collector.conventions.__file__).parent
    shared = {"base", "reading", "genai", "registry", "extract", "__init__"}
    mappers = {p.stem for p in folder.glob("*.py")} - shared
    mappers -= {m for m in mappers if m.endswith("_reading")}
    for name in sorted(mappers):
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        taken = {
            alias.name if node.module == "collector.conventions" else (node.module or "").rpartition(".")[2]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("collector.conventions")
            for alias in node.names
        }
        assert not taken & mappers, (name, taken & mappers)


def test_a_package_outside_adds_a_convention_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "relaykit.py").write_text(OUTSIDE, encoding="utf-8")
    info = tmp_path / "relaykit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: relaykit\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[orbitrelay.conventions]\nrelaykit = relaykit:CONVENTION\n", encoding="utf-8"
    )
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(tmp_path), str(root)])

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (done.stdout, done.stderr) == ('Empfang -> Lager 2 transfer explicit 3 {"menge": 0}\n', "")
