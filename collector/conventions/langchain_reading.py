"""LangChain's objects written as Python: Commands, Sends and messages, as older tracers record what they cannot serialize.

Separate from `langgraph_reading` because it is the reading of one form, which newer releases no longer write.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from collector.facts import values

_OBJECT = re.compile(r"^\[?(?:ParentCommand\()?(?:Command|Send)\(")
_MESSAGE = re.compile(
    r"""^content=(?P<content>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") (?P<rest>additional_kwargs=.*)$""", re.S
)
_RAISED = "ParentCommand"  # the exception by which a Command leaves its graph
_NAME = re.compile(r""" name=(?P<name>'(?:[^'\\]|\\.)*')(?= |$)""")
_MAX = 1_000_000


def read(text: str) -> Any:
    """The Commands in a text as JSON objects; None where it is none."""
    if not _OBJECT.match(text) or len(text) > _MAX:
        return None
    try:
        return values.plain(_value(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        kind = node.func.id if isinstance(node.func, ast.Name) else ""
        if kind == _RAISED and len(node.args) == 1:
            return _value(node.args[0])
        return {"type": kind, **{k.arg: _value(k.value) for k in node.keywords if k.arg}}
    if isinstance(node, ast.Dict):
        return {str(_value(k)): _value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item) for item in node.elts]
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def message(text: str) -> dict[str, Any] | None:
    """A message that stands as its fields in a row: `content='...' additional_kwargs={...} ...`; None where the text is none."""
    found = _MESSAGE.match(text)
    if found is None:
        return None
    rest = found.group("rest")
    by_model = " usage_metadata=" in rest or " tool_calls=[" in rest or "'token_usage'" in rest
    name = _NAME.search(rest)
    return {
        "role": "tool" if " tool_call_id=" in rest else "assistant" if by_model else "user",
        "content": ast.literal_eval(found.group("content")),
        "name": ast.literal_eval(name.group("name")) if name else None,
    }
