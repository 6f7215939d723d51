"""The model that words the client-facing narrative, and nothing else: no decision in the package depends on it.

Separate because it is the one part that may talk to a network. The default is a deterministic FakeLLM. A backend that
is not there (no key, no package, no answer, a slow answer, a strange answer) degrades to FakeLLM with a note; it never
fails a run. Backends speak plain HTTP through httpx (extra `llm`), which is imported when one is used.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = [
    "BACKENDS",
    "LLM",
    "Completion",
    "FakeLLM",
    "HttpLLM",
    "LLMError",
    "Prompt",
    "llm_from_environment",
    "tidy",
]

NARRATIVE_LIMIT = 4000
RESPONSE_LIMIT = 1024 * 1024
MAX_TOKENS = 600
DISCLAIMER = "Synthetic data; not investment advice."

INSTRUCTIONS = (
    "You word the closing paragraph of a portfolio review for a client. Use only the facts given as JSON. State the "
    "outcome first, then the findings, then the actions. Do not add figures, advice or opinions of your own. Plain "
    "prose, at most 150 words."
)


class LLMError(Exception):
    """A backend did not give a usable answer; the message says why, without secrets."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: fixed instructions, and the facts of the review as JSON."""

    facts: Mapping[str, Any]
    instructions: str = INSTRUCTIONS

    def text(self) -> str:
        """The facts as the user's message."""
        return json.dumps(self.facts, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered; the token counts are None where the backend does not give them."""

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class LLM(Protocol):
    """A model. `provider` and `model` are the names telemetry shows."""

    @property
    def provider(self) -> str:
        """The value of `gen_ai.provider.name`."""
        ...

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Answer, or raise LLMError."""
        ...


def _sentence(items: list[str]) -> str:
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else items[0]


@dataclass(frozen=True, slots=True)
class FakeLLM:
    """A deterministic stand-in: the same facts give the same words, offline. Counts words as tokens."""

    provider: str = "orchestratorx"
    model: str = "fake"

    def complete(self, prompt: Prompt) -> Completion:
        """Word the facts from fixed sentences."""
        facts = prompt.facts
        findings = [item["message"] for item in facts["findings"]["items"]]
        lost = [f"{agent} ({outcome})" for agent, outcome in facts["outcomes"].items() if outcome != "completed"]
        actions = list(facts["mitigation"]["actions"])
        said = [f"We reviewed portfolio {facts['portfolio_id']}."]
        if facts["halted"]:
            said.append("The review was halted: a critical breach was found, and it is not open to mitigation.")
        if lost:
            said.append(f"The review is not complete: {_sentence(lost)}.")
        if findings:
            said.append(f"Found: {'; '.join(findings)}.")
        elif not lost:
            said.append("It keeps to its mandate and to the limits of the house.")
        if actions:
            said.append(f"Proposed: {'; '.join(actions)}.")
        text = " ".join(said)
        return Completion(text, self.model, len((prompt.instructions + prompt.text()).split()), len(text.split()))


@dataclass(frozen=True, slots=True)
class HttpLLM:
    """A backend behind HTTP: how to ask it, and where the answer stands in what it sends.

    `extract` returns text, input tokens and output tokens, and may raise KeyError, IndexError or TypeError for a body
    that is not as expected.
    """

    provider: str
    model: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    request: Callable[[str, Prompt], dict[str, Any]]
    extract: Callable[[Any], tuple[str, int | None, int | None]]
    timeout: float = 15.0

    def complete(self, prompt: Prompt) -> Completion:
        """One POST; every failure is an LLMError."""
        try:
            import httpx
        except ImportError:
            raise LLMError("httpx is not installed (extra llm)") from None
        try:
            with httpx.Client(timeout=self.timeout, follow_redirects=False) as client:
                body = self.request(self.model, prompt)
                with client.stream("POST", self.url, json=body, headers=dict(self.headers)) as response:
                    if response.status_code != 200:
                        raise LLMError(f"answered with status {response.status_code}")
                    received = bytearray()
                    for chunk in response.iter_bytes():
                        received += chunk
                        if len(received) > RESPONSE_LIMIT:
                            raise LLMError(f"answered with more than {RESPONSE_LIMIT} bytes")
            text, asked, answered = self.extract(json.loads(bytes(received)))
        except httpx.TimeoutException:
            raise LLMError(f"did not answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LLMError(f"could not be reached ({type(error).__name__})") from None
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise LLMError(f"answered with an unexpected body ({type(error).__name__})") from None
        if not isinstance(text, str) or not text.strip():
            raise LLMError("answered with no text")
        return Completion(text, self.model, asked, answered)


def tidy(text: str) -> str:
    """A model's text fit to print: no control or format characters but newlines, at most NARRATIVE_LIMIT long."""
    kept = "".join(c for c in text.replace("\r\n", "\n") if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf"))
    kept = kept.strip()
    return kept if len(kept) <= NARRATIVE_LIMIT else kept[: NARRATIVE_LIMIT - 1].rstrip() + "…"


def _claude(environ: Mapping[str, str], model: str, timeout: float) -> HttpLLM:
    def request(name: str, prompt: Prompt) -> dict[str, Any]:
        return {
            "model": name,
            "max_tokens": MAX_TOKENS,
            "system": prompt.instructions,
            "messages": [{"role": "user", "content": prompt.text()}],
        }

    def extract(body: Any) -> tuple[str, int | None, int | None]:
        text = "".join(part["text"] for part in body["content"] if part["type"] == "text")
        usage = body.get("usage", {})
        return text, usage.get("input_tokens"), usage.get("output_tokens")

    base = environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com").rstrip("/")
    headers = {"x-api-key": environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    return HttpLLM("anthropic", model, f"{base}/v1/messages", headers, request, extract, timeout)


def _gemini(environ: Mapping[str, str], model: str, timeout: float) -> HttpLLM:
    def request(name: str, prompt: Prompt) -> dict[str, Any]:
        return {
            "systemInstruction": {"parts": [{"text": prompt.instructions}]},
            "contents": [{"role": "user", "parts": [{"text": prompt.text()}]}],
            "generationConfig": {"maxOutputTokens": MAX_TOKENS},
        }

    def extract(body: Any) -> tuple[str, int | None, int | None]:
        text = "".join(part.get("text", "") for part in body["candidates"][0]["content"]["parts"])
        usage = body.get("usageMetadata", {})
        return text, usage.get("promptTokenCount"), usage.get("candidatesTokenCount")

    base = environ.get("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com").rstrip("/")
    headers = {"x-goog-api-key": environ["GEMINI_API_KEY"]}
    url = f"{base}/v1beta/models/{model}:generateContent"
    return HttpLLM("gcp.gemini", model, url, headers, request, extract, timeout)


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": "system", "content": prompt.instructions}, {"role": "user", "content": prompt.text()}]


def _openai(environ: Mapping[str, str], model: str, timeout: float) -> HttpLLM:
    def request(name: str, prompt: Prompt) -> dict[str, Any]:
        return {"model": name, "messages": _messages(prompt)}

    def extract(body: Any) -> tuple[str, int | None, int | None]:
        usage = body.get("usage") or {}
        text = body["choices"][0]["message"]["content"]
        return text, usage.get("prompt_tokens"), usage.get("completion_tokens")

    base = environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
    key = environ.get("OPENAI_API_KEY") or ""
    # a server of one's own (vLLM, llama.cpp, LM Studio) often wants no key
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return HttpLLM("openai", model, f"{base}/chat/completions", headers, request, extract, timeout)


def _ollama(environ: Mapping[str, str], model: str, timeout: float) -> HttpLLM:
    def request(name: str, prompt: Prompt) -> dict[str, Any]:
        return {"model": name, "messages": _messages(prompt), "stream": False}

    def extract(body: Any) -> tuple[str, int | None, int | None]:
        return body["message"]["content"], body.get("prompt_eval_count"), body.get("eval_count")

    host = environ.get("OLLAMA_HOST") or "http://127.0.0.1:11434"
    base = (host if "://" in host else f"http://{host}").rstrip("/")
    return HttpLLM("ollama", model, f"{base}/api/chat", {}, request, extract, timeout)


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend that ORCHESTRATORX_LLM can name. `key` is the variable it cannot do without, if any."""

    name: str
    key: str | None
    model: str
    build: Callable[[Mapping[str, str], str, float], LLM]


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend("claude", "ANTHROPIC_API_KEY", "claude-sonnet-4-5", _claude),
        Backend("gemini", "GEMINI_API_KEY", "gemini-2.5-flash", _gemini),
        Backend("openai", "OPENAI_API_KEY", "gpt-4.1-mini", _openai),
        Backend("ollama", None, "llama3.2", _ollama),
    )
}


def llm_from_environment(
    name: str, model: str | None, timeout: float, environ: Mapping[str, str] = os.environ
) -> tuple[LLM, str | None]:
    """The backend of that name, or FakeLLM with a note of why it is not the one asked for."""
    if name == "fake":
        return FakeLLM(), None
    backend = BACKENDS.get(name)
    if backend is None:
        return FakeLLM(), f"model backend {name!r} is not known; wording by FakeLLM"
    own_server = name == "openai" and environ.get("OPENAI_BASE_URL")
    if backend.key and not environ.get(backend.key) and not own_server:
        return FakeLLM(), f"model backend {name!r} has no {backend.key}; wording by FakeLLM"
    return backend.build(environ, model or backend.model, timeout), None
