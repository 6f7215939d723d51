"""The page on conversion names every format that a reader can say it took a dump for."""

from __future__ import annotations

import re
from pathlib import Path

from collector.dumps import flat, jaeger, langfuse, otlp_json, otlp_protobuf
from collector.dumps.model import MAX_VALUE, MiB

PAGE = (Path(__file__).parents[3] / "docs" / "convert.md").read_text()


def test_the_page_has_one_row_for_every_format() -> None:
    table = PAGE.partition("## What is read")[2].partition("## What cannot be read")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)

    assert set(rows) - {"format"} == {
        otlp_json.FORMAT,
        otlp_json.TEMPO_FORMAT,
        jaeger.FORMAT,
        langfuse.FORMAT,
        flat.FORMAT,
        flat.FRAME_FORMAT,
        flat.TREE_FORMAT,
        *otlp_protobuf.FRAMINGS.values(),
    }
    assert f"up to {MAX_VALUE // MiB} MiB" in PAGE
