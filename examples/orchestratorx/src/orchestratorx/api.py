"""The HTTP API (extra `api`): `uvicorn orchestratorx.api:app`.

Separate because it is a shell: it starts runs and answers questions about them. An orchestrator that cannot be
interrogated afterwards is not auditable, so the trail of every run is one GET away, while it runs too.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestratorx.orchestrator import Orchestrator, Run, new_run_id
from orchestratorx.portfolio import Book, BookError, check_book, explain
from orchestratorx.registry import Registry, RegistryError, RunRecord, record_run
from orchestratorx.settings import Settings
from orchestratorx.trace import verify

__all__ = ["app", "create_app"]

POLL_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0


class _Door:
    """Bearer token and body limit, before anything is parsed. `/healthz` is open."""

    def __init__(self, inner: ASGIApp, state: _Service) -> None:
        self._inner = inner
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self._inner(scope, receive, send)
            return
        settings = self._state.settings
        headers = dict(scope["headers"])
        if settings.token:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + settings.token.encode()):
                challenge = {"www-authenticate": "Bearer"}
                answer = JSONResponse({"detail": "a bearer token is required"}, 401, challenge)
                await answer(scope, receive, send)
                return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > settings.max_body:
                answer = JSONResponse({"detail": f"a body of at most {settings.max_body} bytes is expected"}, 413)
                await answer(scope, receive, send)
                return

        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self._inner(scope, replay, send)


class _Service:
    """What one process of the API holds: registry, orchestrator, the threads that run reviews."""

    def __init__(self, settings: Settings | None, orchestrator: Orchestrator | None) -> None:
        self._given = settings
        self._orchestrator = orchestrator
        self._lock = threading.Lock()
        self._active = 0

    def start(self) -> None:
        self.settings = self._given or Settings.from_environment()
        self.orchestrator = self._orchestrator or Orchestrator.from_settings(self.settings)
        self.registry = Registry(self.settings.database)
        self.registry.start()
        self.registry.interrupt_orphans()
        self._threads = ThreadPoolExecutor(self.settings.max_runs, thread_name_prefix="orchestratorx-run")

    def stop(self) -> None:
        self._threads.shutdown(wait=True)
        self.orchestrator.flush()
        self.registry.stop()

    def submit(self, book: Book) -> tuple[str, Future[Run]] | None:
        """Start a run, or None when as many as allowed are running."""
        with self._lock:
            if self._active >= self.settings.max_runs:
                return None
            self._active += 1
        run_id = new_run_id()
        try:
            self.registry.begin(run_id, book.portfolio_id)
            future = self._threads.submit(record_run, self.orchestrator, self.registry, book, run_id)
        except BaseException:
            self._release()
            raise
        future.add_done_callback(lambda _: self._release())
        return run_id, future

    def _release(self) -> None:
        with self._lock:
            self._active -= 1


def _view(record: RunRecord) -> dict[str, Any]:
    report = None if record.result is None else record.result["report"]
    return {
        "run_id": record.run_id,
        "portfolio_id": record.portfolio_id,
        "status": record.status,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "path": None if record.result is None else record.result["path"],
        "escalation": report and report["escalation"],
        "halted": report and report["halted"],
        "trace_head": record.head,
        "report": report,
    }


def create_app(settings: Settings | None = None, orchestrator: Orchestrator | None = None) -> FastAPI:
    """The application; settings are read from the environment when it starts, unless given."""
    service = _Service(settings, orchestrator)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await run_in_threadpool(service.stop)

    api = FastAPI(title="OrchestratorX", description="Portfolio reviews. Synthetic data, no advice.", lifespan=lifespan)
    api.add_middleware(_Door, state=service)

    @api.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        first = dict(error.errors()[0])
        first["loc"] = first["loc"][1:]
        return JSONResponse({"detail": explain(first)}, 422)

    @api.exception_handler(RegistryError)
    async def unavailable(_: Request, error: RegistryError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 503)

    async def found(run_id: str) -> RunRecord:
        record = await run_in_threadpool(service.registry.get, run_id)
        if record is None:
            raise HTTPException(404, f"no run {run_id!r}")
        return record

    @api.get("/healthz")
    async def health() -> dict[str, str]:
        """Whether the process serves."""
        return {"status": "ok"}

    @api.post("/runs", status_code=201)
    async def start_run(book: Book, response: Response, wait: bool = True) -> dict[str, Any]:
        """Review a book: 201 with the finished run, or with `wait=false` 202 at once."""
        try:
            check_book(book)
        except BookError as error:
            raise HTTPException(422, str(error)) from None
        started = await run_in_threadpool(service.submit, book)
        if started is None:
            busy = f"{service.settings.max_runs} runs are going on; come back later"
            raise HTTPException(429, busy, {"retry-after": "1"})
        run_id, future = started
        response.headers["location"] = f"/runs/{run_id}"
        if wait:
            # the run goes on when the caller hangs up: a review that was begun is recorded to its end
            await asyncio.shield(asyncio.wrap_future(future))
        else:
            response.status_code = 202
        return _view(await found(run_id))

    @api.get("/runs")
    async def list_runs(
        limit: Annotated[int, Query(ge=1, le=100)] = 20, cursor: Annotated[int | None, Query(ge=0)] = None
    ) -> dict[str, Any]:
        """Runs, newest first; pass `next_cursor` back as `cursor` for the next page."""
        records, following = await run_in_threadpool(service.registry.page, limit, cursor)
        return {"runs": [_view(record) for record in records], "next_cursor": following}

    @api.get("/runs/{run_id}")
    async def get_run(run_id: str) -> dict[str, Any]:
        """One run, with its report when it has one."""
        return _view(await found(run_id))

    @api.get("/runs/{run_id}/trace")
    async def get_trace(run_id: str) -> dict[str, Any]:
        """The audit trail as a trace document; `problems` is what `orchestratorx verify` would say of it."""
        record = await found(run_id)
        trace = await run_in_threadpool(service.registry.trace, run_id)
        return trace | {"problems": verify(trace, head=record.head)}

    @api.get("/runs/{run_id}/events")
    async def stream(run_id: str, request: Request) -> StreamingResponse:
        """The entries of the trail as server-sent events, as they are made; `end` is the last event.

        A client that comes back with Last-Event-ID goes on where it was.
        """
        await found(run_id)
        try:
            after = max(int(request.headers.get("last-event-id", "0")), 0)
        except ValueError:
            raise HTTPException(400, "expected Last-Event-ID to be a number") from None
        return StreamingResponse(
            _events(service.registry, run_id, after),
            media_type="text/event-stream",
            headers={"cache-control": "no-cache"},
        )

    return api


async def _events(registry: Registry, run_id: str, after: int) -> AsyncIterator[str]:
    # the registry is polled, so that any process of the API can stream a run of any other
    silent = 0.0
    while True:
        record = await run_in_threadpool(registry.get, run_id)
        entries = await run_in_threadpool(registry.entries, run_id, after)
        for entry in entries:
            after = entry["seq"]
            yield f"id: {after}\nevent: {entry['kind']}\ndata: {json.dumps(entry)}\n\n"
        if record is None or record.ended:
            yield f"event: end\ndata: {json.dumps({'status': record and record.status})}\n\n"
            return
        silent = 0.0 if entries else silent + POLL_SECONDS
        if silent >= HEARTBEAT_SECONDS:
            silent = 0.0
            yield ": still running\n\n"
        await asyncio.sleep(POLL_SECONDS)


app = create_app()
