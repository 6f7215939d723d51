"""Tests of llm.py against fake servers on loopback: every backend, and everything that can go wrong with one."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from orchestratorx.agents import Reporter, default_specialists
from orchestratorx.llm import DISCLAIMER, Completion, FakeLLM, Prompt, llm_from_environment, tidy
from orchestratorx.orchestrator import Orchestrator
from orchestratorx.state import ReportStatus
from scripted import book, entries

FACTS = {
    "portfolio_id": "PF-1",
    "escalation": "continue",
    "halted": False,
    "findings": {"count": 0, "items": []},
    "outcomes": {"RiskModeler": "completed"},
    "mitigation": {"status": "not required", "actions": []},
}


@dataclass
class Server:
    """A server that gives one answer and keeps what it was asked."""

    answer: Callable[[], tuple[int, bytes]] = lambda: (200, b"{}")
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    world = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            world.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, content = world.answer()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            return None

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    world.url = f"http://127.0.0.1:{http.server_port}"
    yield world
    http.shutdown()
    thread.join()
    http.server_close()


ANSWERS: dict[str, tuple[dict[str, str], Any, str]] = {
    "claude": (
        {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": "{url}"},
        {"content": [{"type": "text", "text": "Fine."}], "usage": {"input_tokens": 11, "output_tokens": 2}},
        "/v1/messages",
    ),
    "gemini": (
        {"GEMINI_API_KEY": "sk-secret", "GEMINI_BASE_URL": "{url}"},
        {
            "candidates": [{"content": {"parts": [{"text": "Fine."}]}}],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 2},
        },
        "/v1beta/models/some-model:generateContent",
    ),
    "openai": (
        {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "{url}/v1"},
        {"choices": [{"message": {"content": "Fine."}}], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
        "/v1/chat/completions",
    ),
    "ollama": (
        {"OLLAMA_HOST": "{url}"},
        {"message": {"content": "Fine."}, "prompt_eval_count": 11, "eval_count": 2},
        "/api/chat",
    ),
}
SECRETS = {
    "claude": ("x-api-key", "sk-secret"),
    "gemini": ("x-goog-api-key", "sk-secret"),
    "openai": ("authorization", "Bearer sk-secret"),
}


def environment(name: str, server: Server) -> dict[str, str]:
    return {key: value.format(url=server.url) for key, value in ANSWERS[name][0].items()}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_backend_is_asked_in_its_own_form_and_understood(name: str, server: Server) -> None:
    _, answer, path = ANSWERS[name]
    server.answer = lambda: (200, json.dumps(answer).encode())
    llm, note = llm_from_environment(name, "some-model", 5, environment(name, server))
    assert note is None
    assert llm.complete(Prompt(FACTS)) == Completion("Fine.", "some-model", 11, 2)
    asked_path, headers, body = server.asked[0]
    assert asked_path == path
    assert '\\"portfolio_id\\": \\"PF-1\\"' in json.dumps(body)
    if name in SECRETS:
        header, value = SECRETS[name]
        assert headers[header] == value
        assert "sk-secret" not in repr(llm)


def reviewed(name: str, environ: dict[str, str], timeout: float = 5.0) -> tuple[Any, list[str]]:
    llm, note = llm_from_environment(name, "some-model", timeout, environ)
    made = Orchestrator(default_specialists(llm, timeout, note)).run(book())
    return made, [entry["text"] for entry in entries(made, "note")]


def assert_degraded(made: Any) -> None:
    assert made.report.status is ReportStatus.CLEAN
    assert made.report.narrative_by == "orchestratorx/fake"
    assert made.report.narrative.startswith("We reviewed portfolio PF-1.")


def test_a_working_backend_words_the_report_and_nothing_else(server: Server) -> None:
    server.answer = lambda: (200, json.dumps({"message": {"content": "HALT EVERYTHING \x1b[31mnow"}}).encode())
    made, notes = reviewed("ollama", environment("ollama", server))
    assert notes == []
    assert made.report.narrative == f"HALT EVERYTHING [31mnow {DISCLAIMER}"
    assert (made.report.narrative_by, made.report.status) == ("ollama/some-model", ReportStatus.CLEAN)


BAD: dict[str, tuple[int, bytes, str]] = {
    "an error": (500, b"oops", "answered with status 500"),
    "a redirect": (302, b"", "answered with status 302"),
    "a refusal": (401, b"sk-secret is wrong", "answered with status 401"),
    "no json": (200, b"<html>", "answered with an unexpected body (JSONDecodeError)"),
    "another shape": (200, b'{"message": []}', "answered with an unexpected body (TypeError)"),
    "no text": (200, b'{"message": {"content": "  "}}', "answered with no text"),
    "nothing printable": (200, b'{"message": {"content": "\\u0000\\u200b"}}', "answered with no text"),
    "a number": (200, b'{"message": {"content": 5}}', "answered with no text"),
    "too much": (200, b" " * (1024 * 1024 + 1), "answered with more than 1048576 bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_whatever_a_backend_answers_the_run_completes_with_a_note(case: str, server: Server) -> None:
    status, body, said = BAD[case]
    server.answer = lambda: (status, body)
    made, notes = reviewed("ollama", environment("ollama", server))
    assert_degraded(made)
    assert notes == [f"model backend ollama/some-model: {said}; wording by FakeLLM"]


def test_a_slow_model_is_timed_out(server: Server) -> None:
    release = threading.Event()

    def slow() -> tuple[int, bytes]:
        release.wait(10)
        return 200, b"{}"

    server.answer = slow
    before = time.monotonic()
    made, notes = reviewed("ollama", environment("ollama", server), timeout=0.1)
    release.set()
    assert time.monotonic() - before < 5
    assert_degraded(made)
    assert len(notes) == 1
    assert "within 0.1 s" in notes[0]


def test_a_model_that_trickles_is_timed_out_as_a_whole() -> None:
    class Trickle:
        provider, model = "slow", "drip"

        def complete(self, _: Prompt) -> Completion:
            while not stop.wait(0.01):
                pass
            return Completion("late", "drip")

    stop = threading.Event()
    specialists = default_specialists() | {"Reporter": Reporter(Trickle(), llm_timeout=0.05)}
    made = Orchestrator(specialists).run(book())
    stop.set()
    assert_degraded(made)


def test_a_backend_that_is_not_there_is_a_note() -> None:
    made, notes = reviewed("ollama", {"OLLAMA_HOST": "127.0.0.1:1"})
    assert_degraded(made)
    assert notes == ["model backend ollama/some-model: could not be reached (ConnectError); wording by FakeLLM"]


@pytest.mark.parametrize(
    ("name", "environ", "said"),
    [
        ("claude", {}, "model backend 'claude' has no ANTHROPIC_API_KEY; wording by FakeLLM"),
        ("gemini", {"GEMINI_API_KEY": ""}, "model backend 'gemini' has no GEMINI_API_KEY; wording by FakeLLM"),
        ("openai", {}, "model backend 'openai' has no OPENAI_API_KEY; wording by FakeLLM"),
        ("hal9000", {}, "model backend 'hal9000' is not known; wording by FakeLLM"),
    ],
)
def test_a_backend_that_is_not_configured_is_a_note(name: str, environ: dict[str, str], said: str) -> None:
    made, notes = reviewed(name, environ)
    assert_degraded(made)
    assert notes == [said]


def test_an_openai_compatible_server_of_ones_own_needs_no_key(server: Server) -> None:
    server.answer = lambda: (200, json.dumps(ANSWERS["openai"][1]).encode())
    made, notes = reviewed("openai", {"OPENAI_BASE_URL": server.url})
    assert (notes, made.report.narrative_by) == ([], "openai/some-model")
    assert "authorization" not in server.asked[0][1]


def test_a_missing_package_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    made, notes = reviewed("ollama", {})
    assert_degraded(made)
    assert notes == ["model backend ollama/some-model: httpx is not installed (extra llm); wording by FakeLLM"]


def test_the_fake_says_the_same_for_the_same_facts() -> None:
    first, second = (FakeLLM().complete(Prompt(FACTS)) for _ in range(2))
    assert first == second
    assert first.text == "We reviewed portfolio PF-1. It keeps to its mandate and to the limits of the house."


def test_the_fake_never_calls_an_incomplete_review_clean() -> None:
    text = FakeLLM().complete(Prompt(FACTS | {"outcomes": {"RiskModeler": "dropped"}})).text
    assert text == "We reviewed portfolio PF-1. The review is not complete: RiskModeler (dropped)."


def test_long_text_is_cut_and_control_characters_go() -> None:
    assert tidy("a\x00b\r\nc\u202e") == "ab\nc"
    assert len(tidy("x" * 10_000)) == 4000
