"""Links from the page to where traces are looked at: Jaeger, Tempo in Grafana, or any other, by a template.

Separate because the template is configuration and is refused at start, not when somebody clicks.
"""

from __future__ import annotations

from string import Formatter
from urllib.parse import quote, urlsplit

from collector.listen.errors import StartError

_KNOWN = ("trace_id", "span_id")


class TraceLinks:
    """Makes addresses from a template with `{trace_id}` and, if wanted, `{span_id}`. Raises `StartError` for one that cannot serve."""

    def __init__(self, template: str) -> None:
        self._template = template
        if not template:
            return
        try:
            names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
            scheme, host = urlsplit(template)[:2]
        except ValueError as error:
            raise StartError(
                f"expected page.trace_url as a URL with {{trace_id}}, found {template[:80]!r} ({error})"
            ) from error
        if scheme not in ("http", "https") or not host:
            raise StartError(f"expected page.trace_url as an http or https URL, found {template[:80]!r}")
        if "trace_id" not in names or any(name not in _KNOWN for name in names):
            raise StartError(
                f"expected page.trace_url with {{trace_id}} and no other name than {{span_id}}, found {template[:80]!r}"
            )

    def __call__(self, trace_id: str, span_id: str = "") -> str:
        """The address of a trace, "" where there is no template or no trace."""
        if not self._template or not trace_id:
            return ""
        return self._template.format(trace_id=quote(trace_id, safe=""), span_id=quote(span_id, safe=""))
