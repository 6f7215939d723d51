"""The admin listeners: health, metrics, the API and the page, over HTTP and gRPC.

Separate from the receivers because these answer who asks and watches: they start first, so that health can be asked while the
rest starts, and stop last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from collector.admin.api import Api
from collector.admin.application import application
from collector.build import Core
from collector.cli import version
from collector.config.options import Options
from collector.emit.openmetrics import render
from collector.listen.http import HttpServer
from collector.listen.rpc import RpcServer
from collector.listen.sockets import affordable, bind, is_loopback
from collector.page.links import TraceLinks
from collector.page.login import Logins
from collector.page.routes import Page
from collector.pipeline import dossier
from collector.query.reader import Reader
from collector.query.service import HEALTH, HealthService, add_query_service
from collector.service.doors import Doors
from collector.service.stops import Stops

_CONNECTIONS = 1024  # as many as a receiver has by default
_BODY_TIMEOUT = 30.0  # the only bodies are words of a form
_SHARE = 0.3  # of the deadline: who asks and hangs takes no more


async def start_admin(
    core: Core, options: Options, doors: Doors, stops: Stops, health: HealthService, unready: Callable[[], str]
) -> None:
    """Start the listeners that have an endpoint. `unready`: why nothing is served yet, "" once it is. Raises `StartError`."""
    door = doors.open(options.admin)
    reader = Reader(core.store, dossier, lambda session_id: _delete(core, session_id))
    if options.admin.grpc.endpoint:
        rpc = RpcServer(
            options.admin.grpc.endpoint,
            "admin.grpc.endpoint",
            door.certificates,
            door.tokens,
            message_size=1 << 20,
            connections=affordable(_CONNECTIONS),
            open_services=(HEALTH,) if options.admin.open_health else (),
        )
        add_query_service(reader, rpc.server)
        health.add_to(rpc.server)
        rpc.bind()
        stops.later("query service", lambda deadline: rpc.stop(min(0.5, deadline * _SHARE)))
        await rpc.start()
        doors.listens("admin.grpc", options.admin.grpc.endpoint, rpc.port)
    if options.admin.http.endpoint:
        logins = Logins(door.tokens, time.time)
        page = Page(core.store, logins, TraceLinks(options.page.trace_url), now_ns=core.clock.now_ns, version=version())
        app = application(
            routes=[*Api(reader).routes(), *page.routes()],
            metrics=lambda accept: asyncio.to_thread(lambda: render(core.snapshots.take(), accept)),
            ready={"receivers": unready, "intake": lambda: _trouble(core)},
            tokens=door.tokens,
            logins=logins,
            open_health=options.admin.open_health,
            hosts=options.admin.http.hosts,
            loopback=is_loopback(options.admin.http.endpoint),
        )
        http = HttpServer(
            app,
            bind(options.admin.http.endpoint, "admin.http.endpoint"),
            door.certificates,
            connections=affordable(_CONNECTIONS),
            body_timeout=_BODY_TIMEOUT,
        )
        stops.later("admin HTTP", lambda deadline: http.stop(min(0.5, deadline * _SHARE)))
        await http.start()
        doors.listens("admin.http", options.admin.http.endpoint, http.port)

    async def unwatched(_deadline: float) -> None:
        core.store.end_watches()

    stops.later("watchers", unwatched)  # none of them hangs up by itself
    doors.warn_if_open("admin", options.admin, door)


async def _delete(core: Core, session_id: str) -> bool:
    deleted = await core.engine.delete(session_id)
    core.sender.wake()
    return bool(deleted.sessions)


def _trouble(core: Core) -> str:
    trouble = core.engine.trouble()
    return "" if trouble is None else str(trouble)
