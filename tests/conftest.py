"""Settings for all tests.

Hypothesis times each example against the wall clock; on a shared machine that measures the neighbours, so its deadline and its too-slow
check are off. The suite's own time limit stands.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("suite")
