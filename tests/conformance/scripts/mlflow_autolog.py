"""MLflow's autologging on the graphs of `langgraph_lighthouse.py` and the agents of `openai_agents_clinic.py`.

pip install mlflow-skinny pandas deepagents langgraph langchain-openai openai-agents opentelemetry-exporter-otlp     -> mlflow_autolog.py SCENE OUT
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import langgraph_lighthouse as lighthouse
import openai_agents_clinic as clinic
from capturing import ChatServer, tracer_provider, write_expected

GRAPHS = ("deep", "parent", "relay", "router")


def main(scene: str, folder: Path) -> None:
    os.environ.update(
        LANGSMITH_TRACING="false",
        MLFLOW_USE_DEFAULT_TRACER_PROVIDER="false",
        MLFLOW_TRACKING_URI=Path(tempfile.mkdtemp()).as_uri(),
        MLFLOW_ALLOW_FILE_STORE="true",
    )
    provider = tracer_provider(folder, "lighthouse" if scene in GRAPHS else "clinic")
    import mlflow
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    if scene in GRAPHS:
        mlflow.langchain.autolog()
        app = getattr(lighthouse, scene)(lighthouse.Words(ChatServer(lighthouse.ANSWERS[scene]).url))
        for _turn in range(2 if scene == "relay" else 1):
            app.invoke({"messages": [("user", "Begin.")]}, {"configurable": {"thread_id": lighthouse.SESSION}})
        expected = lighthouse.expected(scene)
    else:
        from agents import set_trace_processors

        set_trace_processors([])  # not to the vendor
        mlflow.openai.autolog()
        expected = getattr(clinic, scene)(contextlib.nullcontext)
        expected["session_id_visible"] = False
    provider.force_flush()
    write_expected(folder, expected)
    os._exit(0)  # what else is exported would be tried again and again


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
