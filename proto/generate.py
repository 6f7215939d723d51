"""Generate collector/pb from the protocol files beside this script (`make proto`).

The modules are generated as the files say (`orbitrelay/v1`), then their imports are moved into `collector.pb`: the package name
`orbitrelay` belongs to the analysis. `generate(folder)` writes somewhere else, for the test that holds the committed code to the protocol files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).parent
TARGET = HERE.parent / "collector" / "pb"
_INIT = '"""Generated from proto/ by `make proto`: never edited."""\n'


def generate(target: Path = TARGET) -> list[Path]:
    """Write the modules, and return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    files = sorted(str(path) for path in HERE.rglob("*.proto"))
    well_known = Path(protoc.__file__).parent / "_proto"
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    code = protoc.main(["protoc", f"-I{HERE}", f"-I{well_known}", *outputs, *files])
    if code:
        raise SystemExit(code)
    written = []
    for path in sorted(target.rglob("*_pb2*.py*")):
        if path.suffix not in {".py", ".pyi"}:
            continue
        if path.name.endswith("_pb2_grpc.py") and "class " not in path.read_text(encoding="utf-8"):
            path.unlink()
            continue
        text = re.sub(
            r"^from orbitrelay\.", "from collector.pb.orbitrelay.", path.read_text(encoding="utf-8"), flags=re.M
        )
        path.write_text(text, encoding="utf-8")
        written.append(path)
    for folder in sorted({path.parent for path in written} | {target, *(p.parent.parent for p in written)}):
        (folder / "__init__.py").write_text(_INIT, encoding="utf-8")
        written.append(folder / "__init__.py")
    return written


if __name__ == "__main__":
    generate()
    sys.exit(0)
