"""What a revision of a session changed of the one before it."""

from __future__ import annotations

import msgspec

from collector.page.revisions import changes
from tests.collector.page.makers import reported
from tests.collector.page.world import SECOND, incident


def test_what_a_revision_changed_is_said_in_sentences() -> None:
    (now,) = reported(incident("INC-1", 1_800_000_000 * SECOND))
    third = now.handoffs[2]
    before = msgspec.structs.replace(
        now,
        spans=now.spans - 3,
        partial=("unresolved_parents",),
        bottlenecks=(),
        handoffs=(
            *now.handoffs[:2],
            msgspec.structs.replace(third, score=0.4, grade="D", missing_fields=(*third.missing_fields, "goal")),
            *now.handoffs[3:6],
        ),
    )
    assert changes(before, now) == [
        "3 spans more",
        "handoff found: reviewer → planner",
        "researcher → engineer: 0.40 D (missing root_cause_hypothesis, missing constraints, missing goal), "
        "now 0.68 C (missing root_cause_hypothesis, missing constraints)",
        "new bottleneck: latency researcher -> engineer",
        "new bottleneck: rework engineer -> reviewer",
        "no longer partial",
    ]
    assert changes(now, now) == ["nothing that is shown here"]
