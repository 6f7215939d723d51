"""What an agent's answer must be before anything of it enters the state.

Separate from the agents because it does not trust them. Every breach is a PolicyViolationError: deterministic, so never
retried. An agent cannot speak for another, invent a rule, soften a severity, or report nothing without saying what it
looked at.
"""

from __future__ import annotations

import json
from typing import Any

from orchestratorx.policy import PolicyViolationError
from orchestratorx.rules import RULES, RULES_OF
from orchestratorx.state import ADVISOR, REPORTER, AgentResult, Finding, Outcome

__all__ = ["EVIDENCE_LIMIT", "checked"]

EVIDENCE_LIMIT = 64 * 1024


def _text(agent: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise PolicyViolationError(f"{agent}: expected {name} to be text, found {type(value).__name__}")
    return value


def _finding(agent: str, item: object) -> Finding:
    if not isinstance(item, Finding):
        raise PolicyViolationError(f"{agent}: expected a Finding, found {type(item).__name__}")
    if item.agent != agent:
        raise PolicyViolationError(f"{agent}: a finding is signed by {item.agent!r}")
    rule = RULES.get(item.code) if isinstance(item.code, str) else None
    if rule is None or rule.agent != agent:
        raise PolicyViolationError(f"{agent}: rule {item.code!r} is not one of its rules")
    if item.severity is not rule.severity:
        raise PolicyViolationError(f"{agent}: {item.code} is {rule.severity.value}, not {str(item.severity)!r}")
    return Finding(
        item.code, rule.severity, _text(agent, "message", item.message), _text(agent, "subject", item.subject), agent
    )


def _evidence(agent: str, value: object) -> dict[str, Any]:
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyViolationError(f"{agent}: evidence is not JSON: {error}") from None
    if len(text) > EVIDENCE_LIMIT:
        raise PolicyViolationError(f"{agent}: evidence of {len(text)} bytes, expected at most {EVIDENCE_LIMIT}")
    copied = json.loads(text)
    if not isinstance(copied, dict):
        raise PolicyViolationError(f"{agent}: expected evidence to be an object, found {type(value).__name__}")
    return copied


def _worked_out(agent: str, evidence: dict[str, Any]) -> dict[str, Any]:
    if agent == ADVISOR:
        actions = evidence.get("actions")
        if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
            raise PolicyViolationError(f"{agent}: expected actions to be a list of text")
    if agent == REPORTER:
        for name in ("narrative", "by"):
            if not _text(agent, name, evidence.get(name)).strip():
                raise PolicyViolationError(f"{agent}: expected {name} to be text, found nothing")
    return evidence


def checked(agent: str, answer: object) -> AgentResult:
    """The answer as a result that shares nothing with the agent; raises PolicyViolationError."""
    if not isinstance(answer, AgentResult):
        raise PolicyViolationError(f"{agent}: expected an AgentResult, found {type(answer).__name__}")
    if answer.agent != agent:
        raise PolicyViolationError(f"{agent}: the answer is signed by {answer.agent!r}")
    if answer.outcome is not Outcome.COMPLETED or answer.error is not None:
        raise PolicyViolationError(f"{agent}: an agent that cannot answer raises; it does not return a failure")
    try:
        items, evaluated, notes = tuple(answer.findings), tuple(answer.evaluated), tuple(answer.notes)
    except TypeError:
        raise PolicyViolationError(f"{agent}: findings, evaluated and notes must be tuples") from None
    skipped = [code for code in RULES_OF.get(agent, ()) if code not in evaluated]
    if skipped:
        raise PolicyViolationError(f"{agent}: did not say that it evaluated {', '.join(skipped)}")
    return AgentResult(
        agent=agent,
        findings=tuple(_finding(agent, item) for item in items),
        evaluated=RULES_OF.get(agent, ()),
        evidence=_worked_out(agent, _evidence(agent, answer.evidence)),
        summary=_text(agent, "summary", answer.summary),
        notes=tuple(_text(agent, "note", note) for note in notes),
    )
