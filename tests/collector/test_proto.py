from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_committed_code_is_what_the_protocol_files_give(tmp_path: Path) -> None:
    generate = runpy.run_path(str(ROOT / "proto" / "generate.py"))["generate"]
    fresh = {path.relative_to(tmp_path): path.read_bytes() for path in generate(tmp_path)}
    folder = ROOT / "collector" / "pb"
    committed = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.suffix in {".py", ".pyi"}}
    assert committed == fresh, "run `make proto`"


def test_protocol_files_do_not_shadow_the_analysis() -> None:
    import orbitrelay
    from collector.pb.orbitrelay.v1 import query_pb2

    assert query_pb2.DESCRIPTOR.package == "orbitrelay.v1"
    assert "pb" not in str(orbitrelay.__file__)
