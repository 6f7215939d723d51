"""What the capture scripts share: an exporter that writes OTLP/JSON lines, and a language model that says what a script tells it to say.

The scripts run the real packages, each in an environment of its own (its first lines say which), and are no part of the test run.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

_IDS = ("traceId", "spanId", "parentSpanId")


def _hex_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: base64.b64decode(v).hex() if k in _IDS else _hex_ids(v) for k, v in value.items()}
    return [_hex_ids(v) for v in value] if isinstance(value, list) else value


def _without_paths(message: Any) -> None:
    """Where the capturing machine keeps its packages and scripts is no part of a capture: stack traces get other folders, code.* goes."""
    for group in getattr(message, "resource_spans", None) or getattr(message, "resource_logs", ()):
        for scope in getattr(group, "scope_spans", None) or getattr(group, "scope_logs", ()):
            for record in getattr(scope, "spans", None) or getattr(scope, "log_records", ()):
                for part in (record, *getattr(record, "events", ())):
                    kept = [a for a in part.attributes if not a.key.startswith("code.")]
                    del part.attributes[:]
                    part.attributes.extend(kept)
                    for value in (a.value for a in part.attributes if a.value.HasField("string_value")):
                        text = value.string_value.replace(sys.prefix, "/app/venv").replace(
                            sys.base_prefix, "/app/python"
                        )
                        value.string_value = text.replace(str(Path(__file__).parent), "/app")


def append(path: Path, message: Any) -> None:
    """Write one export request as one line, and beside it as one length-delimited protobuf message."""
    _without_paths(message)
    body = message.SerializeToString()
    with path.with_suffix(".pb").open("ab") as file:
        file.write(len(body).to_bytes(4, "big") + body)
    document = _hex_ids(MessageToDict(message, use_integers_for_enums=True))
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(document, ensure_ascii=False) + "\n")


def tracer_provider(folder: Path, service: str, name: str = "traces.otlp.jsonl") -> Any:
    """A provider whose spans go to `folder/name`, eight a request: children before parents, as batches do it."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class ToFile(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            append(folder / name, encode_spans(spans))
            return SpanExportResult.SUCCESS

    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / name, (folder / name).with_suffix(".pb")):
        old.unlink(missing_ok=True)
    resource = Resource.create({"service.name": service})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(ToFile(), max_export_batch_size=8, schedule_delay_millis=60_000))
    return provider


def logger_provider(folder: Path, service: str, name: str = "logs.otlp.jsonl") -> Any:
    """The same for log records."""
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
    from opentelemetry.sdk.resources import Resource

    class ToFile(LogRecordExporter):
        def export(self, batch: Any) -> Any:
            append(folder / name, encode_logs(batch))
            return LogRecordExportResult.SUCCESS

        def shutdown(self) -> None:
            pass

        def force_flush(self, timeout_millis: int = 0) -> bool:
            return True

    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / name, (folder / name).with_suffix(".pb")):
        old.unlink(missing_ok=True)
    provider = LoggerProvider(resource=Resource.create({"service.name": service}))
    provider.add_log_record_processor(BatchLogRecordProcessor(ToFile(), max_export_batch_size=8))
    return provider


Answer = dict[str, Any]


def say(text: str) -> Answer:
    """A model's answer that is text."""
    return {"content": text}


def ask(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> Answer:
    """A model's answer that calls tools, with words beside or without."""
    return {"content": text, "calls": calls}


class ChatServer:
    """A chat-completions endpoint: the answers of each agent in order, the agent known by a word of its instructions.

    A manager that gives its model no instructions is known by a word of the first message.
    """

    def __init__(self, answers: dict[str, list[Answer]]) -> None:
        self._answers = {agent: list(queue) for agent, queue in answers.items()}
        self._lock = threading.Lock()
        self._calls = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = server.answer(body)
                payload = json.dumps(answer).encode()
                if body.get("stream"):
                    parts = [*_chunks(answer), "[DONE]"]
                    payload = "".join(f"data: {p if isinstance(p, str) else json.dumps(p)}\n\n" for p in parts).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The completion for one request."""
        told = (str(m["content"]) for m in body["messages"] if m["role"] in ("system", "developer"))
        instructions = next(told, str(body["messages"][0]["content"]))
        with self._lock:
            agent = max((a for a in self._answers if a in instructions), key=len)
            said = self._answers[agent].pop(0)
            self._calls += 1
            number = self._calls
        message: dict[str, Any] = {"role": "assistant", "content": said["content"]}
        calls = said.get("calls", ())
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{number:03d}{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
                }
                for place, (name, arguments) in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1760000000,
            "model": body["model"],
            "choices": [choice],
            "usage": {
                "prompt_tokens": 100 + number,
                "completion_tokens": 10 + number,
                "total_tokens": 110 + 2 * number,
            },
        }


def _chunks(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as a stream of chunks: all it says, why it ends, what it used."""
    choice = answer["choices"][0]
    calls = [{**c, "index": i} for i, c in enumerate(choice["message"].get("tool_calls", ()))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    base = {k: answer[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    return [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**base, "choices": [], "usage": answer["usage"]},
    ]


def write_expected(folder: Path, expected: dict[str, Any]) -> None:
    """The ground truth of a capture, as the captures' README describes it."""
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def handoff(
    n: int,
    source: str,
    target: str,
    mode: str,
    fields: dict[str, Any],
    *,
    recorded: bool = True,
    form: str = "json",
    **rest: Any,
) -> dict[str, Any]:
    """One row of the ground truth."""
    row = {
        "n": n,
        "source": source,
        "target": target,
        "mode": mode,
        "edge_visible": True,
        "recorded": recorded,
        "form": form,
    }
    return {**row, "fields": fields, "omitted": [], **rest}


def returned(source: str, target: str, text: str, *, recorded: bool = True) -> dict[str, Any]:
    """One return of the ground truth."""
    return {"source": source, "target": target, "recorded": recorded, "text": text}
