"""What the analysis may import: the standard library and itself, whoever asks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted((ROOT / "orbitrelay").rglob("*.py"))

IMPORT_ALL = """
import sys
allowed = sys.stdlib_module_names
class OnlyTheStandardLibrary:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top != "orbitrelay" and top not in allowed:
            raise ImportError("not of the standard library: " + name)
sys.meta_path.insert(0, OnlyTheStandardLibrary())
sys.path.append(sys.argv[1])
import importlib, pkgutil
import orbitrelay
names = [m.name for m in pkgutil.walk_packages(orbitrelay.__path__, "orbitrelay.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
from orbitrelay.cli import main
code = main(["pipeline", "--trace", sys.argv[2], "--out", sys.argv[3]])
foreign = {m.partition(".")[0] for m in sys.modules} - allowed - {"orbitrelay", "__main__"}
print(len(names), sorted(foreign), code, file=sys.stderr)
"""


def test_every_module_imports_and_runs_with_only_the_standard_library_reachable(tmp_path: Path) -> None:
    fixture = ROOT / "examples" / "incident_triage.json"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(ROOT), str(fixture), str(tmp_path / "dossier.md")],
        capture_output=True,
        text=True,
        check=False,
    )
    without_entry = len(MODULES) - len({"__init__.py", "__main__.py"})
    assert done.stderr == f"{without_entry} [] 0\n"


def test_no_module_imports_anything_but_the_standard_library_and_its_own_package() -> None:
    foreign = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            foreign += [(module.name, name) for name in names if name.partition(".")[0] not in sys.stdlib_module_names]
    assert foreign == []


def test_no_module_reads_a_clock_random_numbers_or_the_network() -> None:
    impure = {"time", "datetime", "random", "secrets", "uuid", "socket", "urllib", "http", "locale", "unicodedata"}
    found = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found += [(module.name, name) for name in names if name.partition(".")[0] in impure]
    assert found == []
