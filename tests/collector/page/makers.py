"""Small traces to show, and whole reports made by the engine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from collector.contracts import load
from collector.pipeline import Terms
from collector.report import Report
from orbitrelay import Analysis, analyse, from_document
from tests.collector.engines import Bench, run
from tests.collector.page.world import CONTRACTS


def handoff(number: int, source: str, target: str, fields: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One handoff of a trace document."""
    return {
        "handoff_id": f"h{number}",
        "source_agent": source,
        "target_agent": target,
        "tick": number,
        "reason": "",
        "latency_ms": None,
        "fields": [{"name": name, "kind": "note", "value": value} for name, value in (fields or {}).items()],
        **more,
    }


def analysis(*handoffs: dict[str, Any], **contract: Any) -> Analysis:
    """The analysis of a trace in which every agent's role is its name."""
    agents = dict.fromkeys(agent for h in handoffs for agent in (h["source_agent"], h["target_agent"]))
    document = {
        "trace_id": "t",
        "metadata": {},
        "contract": contract,
        "agents": [{"agent_id": agent, "role": agent, "capabilities": []} for agent in agents],
        "turns": [],
        "handoffs": list(handoffs),
    }
    return analyse(from_document(document))


def reported(*bodies: bytes) -> list[Report]:
    """What the engine reports of these requests, by name."""
    found: list[Report] = []

    async def go(folder: Path) -> None:
        (folder / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
        async with Bench(folder, terms=Terms(book=load(folder / "contracts.yaml"))) as bench:
            await bench.send(*bodies)
            await bench.taken()
            bench.clock.forward(400)
            await bench.until(lambda: bench.store.stats().reports >= len(bodies))
            found.extend(await bench.reports(len(bodies)))

    with tempfile.TemporaryDirectory() as folder:
        run(go(Path(folder)))
    return found
