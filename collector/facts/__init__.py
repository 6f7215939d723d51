"""Facts: what mappers find in spans, and how recorded values are read. Mappers write them, recovery reads them, and neither imports the other's work."""

from collector.facts.model import (
    Call,
    Content,
    Envelope,
    Fact,
    Facts,
    Known,
    Message,
    Mode,
    ModelCall,
    SpanFacts,
    ToolCall,
    Transcript,
    Transfer,
    Usage,
    Visit,
)

__all__ = [
    "Call",
    "Content",
    "Envelope",
    "Fact",
    "Facts",
    "Known",
    "Message",
    "Mode",
    "ModelCall",
    "SpanFacts",
    "ToolCall",
    "Transcript",
    "Transfer",
    "Usage",
    "Visit",
]
