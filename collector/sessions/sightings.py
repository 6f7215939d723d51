"""From the facts of a span to what sessions need of it.

Separate from the assembler, which knows nothing of conventions, and from the facts, which know nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from collector.facts import SpanFacts, ToolCall, Transfer
from collector.sessions.keys import claims
from collector.sessions.model import Sighting

_ENCODER: Final = msgspec.msgpack.Encoder()


class Scopes(msgspec.Struct, frozen=True):
    """Resource attributes whose values separate tenants and environments."""

    tenant: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """All of them: what `extract` has to keep."""
        return (*self.tenant, *self.environment)

    def read(self, scope: Mapping[str, str]) -> tuple[str, str]:
        """Return tenant and environment; several attributes are joined by `/`."""
        tenant, environment = (
            "/".join(scope[name] for name in names if scope.get(name)) for names in (self.tenant, self.environment)
        )
        return tenant, environment


def sightings(spans: Iterable[SpanFacts], scopes: Scopes, tenant: str = "") -> Iterator[Sighting]:
    """Yield what sessions need of each span. `tenant`: of the connection; it separates traces, too."""
    for span in spans:
        of_span, environment = scopes.read(span.scope)
        keys = (
            claims(
                span.session_keys,
                root=not span.parent_span_id and not span.log,
                start_ns=span.start_ns,
                span_id=span.span_id,
                tenant=tenant or of_span,
                environment=environment,
                service=span.service,
            )
            if span.session_keys
            else ()
        )
        agent = span.has_visit
        yield Sighting(
            trace_id=scoped(span.trace_id, tenant),
            span_id=span.span_id,
            payload=_ENCODER.encode(span),
            parent_id=span.parent_span_id,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            claims=keys,
            causes=tuple({scoped(trace_id, tenant): None for trace_id, _ in span.causes if trace_id != span.trace_id}),
            agent=agent,
            skeleton=agent or any(isinstance(fact, (ToolCall, Transfer)) for fact in span.facts),
            log=span.log,
            ends_session=span.ends_session,
            sampled=span.sampled,
        )


def scoped(trace_id: str, tenant: str) -> str:
    """Return what a trace of a connection's tenant is known by: two tenants' traces never meet, whatever their ids."""
    return f"{trace_id}@{tenant}" if tenant else trace_id


def bare(trace_id: str) -> str:
    """Return the trace's own id."""
    return trace_id.partition("@")[0]
