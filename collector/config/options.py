"""The one table of options: every setting of the collector, its type, its default, whether it can change while running, and what it means.

Separate from the loader because the table is read by more than it: docs/configuration.md is generated from it, `check` explains by it, and
each part of the service takes its own section as a value.

Rules:
- an option is a field of a section; its dotted name is the path to it, its environment variable is `ORBITRELAY_` and the name in capitals;
- the text of an option is one or two sentences with the unit and what zero or empty means;
- nothing secret is an option: a token stands in a file or an environment variable that an option names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from collector.config.values import Kind


class Doc(NamedTuple):
    """What the table says of an option beside its type and default."""

    kind: Kind
    text: str
    reload: bool = False


class Option(NamedTuple):
    """One row of the table. `choices` is empty unless the kind is `choice`."""

    name: str
    kind: Kind
    default: Any
    environment: str
    reload: bool
    text: str
    choices: tuple[str, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A group of options. Its docstring is the heading text of its part of docs/configuration.md."""


AnySection = TypeVar("AnySection", bound=Section)


def _endpoint(text: str) -> Doc:
    return Doc(Kind.ENDPOINT, text)


def _path(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.PATH, text, reload)


def _text(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.TEXT, text, reload)


def _flag(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.FLAG, text, reload)


def _count(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.COUNT, text, reload)


def _duration(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.DURATION, text, reload)


def _size(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.SIZE, text, reload)


def _choice(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.CHOICE, text, reload)


def _list(text: str, reload: bool = False) -> Doc:
    return Doc(Kind.LIST, text, reload)


class Tls(Section, frozen=True):
    """Transport security of a listener. Files are read again when they change."""

    cert_file: Annotated[str, _path("PEM file with the server's certificate chain. Empty: plain text.")] = ""
    key_file: Annotated[str, _path("PEM file with the private key of the certificate.")] = ""
    client_ca_file: Annotated[
        str, _path("PEM file with the authorities that client certificates must come from (mutual TLS). Empty: no client certificate is asked for.")
    ] = ""  # fmt: skip


class Auth(Section, frozen=True):
    """Bearer tokens that a listener demands. With neither option set it demands none."""

    token_env: Annotated[str, _text("Name of the environment variable that holds the accepted bearer token.")] = ""
    token_file: Annotated[
        str,
        _path(
            "File with one accepted bearer token a line, each with an optional time after which it is refused "
            "(`TOKEN 2027-01-31T00:00:00Z`). Read again when it changes."
        ),
    ] = ""  # fmt: skip


class ReceiveGrpc(Section, frozen=True):
    """OTLP over gRPC."""

    endpoint: Annotated[str, _endpoint("Address for OTLP/gRPC. Empty: no OTLP/gRPC. Port 0: a free port.")] = (
        "127.0.0.1:4317"
    )
    streams: Annotated[int, _count("Concurrent calls that one gRPC connection may have open. 0: no limit.")] = 256
    connections: Annotated[
        int,
        _count("Open gRPC connections; one more is closed. At most, and with 0, an eighth of the open files allowed."),
    ] = 0
    message_timeout: Annotated[
        float, _duration("Time a message has to arrive once it is its turn; then its call ends as DEADLINE_EXCEEDED.")
    ] = 30.0


class ReceiveHttp(Section, frozen=True):
    """OTLP over HTTP."""

    endpoint: Annotated[str, _endpoint("Address for OTLP/HTTP. Empty: no OTLP/HTTP. Port 0: a free port.")] = (
        "127.0.0.1:4318"
    )
    connections: Annotated[
        int,
        _count(
            "Open HTTP connections; one more is answered 503. At most, and with 0, an eighth of the open files allowed."
        ),
    ] = 1024
    header_timeout: Annotated[
        float, _duration("Time a client has to send its request's header; then the connection is closed.")
    ] = 10.0
    body_timeout: Annotated[
        float, _duration("Time a client has to send its request's body; then it is answered 408.")
    ] = 30.0
    idle_timeout: Annotated[float, _duration("How long an idle HTTP connection is kept open.")] = 75.0


class Receive(Section, frozen=True):
    """The OTLP listeners. They carry OTLP and nothing else."""

    grpc: ReceiveGrpc = ReceiveGrpc()
    http: ReceiveHttp = ReceiveHttp()
    tls: Tls = Tls()
    auth: Auth = Auth()


class AdminHttp(Section, frozen=True):
    """Health, metrics, the API and the page."""

    endpoint: Annotated[str, _endpoint("Address for health, /metrics, the HTTP API and the page. Empty: none.")] = (
        "127.0.0.1:4319"
    )
    hosts: Annotated[
        tuple[str, ...],
        _list(
            "Host names that a request may be addressed to. Empty: the loopback names while the listener is on loopback, else any."
        ),
    ] = ()


class AdminGrpc(Section, frozen=True):
    """The query service and grpc.health.v1."""

    endpoint: Annotated[str, _endpoint("Address for the gRPC query service and grpc.health.v1. Empty: none.")] = (
        "127.0.0.1:4320"
    )


class Admin(Section, frozen=True):
    """The second pair of listeners. They carry what would expose content, so they listen on loopback unless told otherwise."""

    http: AdminHttp = AdminHttp()
    grpc: AdminGrpc = AdminGrpc()
    tls: Tls = Tls()
    auth: Auth = Auth()
    open_health: Annotated[
        bool, _flag("Whether /healthz, /readyz and grpc.health.v1 answer without a token, as probes expect.")
    ] = True


class Page(Section, frozen=True):
    """The page of the admin HTTP listener."""

    trace_url: Annotated[
        str,
        _text(
            "Address of a trace where you look at traces, with `{trace_id}` and, if wanted, `{span_id}` in it, such as "
            "`http://localhost:16686/trace/{trace_id}` for Jaeger. Empty: sessions have no such link."
        ),
    ] = ""


class Limits(Section, frozen=True):
    """Bounds. What passes one is refused with a status that says so; nothing is dropped in silence."""

    message_size: Annotated[
        int,
        _size(
            "Largest request as sent; on gRPC also after decompression. Larger: HTTP 413, gRPC RESOURCE_EXHAUSTED from grpc itself."
        ),
    ] = 16 << 20
    decompressed_size: Annotated[int, _size("Largest HTTP request after decompression. Larger: 413.")] = 64 << 20
    depth: Annotated[
        int,
        _count(
            "Lists and maps within each other that are kept of one attribute value; what is deeper is cut. At most 40."
        ),
    ] = 40
    attribute_size: Annotated[
        int,
        _size(
            "Characters of a string (bytes of a byte string) kept of one attribute value; the rest is cut and the value marked truncated. 0: no limit."
        ),
    ] = 4 << 20
    in_flight: Annotated[
        int, _count("Requests being admitted at one time; one more is told to come back (429, RESOURCE_EXHAUSTED).")
    ] = 256
    in_flight_size: Annotated[
        int, _size("Bytes of the requests being admitted at one time; more is told to come back. 0: no limit.")
    ] = 256 << 20
    session_spans: Annotated[
        int, _count("Spans kept whole in one session; beyond it the session keeps its skeleton and both ends and its report is partial. 0: no limit.")
    ] = 20_000  # fmt: skip
    session_size: Annotated[
        int, _size("Bytes kept of what one session's spans say; beyond it the same, and spans that still fit are kept. 0: no limit.")
    ] = 64 << 20  # fmt: skip
    open_sessions: Annotated[
        int,
        _count("Sessions open at one time; a request that would open more is told to come back. 0: no limit."),
    ] = 100_000
    memory: Annotated[int, _size("Memory of open sessions at which senders are told to come back. 0: no limit.")] = (
        1 << 30
    )
    disk_free: Annotated[int, _size("Free space under which senders are told to come back. 0: no limit.")] = 256 << 20


class Data(Section, frozen=True):
    """Where state is kept."""

    dir: Annotated[
        str, _path("Folder of the journal, the store and the dossiers. Empty: the platform's user data folder.")
    ] = ""


class Journal(Section, frozen=True):
    """What is on disk before a request is acknowledged."""

    mode: Annotated[
        Literal["disk", "memory"],
        _choice(
            "`disk`: an acknowledged request is in the journal. `memory`: no journal is kept, and open sessions are lost with the process."
        ),
    ] = "disk"
    fsync: Annotated[
        Literal["always", "interval", "never"],
        _choice(
            "`always`: acknowledged means it outlives a power cut. `interval`: a power cut may cost the last interval. "
            "`never`: the operating system decides. A killed process loses nothing in any of them."
        ),
    ] = "interval"  # fmt: skip
    fsync_interval: Annotated[float, _duration("Time between two fsyncs with `fsync: interval`.")] = 1.0
    group_delay: Annotated[
        float, _duration("Longest time a request waits for others to share its write. 0: none waits.")
    ] = 0.005
    segment_size: Annotated[int, _size("Size at which a journal segment is closed and the next is begun.")] = 64 << 20
    max_size: Annotated[int, _size("Size of the journal at which senders are told to come back. 0: no limit.")] = (
        4 << 30
    )


class Sessions(Section, frozen=True):
    """What a session is and when it closes. Times run on arrival."""

    grace: Annotated[float, _duration("Quiet time after which a session closes whose roots have all ended.", True)] = (
        15.0
    )
    idle: Annotated[float, _duration("Quiet time after which any session closes.", True)] = 300.0
    max_age: Annotated[float, _duration("Age at which a session closes, quiet or not.", True)] = 21_600.0
    reopen_window: Annotated[
        float, _duration("Time after its close in which a late span reopens a session as its next revision.", True)
    ] = 86_400.0
    tenant_attributes: Annotated[
        tuple[str, ...],
        _list("Resource attributes whose values separate tenants: one key under two tenants is two sessions."),
    ] = ()
    environment_attributes: Annotated[
        tuple[str, ...],
        _list("Resource attributes whose values separate environments: one key in two environments is two sessions."),
    ] = ()


class Contracts(Section, frozen=True):
    """What each role must be handed."""

    file: Annotated[
        str,
        _path(
            "Contracts file. Empty: no contract, so handoffs are recovered and not scored. Read again when it changes.",
            True,
        ),
    ] = ""
    in_band: Annotated[
        bool, _flag("Whether a contract in the resource attribute `orbitrelay.contract` is honoured.", True)
    ] = False


class Content(Section, frozen=True):
    """What becomes of the values that agents pass."""

    mode: Annotated[
        Literal["full", "hashed", "names"],
        _choice(
            "What outlives a session of a field's value: `full` the value, `hashed` its hash (an empty value stays empty), `names` nothing but the name."
        ),
    ] = "full"
    redact: Annotated[
        tuple[str, ...],
        _list(
            "Regular expressions (Python's); what they match in a string value of telemetry is replaced before the journal sees it.",
            True,
        ),
    ] = ()
    replacement: Annotated[str, _text("What stands in place of what was redacted.", True)] = "[REDACTED]"


class Destination(Section, frozen=True):
    """An OTLP endpoint to send to."""

    endpoint: Annotated[
        str, _text("Where to send: `http://host:4317` or `https://host:4318` style URL. Empty: nothing is sent.")
    ] = ""
    protocol: Annotated[Literal["grpc", "http"], _choice("OTLP protocol to send with.")] = "grpc"
    compression: Annotated[Literal["gzip", "none"], _choice("Compression to send with.")] = "gzip"
    headers: Annotated[dict[str, str], Doc(Kind.PAIRS, "Headers sent with each request. Not for secrets.")] = {}
    token_env: Annotated[str, _text("Name of the environment variable that holds the bearer token to send.")] = ""
    token_file: Annotated[str, _path("File that holds the bearer token to send.")] = ""
    ca_file: Annotated[
        str, _path("PEM file with the authorities that the server's certificate must come from. Empty: the system's.")
    ] = ""
    cert_file: Annotated[str, _path("PEM file with the client certificate (mutual TLS).")] = ""
    key_file: Annotated[str, _path("PEM file with the private key of the client certificate.")] = ""
    timeout: Annotated[float, _duration("Time after which one request to it counts as failed.")] = 10.0


class Export(Section, frozen=True):
    """What is sent downstream, and how it waits there when downstream is away."""

    traces: Destination = Destination()
    metrics: Destination = Destination()
    logs: Destination = Destination()
    metrics_interval: Annotated[float, _duration("Time between two pushes of metrics.")] = 15.0
    queue_size: Annotated[
        int,
        _size(
            "Size on disk of what waits for a downstream; beyond it the oldest is dropped and counted. 0: no limit.",
        ),
    ] = 1 << 30
    retry_max_interval: Annotated[
        float, _duration("Longest time between two tries; tries begin at one second, double, and are jittered.")
    ] = 60.0


class Traces(Section, frozen=True):
    """What becomes of the spans that came in."""

    forward: Annotated[
        Literal["off", "as_received", "annotated"],
        _choice(
            "Whether received spans go on to `export.traces`: `off`, `as_received`, or `annotated` with what is known of the handoff within 30 s."
        ),
    ] = "off"


class Metrics(Section, frozen=True):
    """The metrics that sessions give."""

    max_series: Annotated[int, _count("Series an instrument may have; what is beyond goes to one overflow series.")] = (
        2000
    )


class Files(Section, frozen=True):
    """The trace documents and dossiers written as files."""

    enabled: Annotated[bool, _flag("Whether a trace document and a dossier are written for each session.")] = True
    dir: Annotated[str, _path("Folder for them. Empty: `dossiers` in the data folder.")] = ""


class Retention(Section, frozen=True):
    """How long sessions are kept in the store."""

    age: Annotated[
        float, _duration("Age after its close at which a session is deleted with its content. 0: never.", True)
    ] = 2_592_000.0
    size: Annotated[
        int,
        _size(
            "Size of the store, what waits for downstream included, beyond which the oldest sessions are deleted. 0: no limit.",
            True,
        ),
    ] = 10 << 30


class Log(Section, frozen=True):
    """The collector's own log, on standard error."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], _choice("Least severe record that is written.", True)
    ] = "info"
    format: Annotated[Literal["json", "text"], _choice("One JSON object a line, or plain text.")] = "json"


class Service(Section, frozen=True):
    """Start and stop."""

    stop_deadline: Annotated[
        float, _duration("Time from SIGTERM to the exit. A process that hangs is ended a second later.")
    ] = 10.0
    drain: Annotated[
        bool,
        _flag(
            "Whether stopping closes the open sessions and reports them as partial, instead of leaving them for the next start."
        ),
    ] = False
    watch: Annotated[
        bool,
        _flag(
            "Whether the configuration, contracts, certificate and token files are watched; SIGHUP reloads them in any case."
        ),
    ] = True


class Options(Section, frozen=True):
    """All of it."""

    receive: Receive = Receive()
    admin: Admin = Admin()
    page: Page = Page()
    limits: Limits = Limits()
    data: Data = Data()
    journal: Journal = Journal()
    sessions: Sessions = Sessions()
    contracts: Contracts = Contracts()
    content: Content = Content()
    traces: Traces = Traces()
    export: Export = Export()
    metrics: Metrics = Metrics()
    files: Files = Files()
    retention: Retention = Retention()
    log: Log = Log()
    service: Service = Service()


@cache
def table() -> dict[str, Option]:
    """Every option by its dotted name, in the order of the sections."""
    return {option.name: option for option in _rows(Options, "")}


def sections() -> Iterator[tuple[str, type[Section]]]:
    """Dotted name and type of each section that holds options of its own, in order."""
    yield from _sections(Options, "")


def value_of(options: Options, name: str) -> Any:
    """The value that the options give to a dotted name."""
    value: Any = options
    for part in name.split("."):
        value = getattr(value, part)
    return value


def build(values: dict[str, Any]) -> Options:
    """Options with the given values by dotted name, and defaults elsewhere."""
    return _build(Options, "", values)


def _build(section: type[AnySection], prefix: str, values: dict[str, Any]) -> AnySection:
    given: dict[str, Any] = {}
    for field, hint in get_type_hints(section, include_extras=True).items():
        name = f"{prefix}{field}"
        if get_origin(hint) is not Annotated:
            given[field] = _build(hint, name + ".", values)
        elif name in values:
            given[field] = values[name]
    return section(**given)


def _rows(section: type[Section], prefix: str) -> Iterator[Option]:
    defaults = {field.name: _default(field) for field in msgspec.structs.fields(section)}
    for field, hint in get_type_hints(section, include_extras=True).items():
        name = f"{prefix}{field}"
        if get_origin(hint) is not Annotated:
            yield from _rows(hint, name + ".")
            continue
        inner, doc = get_args(hint)
        choices = tuple(get_args(inner)) if get_origin(inner) is Literal else ()
        environment = "ORBITRELAY_" + name.upper().replace(".", "_")
        yield Option(name, doc.kind, defaults[field], environment, doc.reload, doc.text, choices)


def _sections(section: type[Section], prefix: str) -> Iterator[tuple[str, type[Section]]]:
    hints = get_type_hints(section, include_extras=True)
    if any(get_origin(hint) is Annotated for hint in hints.values()):
        yield prefix.rstrip("."), section
    for field, hint in hints.items():
        if get_origin(hint) is not Annotated:
            yield from _sections(hint, f"{prefix}{field}.")


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
