"""The conventions that spans of agents come in: one mapper file a producer, each from spans to facts, none knowing another.

A mapper is a `Convention`. It is chosen by the instrumentation scope's name, else by what marks its spans; the generic GenAI mapper takes
what no other claims. A package outside this one adds its own by an entry point in the group `orbitrelay.conventions` whose object is a
`Convention`; it comes before the built-in ones.
"""

from __future__ import annotations

from collector.conventions.base import Convention, Registry
from collector.conventions.extract import carriers_of, extract
from collector.conventions.registry import default_registry

__all__ = ["Convention", "Registry", "carriers_of", "default_registry", "extract"]
