"""The running collector: what is started in which order, stopped in the other, and changed in between.

Separate from how its parts are built (build.py) and from what they do. One process, one event loop; one collector a data folder.

Rules:
- downstream starts first and stops last: nothing is accepted that has nowhere to go, and nothing accepted is left behind a closed door;
- a stop has a deadline that nothing outlasts, and what is not finished by then goes on at the next start;
- a reload takes all of the new configuration's reloadable part or none of it, and says which;
- what keeps the collector from starting is one line and exit code 2.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from collector.admin.api import Api
from collector.admin.application import application
from collector.build import Core, build_core, make_housekeeping, make_rules, make_terms
from collector.cli import version
from collector.config import ConfigError, Loaded, Options, table, value_of
from collector.emit.forward import metrics_entry
from collector.emit.openmetrics import render
from collector.engine import Accepted, Overloaded
from collector.folder import DataFolder, default_folder
from collector.journal import JournalError
from collector.listen.errors import StartError
from collector.listen.http import HttpServer
from collector.listen.rpc import RpcServer
from collector.listen.sockets import address_of, bind, is_loopback
from collector.listen.tls import Certificates
from collector.listen.tokens import Tokens
from collector.logs import configure
from collector.memory import keep_freed_memory, spare_the_collector
from collector.meter import HealthMeter
from collector.otlp.response import Encoding, Signal
from collector.page.links import TraceLinks
from collector.page.login import Logins
from collector.page.routes import Page
from collector.pipeline import dossier
from collector.query.reader import Reader
from collector.query.service import HEALTH, HealthService, add_query_service
from collector.receive.admit import Accept, Admission, PassOn
from collector.receive.answers import Answer, RefusedError
from collector.receive.grpc_server import handlers
from collector.receive.http_server import OtlpApplication
from collector.receive.redact import Redactor
from collector.store import StoreError
from collector.watch import FileWatch

_TICK = 0.25
# Of what is left of the deadline, so that nothing that hangs takes it all: a sender, a downstream, who asks and watches.
_RECEIVERS_SHARE, _ENGINE_SHARE, _DOWNSTREAM_SHARE, _ADMIN_SHARE = 0.3, 0.8, 0.5, 0.3
_MARGIN_S = 1.0  # for a process that does not end by itself
_log = logging.getLogger("collector.service")


def serve(loaded: Loaded, reread: Callable[[], Loaded], config: Path | None) -> int:
    """Run a collector until SIGTERM or SIGINT; return the exit code. `reread` loads the configuration again."""
    options = loaded.options
    configure(options.log.level, options.log.format)
    keep_freed_memory()
    for warning in loaded.warnings:
        _log.warning(warning)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(_serve(Collector(options, reread=reread, config=config)))
        except StartError as error:
            print(f"orbitrelay-collector: {error}", file=sys.stderr)
            return 2


async def _serve(collector: Collector) -> int:
    stop = asyncio.Event()
    overdue = _Overdue(collector.stop_deadline + _MARGIN_S)

    def end() -> None:
        overdue.begin()
        stop.set()

    with _signals(end, collector.reload_soon):
        await collector.start()
        spare_the_collector()
        try:
            await stop.wait()
        finally:
            overdue.begin()
            finished = await collector.stop()
    return 0 if finished else 1


class _Overdue:
    """Ends the process if it is still there so many seconds after `begin`, whatever it waits for.

    Never called off: behind the last part that stops, threads and connections are still to be waited for.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def begin(self) -> None:
        """Let the time run. A second call does nothing."""
        if self._timer.ident is None:
            self._timer.start()

    @staticmethod
    def _end() -> None:
        _log.error("the deadline passed, and something still ran; the next start goes on where this one stopped")
        os._exit(1)


@contextlib.contextmanager
def _signals(stop: Callable[[], None], reload: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    wanted = {"SIGTERM": stop, "SIGINT": stop, "SIGHUP": reload}
    taken = [(number, wanted[name]) for name in wanted if (number := getattr(signal, name, None)) is not None]
    try:
        for number, act in taken:
            loop.add_signal_handler(number, act)
    except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt, which stops as well
        taken = []
    try:
        yield
    finally:
        for number, _ in taken:
            loop.remove_signal_handler(number)


class Collector:
    """Everything that runs. `environment` holds tokens; `reread` loads the configuration again."""

    def __init__(
        self,
        options: Options,
        *,
        reread: Callable[[], Loaded],
        config: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._options = options
        self._reread = reread
        self._config = config
        self._environment = dict(os.environ) if environment is None else environment
        self._folder = DataFolder(Path(options.data.dir) if options.data.dir else default_folder())
        self._stopping: list[tuple[str, Callable[[float], Awaitable[Any]]]] = []
        self._tasks: list[asyncio.Future[bool]] = []
        self._reloading = asyncio.Lock()
        self._serving = False
        self._core: Core | None = None
        self._admission: Admission | None = None
        self._watch: FileWatch | None = None
        self._certificates: list[Certificates] = []
        self._tokens: list[Tokens] = []
        self.addresses: dict[str, str] = {}
        """Where each listener listens, by its option, after `start`."""

    # -- start and stop ------------------------------------------------------------------------------------------------

    @property
    def stop_deadline(self) -> float:
        """Seconds that a stop may take."""
        return self._options.service.stop_deadline

    async def start(self) -> None:
        """Start everything, downstream first. Raises `StartError`, with nothing left running."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        _log.info("ready", extra={"fields": {"data": str(self._folder.path), **self.addresses}})

    async def stop(self) -> bool:
        """Stop everything, upstream first, within `service.stop_deadline`; whether all of it finished. Idempotent."""
        if not self._stopping:
            return True
        deadline = time.monotonic() + self.stop_deadline
        ready, self._serving = self._serving, False
        if ready:
            _log.info("stopping")
        finished = True
        while self._stopping:
            name, stop = self._stopping.pop()
            try:
                async with asyncio.timeout_at(
                    asyncio.get_running_loop().time() + max(0.2, deadline - time.monotonic())
                ):
                    finished &= await stop(max(0.1, deadline - time.monotonic())) is not False
            except Exception as error:
                finished = False
                _log.error(
                    "a part did not stop",
                    extra={"fields": {"part": name, "reason": str(error) or type(error).__name__}},
                )
        if ready:
            _log.info("stopped", extra={"fields": {"finished": finished}})
        return finished

    async def _start(self) -> None:
        options = self._options
        self._folder.acquire()
        self._later("data folder", self._released)
        terms = make_terms(options, self._folder.path)
        core = self._core = build_core(options, self._folder.path, terms)
        self._later("health", lambda _: asyncio.to_thread(core.health.stop))
        try:
            self._later("store", lambda deadline: asyncio.to_thread(core.store.stop, deadline))
            await asyncio.to_thread(core.store.start)
            await self._start_admin(core)
            self._later("outbox", lambda deadline: core.sender.stop(deadline * _DOWNSTREAM_SHARE))
            await core.sender.start()
            if (push := core.push) is not None:
                self._later("metrics push", lambda deadline: asyncio.to_thread(push.stop, deadline * _DOWNSTREAM_SHARE))
                push.start()
            self._later("engine", lambda deadline: core.engine.stop(deadline * _ENGINE_SHARE, options.service.drain))
            await core.engine.start()
        except (StoreError, JournalError) as error:
            raise StartError(str(error)) from error
        self._run("tick", self._tick(core))
        await self._start_receivers(core)
        if options.service.watch:
            self._watch = FileWatch(self._watched(), self._changed)
            self._run("watch", self._watch.run())
        self._serving = True
        await self._health.set(True)

    async def _start_receivers(self, core: Core) -> None:
        options = self._options
        certificates, tokens = self._door(options.receive)
        self._admission = admission = Admission(
            accept=_accept(core),
            pass_on=_pass_on(core) if options.export.metrics.endpoint else None,
            limits=options.limits,
            redactor=Redactor(options.content.redact, options.content.replacement),
            meter=HealthMeter(core.health),
            chance=random.Random(),  # noqa: S311  # spreads retries, keeps no secret
        )
        if options.receive.grpc.endpoint:
            rpc = RpcServer(
                options.receive.grpc.endpoint,
                "receive.grpc.endpoint",
                certificates,
                tokens,
                message_size=options.limits.message_size,
                streams=options.receive.grpc.streams,
            )
            rpc.add(handlers(admission))
            rpc.bind()
            self._later("OTLP/gRPC", lambda deadline: rpc.stop(deadline * _RECEIVERS_SHARE))
            await rpc.start()
            self._listens("receive.grpc", options.receive.grpc.endpoint, rpc.port)
        if options.receive.http.endpoint:
            http = HttpServer(
                OtlpApplication(admission, tokens, options.receive.http.body_timeout),
                bind(options.receive.http.endpoint, "receive.http.endpoint"),
                certificates,
                connections=options.receive.http.connections,
                header_timeout=options.receive.http.header_timeout,
                idle_timeout=options.receive.http.idle_timeout,
            )
            self._later("OTLP/HTTP", lambda deadline: http.stop(deadline * _RECEIVERS_SHARE))
            await http.start()
            self._listens("receive.http", options.receive.http.endpoint, http.port)
        self._later("admission", self._closed)
        self._warn_if_open("receive", tokens, [options.receive.grpc.endpoint, options.receive.http.endpoint])

    async def _start_admin(self, core: Core) -> None:
        options = self._options
        certificates, tokens = self._door(options.admin)
        reader = Reader(core.store, dossier, lambda session_id: self._delete(core, session_id))
        self._health = HealthService()
        await self._health.set(False)
        if options.admin.grpc.endpoint:
            rpc = RpcServer(
                options.admin.grpc.endpoint,
                "admin.grpc.endpoint",
                certificates,
                tokens,
                message_size=1 << 20,
                open_services=(HEALTH,) if options.admin.open_health else (),
            )
            add_query_service(reader, rpc.server)
            self._health.add_to(rpc.server)
            rpc.bind()
            self._later("query service", lambda deadline: rpc.stop(min(0.5, deadline * _ADMIN_SHARE)))
            await rpc.start()
            self._listens("admin.grpc", options.admin.grpc.endpoint, rpc.port)
        if options.admin.http.endpoint:
            logins = Logins(tokens, time.time)
            page = Page(
                core.store, logins, TraceLinks(options.page.trace_url), now_ns=core.clock.now_ns, version=version()
            )
            app = application(
                routes=[*Api(reader).routes(), *page.routes()],
                metrics=lambda accept: asyncio.to_thread(lambda: render(core.snapshots.take(), accept)),
                ready={"receivers": self._unready, "intake": lambda: _trouble(core)},
                tokens=tokens,
                logins=logins,
                open_health=options.admin.open_health,
                hosts=options.admin.http.hosts,
                loopback=is_loopback(options.admin.http.endpoint),
            )
            http = HttpServer(app, bind(options.admin.http.endpoint, "admin.http.endpoint"), certificates)
            self._later("admin HTTP", lambda deadline: http.stop(min(0.5, deadline * _ADMIN_SHARE)))
            await http.start()
            self._listens("admin.http", options.admin.http.endpoint, http.port)
        self._later("watchers", self._unwatched)  # none of them hangs up by itself
        self._warn_if_open("admin", tokens, [options.admin.grpc.endpoint, options.admin.http.endpoint])

    def _door(self, listener: Any) -> tuple[Certificates, Tokens]:
        certificates, tokens = Certificates(listener.tls), Tokens(listener.auth, self._environment, time.time)
        self._certificates.append(certificates)
        self._tokens.append(tokens)
        return certificates, tokens

    def _later(self, name: str, stop: Callable[[float], Awaitable[Any]]) -> None:
        self._stopping.append((name, stop))

    def _run(self, name: str, work: Any) -> None:
        task = asyncio.create_task(work, name=name)

        async def cancel(_deadline: float) -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._later(name, cancel)

    def _listens(self, name: str, endpoint: str, port: int) -> None:
        self.addresses[name] = address_of(endpoint.rpartition(":")[0].strip("[]"), port)

    def _warn_if_open(self, name: str, tokens: Tokens, endpoints: list[str]) -> None:
        guarded = tokens.demanded or value_of(self._options, f"{name}.tls.client_ca_file")
        for endpoint in endpoints:
            if endpoint and not is_loopback(endpoint) and not guarded:
                _log.warning(
                    "listens beyond loopback without authentication: set auth.token_file or tls.client_ca_file",
                    extra={"fields": {"listener": name, "endpoint": endpoint}},
                )

    async def _released(self, _deadline: float) -> None:
        self._folder.release()

    async def _unwatched(self, _deadline: float) -> None:
        if self._core is not None:
            self._core.store.end_watches()

    async def _closed(self, _deadline: float) -> None:
        await self._health.set(False)
        if self._admission is not None:
            self._admission.close()

    async def _tick(self, core: Core) -> None:
        while True:
            core.engine.tick()
            await asyncio.sleep(_TICK)

    def _unready(self) -> str:
        return "" if self._serving else "not serving"

    async def _delete(self, core: Core, session_id: str) -> bool:
        deleted = await core.engine.delete(session_id)
        core.sender.wake()
        return bool(deleted.sessions)

    # -- reload --------------------------------------------------------------------------------------------------------

    def reload_soon(self) -> None:
        """Reload on the next turn of the loop; for a signal handler."""
        task = asyncio.ensure_future(self.reload())
        self._tasks = [*(t for t in self._tasks if not t.done()), task]

    async def reload(self) -> bool:
        """Take the reloadable part of the configuration, contracts, certificates and tokens as they are now.

        A fault anywhere changes nothing, and is logged.
        """
        async with self._reloading:
            core, admission = self._core, self._admission
            if core is None or admission is None or not self._serving:
                return False
            try:
                wanted = (await asyncio.to_thread(self._reread)).options
                changed = [name for name in table() if value_of(wanted, name) != value_of(self._options, name)]
                restart = [name for name in changed if not table()[name].reload]
                options = self._merged(wanted)
                terms = await asyncio.to_thread(make_terms, options, self._folder.path)
                redactor = Redactor(options.content.redact, options.content.replacement)
                for certificates in self._certificates:
                    certificates.reload()
                for tokens in self._tokens:
                    tokens.reload()
            except (ConfigError, StartError) as error:
                _log.error("reload refused: nothing was changed", extra={"fields": {"reason": str(error)}})
                return False
            await core.engine.reload(terms, make_rules(options), make_housekeeping(options))
            admission.redactor = redactor
            await core.sender.unpark()
            configure(options.log.level, options.log.format)
            self._options = options
            if self._watch is not None:
                self._watch.watch(self._watched())
            _log.info("reloaded", extra={"fields": {"changed": [name for name in changed if name not in restart]}})
            if restart:
                _log.warning("changed options need a restart", extra={"fields": {"options": restart}})
            return True

    def _merged(self, wanted: Options) -> Options:
        """The options in force, with what is reloadable of the wanted ones."""
        from collector.config.options import build  # noqa: PLC0415

        return build(
            {name: value_of(wanted if option.reload else self._options, name) for name, option in table().items()}
        )

    def _watched(self) -> list[Path]:
        files = [str(self._config) if self._config else "", self._options.contracts.file]
        files += [file for part in self._certificates for file in part.files] + [part.file for part in self._tokens]
        return [Path(file) for file in files if file]

    async def _changed(self, paths: list[Path]) -> None:
        _log.info("files changed", extra={"fields": {"files": [str(path) for path in paths]}})
        await self.reload()


def _accept(core: Core) -> Accept:
    async def accept(signal_: Signal, encoding: Encoding, body: bytes) -> None:
        assert signal_ != "metrics"  # admission passes metrics on
        try:
            await core.engine.accept(Accepted(signal_, encoding, body))
        except Overloaded as error:
            raise RefusedError(Answer.OVERLOADED, str(error), error.reason, error.retry_after_s) from error

    return accept


def _pass_on(core: Core) -> PassOn:
    async def pass_on(encoding: Encoding, body: bytes) -> None:
        try:
            entry = metrics_entry(body, encoding, f"received/{uuid.uuid4()}")
        except ValueError as error:
            raise RefusedError(Answer.MALFORMED, f"expected an OTLP metrics request, found {error}") from error
        if entry.payload:  # else it was our own, sent back to us
            await asyncio.to_thread(core.store.outbox_put, [entry])
            core.sender.wake()

    return pass_on


def _trouble(core: Core) -> str:
    trouble = core.engine.trouble()
    return "" if trouble is None else str(trouble)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
