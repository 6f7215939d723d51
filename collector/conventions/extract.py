"""Spans and log records to facts, each alone: the step before a session is known.

Separate from the mappers because what every span gives, whoever made it, is the same: its place in the tree, its times, its session keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collector.conventions import reading
from collector.conventions.base import Carriers, Registry
from collector.conventions.registry import default_registry
from collector.conventions.sampling import was_sampled
from collector.facts import Facts, SpanFacts, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Batch, LogRecord, Resource, Span
from collector.sessions.keys import KINDS, SESSION, unquote

OWN_SCOPE = "orbitrelay"
"""Scope of the spans that this collector makes: sent back to it, they feed nothing."""

SESSION_END = "orbitrelay.session.end"

_METADATA = "metadata."
_KEYS = frozenset(name for kind in KINDS for name in kind.attributes) | {"metadata"}
_DEFAULT_CARRIERS = Carriers()


def extract(batch: Batch, registry: Registry | None = None, scope_attributes: Sequence[str] = ()) -> Facts:
    """Facts of every span and log record of a request. `scope_attributes`: resource attributes (tenant, environment) that scope session keys."""
    registry = registry or default_registry()
    out = [of_span(span, registry, scope_attributes) for span in batch.spans if span.scope.name != OWN_SCOPE]
    for record in batch.logs:
        facts = of_log(record, registry)
        if facts is not None:
            out.append(facts)
    return Facts(tuple(out))


def of_span(span: Span, registry: Registry, scope_attributes: Sequence[str] = ()) -> SpanFacts:
    """Facts of one span."""
    convention = registry.of_span(span)
    facts = tuple(convention.facts(span)) if convention is not None else ()
    causes: tuple[tuple[str, str], ...] = ()
    if span.links and convention is not None:
        causes = tuple((k.trace_id, k.span_id) for k in span.links if convention.causes(span, k))
    visits = [f for f in facts if isinstance(f, Visit)]
    keys = session_keys(span.attributes, span.resource)
    if visits and visits[0].team:
        keys.setdefault("group", visits[0].team)
    return SpanFacts(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        name=span.name,
        kind=span.kind,
        start_ns=span.start_unix_nano,
        end_ns=span.end_unix_nano,
        service=span.resource.service,
        instance=_process(span.resource.attributes),
        scope={k: str(span.resource.attributes[k]) for k in scope_attributes if k in span.resource.attributes},
        resource=dict(span.resource.attributes) if visits else {},
        session_keys=keys,
        causes=causes,
        convention=convention.name if convention is not None else "",
        facts=facts,
        error=span.status_code == STATUS_ERROR,
        ends_session=any(e.name == SESSION_END for e in span.events),
        sampled=was_sampled(span),
    )


def _process(resource: Attributes) -> str:
    """What tells processes of one service apart, and so their clocks: the instance, else the host."""
    return str(resource.get("service.instance.id") or resource.get("host.id") or resource.get("host.name") or "")


def of_log(record: LogRecord, registry: Registry) -> SpanFacts | None:
    """Facts of one log record; None where it is tied to no span or says nothing of an agent."""
    if not (record.trace_id and record.span_id):
        return None
    convention = registry.of_log(record)
    facts = tuple(convention.log_facts(record)) if convention is not None else ()
    ends = record.event_name == SESSION_END
    if not facts and not ends:
        return None
    time = record.time_unix_nano or record.observed_time_unix_nano
    return SpanFacts(
        trace_id=record.trace_id,
        span_id=record.span_id,
        start_ns=time,
        end_ns=time,
        service=record.resource.service,
        session_keys=session_keys(record.attributes, record.resource),
        convention=convention.name if convention is not None else "",
        facts=facts,
        log=True,
        ends_session=ends,
    )


def session_keys(attributes: Attributes, resource: Resource) -> dict[str, str]:
    """Kind of key -> its value, for every session key that the attributes hold (`metadata` of LangChain runs, a JSON text, included).

    A process that is one session has its `session.id` on the resource; what a span says itself goes before.
    """
    out = (
        {} if _KEYS.isdisjoint(attributes) else _keys(attributes)
    )  # of plain spans, which are most, nothing is looked up
    if SESSION not in out and (whole := unquote(resource.attributes.get("session.id"))):
        out[SESSION] = whole
    return out


def _keys(attributes: Attributes) -> dict[str, str]:
    out: dict[str, str] = {}
    inside: dict[str, Any] | None = None
    for kind in KINDS:
        for name in kind.attributes:
            value = attributes.get(name)
            if value is None and name.startswith(_METADATA):
                if inside is None:
                    text = attributes.get("metadata")
                    inside = reading.entries(text) if isinstance(text, str) and "_id" in text else {}
                value = inside.get(name.removeprefix(_METADATA))
            if value is not None and (text := unquote(value)):
                out[kind.name] = text
                break
    return out


def carriers_of(convention: str) -> Carriers:
    """The carriers of a convention by its name."""
    found = default_registry().named(convention)
    return found.carriers if found is not None else _DEFAULT_CARRIERS
