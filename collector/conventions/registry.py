"""The table of conventions: built-in ones in one list, others by entry point.

Separate from `base.py` so that mappers can import what a convention is without importing each other.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from collector.conventions import (
    a2a,
    ag2,
    agent_framework,
    autogen,
    claude_code,
    crewai_native,
    google_adk,
    handmade,
    haystack,
    langfuse,
    langsmith,
    logfire_openai_agents,
    mcp,
    mlflow,
    openinference_ag2,
    openinference_agno,
    openinference_autogen,
    openinference_beeai,
    openinference_claude_agent_sdk,
    openinference_crewai,
    openinference_langchain,
    openinference_llama_index,
    openinference_openai_agents,
    openinference_smolagents,
    openlit,
    openlit_crewai,
    openlit_langgraph,
    openllmetry_agno,
    openllmetry_crewai,
    openllmetry_langchain,
    openllmetry_llama_index,
    openllmetry_openai_agents,
    orbitrelay_native,
    otel_langchain,
    otel_openai_agents,
    otel_smolagents,
    pydantic_ai,
    semantic_kernel,
    strands,
)
from collector.conventions.base import Convention, Registry

GROUP = "orbitrelay.conventions"

BUILT_IN: tuple[Convention, ...] = (
    orbitrelay_native.CONVENTION,
    openllmetry_openai_agents.CONVENTION,
    openinference_openai_agents.CONVENTION,
    logfire_openai_agents.CONVENTION,
    otel_openai_agents.CONVENTION,
    otel_openai_agents.OLDER,
    openlit.CONVENTION,
    openlit_langgraph.CONVENTION,
    openlit_crewai.CONVENTION,
    autogen.CONVENTION,
    autogen.RUNTIME,
    openinference_autogen.CONVENTION,
    semantic_kernel.CONVENTION,
    agent_framework.CONVENTION,
    ag2.CONVENTION,
    openinference_ag2.CONVENTION,
    a2a.CONVENTION,
    mcp.CONVENTION,
    mlflow.CONVENTION,
    google_adk.CONVENTION,
    haystack.CONVENTION,
    strands.CONVENTION,
    pydantic_ai.CONVENTION,
    openinference_langchain.CONVENTION,
    openllmetry_langchain.CONVENTION,
    otel_langchain.CONVENTION,
    langsmith.CONVENTION,
    langfuse.CONVENTION,
    openinference_crewai.CONVENTION,
    openllmetry_crewai.CONVENTION,
    crewai_native.CONVENTION,
    openinference_smolagents.CONVENTION,
    otel_smolagents.CONVENTION,
    openinference_agno.CONVENTION,
    openllmetry_agno.CONVENTION,
    openinference_claude_agent_sdk.CONVENTION,
    openinference_beeai.CONVENTION,
    claude_code.CONVENTION,
    openinference_llama_index.CONVENTION,
    openllmetry_llama_index.CONVENTION,
    handmade.OPENINFERENCE,
    handmade.CONVENTION,
)


@cache
def default_registry() -> Registry:
    """The built-in conventions behind those of installed packages. Raises what a broken entry point raises, when it is first used."""
    return Registry([*(point.load() for point in entry_points(group=GROUP)), *BUILT_IN])
