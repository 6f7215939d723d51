"""What of content outlives a session, under each policy."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.content import MARKER, apply_policy
from orbitrelay import analyse, from_document


def document(*values: Any) -> dict[str, Any]:
    return {
        "trace_id": "t",
        "metadata": {},
        "contract": {"coder": ["f0", "f1", "absent"]},
        "agents": [{"agent_id": a, "role": a, "capabilities": []} for a in ("planner", "coder")],
        "turns": [
            {"turn_id": "t1", "agent_id": "coder", "tick": 1, "text": "secret words", "tokens": 3},
            {"turn_id": "t2", "agent_id": "coder", "tick": 2, "text": None, "tokens": None},
        ],
        "handoffs": [
            {
                "handoff_id": "h1",
                "source_agent": "planner",
                "target_agent": "coder",
                "tick": 1,
                "reason": "secret reason",
                "latency_ms": None,
                "fields": [{"name": f"f{n}", "kind": "note", "value": value} for n, value in enumerate(values)],
            }
        ],
    }


def test_full_keeps_the_document_as_it_is() -> None:
    made = document("secret", "")
    assert apply_policy(made, "full") is made


def test_hashed_keeps_equality_and_nothing_else() -> None:
    kept = apply_policy(document("secret", "secret", {"a": 1}, "", None, [], {}, 0, False), "hashed", b"key")
    fields = kept["handoffs"][0]["fields"]
    values = [field["value"] for field in fields]
    assert "secret" not in str(kept)
    assert values[0] == values[1] == "blake2b:fb50b54eed92a48cc9beb2b0132983b7"
    assert values[3:7] == ["", None, [], {}]
    assert len(set(map(str, values[:3] + values[7:]))) == 4
    assert [field.get("state") for field in fields] == ["redacted"] * 3 + [None] * 4 + ["redacted"] * 2
    assert apply_policy(document("secret"), "hashed", b"other")["handoffs"][0]["fields"][0]["value"] != values[0]


def test_names_keeps_names_and_emptiness() -> None:
    kept = apply_policy(document("secret", ""), "names")
    assert [(f["name"], f["value"]) for f in kept["handoffs"][0]["fields"]] == [("f0", MARKER), ("f1", "")]
    assert [turn["text"] for turn in kept["turns"]] == [MARKER, None]
    assert kept["handoffs"][0]["reason"] == MARKER


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=4), st.sampled_from(["hashed", "names"]))
def test_no_policy_changes_an_outcome_or_a_score(values: list[Any], policy: Any) -> None:
    made = document(*values)
    before, after = analyse(from_document(made)), analyse(from_document(apply_policy(made, policy)))
    assert [list(i.outcomes()) for i in after.inspections] == [list(i.outcomes()) for i in before.inspections]
    assert [s.score for s in after.scores.handoffs] == [s.score for s in before.scores.handoffs]
