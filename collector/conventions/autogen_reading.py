"""What AutoGen's own names mean, whoever recorded them.

Separate from the mappers because its own spans and an instrumentation's show the same groups.
"""

from __future__ import annotations

MANAGER = "MagenticOneOrchestrator"
"""The one manager of a group that speaks for itself; the others only pass on whose turn it is."""
