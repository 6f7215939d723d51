"""The stateful core: accepts requests, keeps them in the journal, and carries them through to reports."""

from collector.engine.engine import Durability, Engine, EngineStats
from collector.engine.gate import Accepted, Limits, Overloaded, Reason
from collector.engine.housekeeping import Housekeeping

__all__ = [
    "Accepted",
    "Durability",
    "Engine",
    "EngineStats",
    "Housekeeping",
    "Limits",
    "Overloaded",
    "Reason",
]
