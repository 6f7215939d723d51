"""Both APIs, over one process that has had the recorded session, over gRPC and then again over HTTP JSON."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.pb.orbitrelay.v1 import query_pb2_grpc
from orbitrelay import loads

Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[3]


def token(value: int) -> str:
    """A page token that no page gave, whose end is cut off as ours is."""
    return base64.urlsafe_b64encode(json.dumps(["recent", value, "x"]).encode()).decode().rstrip("=")


@pytest.fixture(scope="module")
def process(serving: Serving, tmp_path_factory: pytest.TempPathFactory, recorded: list[bytes]) -> Iterator[Any]:
    options = {"contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml")}
    with serving(tmp_path_factory.mktemp("data"), options) as process:
        process.play()
        process.closed()
        for body in recorded:
            url = f"http://{process.address('receive.http')}/v1/traces"
            httpx.post(url, content=body, headers={"content-type": "application/json"}).raise_for_status()
        yield process


@pytest.fixture(scope="module")
def stub(process: Any) -> Iterator[Any]:
    with grpc.insecure_channel(process.address("admin.grpc")) as channel:
        yield query_pb2_grpc.QueryServiceStub(channel)


@pytest.fixture
def session_id(process: Any) -> str:
    (session,) = process.sessions()
    return str(session["session_id"])


def as_json(message: Any) -> Any:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def test_the_list_says_what_the_session_is(process: Any) -> None:
    (session,) = process.sessions()
    times = {name: session.pop(name) for name in ("opened_at", "closed_at", "first_span_at", "last_span_at")}
    assert all(value.endswith("Z") for value in times.values())
    assert session.pop("session_id")
    assert session.pop("contract_hash")
    assert session["weakest"].pop("handoff_id")
    assert session == {
        "name": "sess-strands-swarm-01",
        "key": {"kind": "session", "value": "sess-strands-swarm-01"},
        "generation": 1,
        "state": "SESSION_STATE_CLOSED",
        "revision": 1,
        "close_reason": "roots_ended",
        "partial_reasons": [],
        "superseded_by": "",
        "service": "gateway-team",
        "tenant": "",
        "environment": "",
        "counts": session["counts"],
        "contract_name": "gateway-team",
        "content": "",
        "mean_completeness": session["mean_completeness"],
        "mean_contracted_completeness": session["mean_contracted_completeness"],
        "grade": session["grade"],
        "weakest": {"source": "engineer", "target": "reviewer", "completeness": session["weakest"]["completeness"]},
    }
    assert {name: session["counts"][name] for name in ("spans", "handoffs", "scored_handoffs", "agents")} == {
        "spans": 37,
        "handoffs": 5,
        "scored_handoffs": 5,
        "agents": 4,
    }
    assert 0 < session["mean_completeness"] < 1


def test_grpc_and_http_say_the_same(process: Any, stub: Any, session_id: str) -> None:
    base = f"/api/v1/sessions/{session_id}"
    assert as_json(stub.ListSessions(pb.ListSessionsRequest())) == process.get("/api/v1/sessions").json()
    assert as_json(stub.GetReport(pb.GetReportRequest(session_id=session_id))) == process.get(f"{base}/report").json()
    assert stub.GetTrace(pb.GetTraceRequest(session_id=session_id)).trace_json == process.get(f"{base}/trace").content
    assert stub.GetDossier(pb.GetDossierRequest(session_id=session_id)).markdown == process.get(f"{base}/dossier").text


def test_a_trace_is_the_file_and_an_analyzer_reads_it(process: Any, session_id: str) -> None:
    body = process.get(f"/api/v1/sessions/{session_id}/trace").content
    files = process.until(lambda: sorted((process.data / "dossiers").glob("*")))
    assert [file.name for file in files] == ["sess-strands-swarm-01.dossier.md", "sess-strands-swarm-01.trace.json"]
    assert body.strip() == files[1].read_bytes().strip()
    assert len(loads(body).handoffs) == 5
    dossier = process.get(f"/api/v1/sessions/{session_id}/dossier")
    assert dossier.headers["content-type"] == "text/markdown; charset=utf-8"
    assert dossier.content.strip() == files[0].read_bytes().strip()


def test_sending_everything_twice_changed_nothing(process: Any, session_id: str) -> None:
    report = process.get(f"/api/v1/sessions/{session_id}/report").json()["report"]
    assert (report["session"]["revision"], len(report["handoffs"])) == (1, 5)
    families = {f.name: f for f in text_string_to_metric_families(metrics(process))}
    count = sum(s.value for s in families["orbitrelay_handoff_count"].samples if s.name.endswith("_total"))
    (sessions,) = [s.value for s in families["orbitrelay_session_count"].samples if s.name.endswith("_total")]
    assert (count, sessions) == (5, 1)


def metrics(process: Any) -> str:
    response = process.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    return str(response.text)


def test_metrics_parse_and_carry_exemplars(process: Any) -> None:
    families = {f.name: f for f in text_string_to_metric_families(metrics(process))}
    exemplars = [s.exemplar for s in families["orbitrelay_handoff_completeness"].samples if s.exemplar]
    assert {"trace_id", "span_id"} == set(exemplars[0].labels)
    received = {
        (s.labels["orbitrelay_transport"], s.labels["orbitrelay_signal"]): s.value
        for s in families["orbitrelay_collector_requests"].samples
        if s.name.endswith("_total")
    }
    assert received == {("grpc", "traces"): 5, ("http", "traces"): 5}
    plain = process.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("service=gateway-team", 1),
        ("service=other", 0),
        ("role=researcher&order=weakest", 1),
        ("role=pilot", 0),
        ("close_reason=idle", 0),
        ("text=STRANDS", 1),
        ("partial=true", 0),
        ("partial=false", 1),
        ("since=2026-01-01T00:00:00Z", 1),
        ("until=2026-01-01T00:00:00Z", 0),
        ("since=9999-12-31T23:59:59Z", 0),
        ("since=0001-01-01T00:00:00Z", 1),
        ("until=9999-12-31T23:59:59Z&role=researcher", 1),
        ("until=0001-01-01T00:00:00Z", 0),
        ("page_size=1", 1),
    ],
)
def test_a_list_is_filtered_by_all_that_is_asked(process: Any, query: str, found: int) -> None:
    assert len(process.sessions("?" + query)) == found


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/v1/sessions?servce=x", 400, "unknown parameter 'servce'; did you mean 'service'?"),
        ("/api/v1/sessions?page_size=501", 400, "expected page_size at most 500, found 501"),
        ("/api/v1/sessions?page_size=-1", 400, "expected page_size as a whole number, found '-1'"),
        ("/api/v1/sessions?order=best", 400, "expected order one of recent, weakest, found 'best'"),
        ("/api/v1/sessions?grade=E", 400, "expected filter.grade one of A, B, C, D, F, found 'E'"),
        (
            "/api/v1/sessions?since=today",
            400,
            "expected since as an RFC 3339 time such as '2026-11-30T12:00:00Z', found 'today'",
        ),
        ("/api/v1/sessions?page_token=zz", 400, None),
        (f"/api/v1/sessions?page_token={token(1 << 63)}", 400, None),
        (f"/api/v1/sessions?page_token={token(-1 << 63)}", 400, None),
        ("/api/v1/sessions/none/report", 404, "expected the id of a session that is kept, found 'none'"),
        ("/api/v1/sessions/none/trace", 404, "expected the id of a session that is kept, found 'none'"),
        ("/api/v1/sessions/{id}/report?revision=2", 404, "expected a revision from 1 to 1, found 2"),
        ("/api/v1/sessions/{id}/report?revision=x", 400, "expected revision as a whole number, found 'x'"),
        ("/api/v1/nothing", 404, "expected a path of docs/api.md, found '/api/v1/nothing'"),
        ("/../../etc/passwd", 404, None),
    ],
)
def test_a_query_that_is_not_answered_says_why(
    process: Any, session_id: str, path: str, status: int, message: str | None
) -> None:
    response = process.get(path.replace("{id}", session_id))
    assert response.status_code == status
    error = response.json()["error"]
    assert error["status"] == status
    assert message is None or error["message"] == message


def test_the_query_service_says_not_found_and_invalid(stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as error:
        stub.GetReport(pb.GetReportRequest(session_id="none"))
    assert (error.value.code(), error.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        "expected the id of a session that is kept, found 'none'",
    )
    with pytest.raises(grpc.RpcError) as error:
        stub.ListSessions(pb.ListSessionsRequest(page_size=1000))
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_reports_can_be_watched_from_the_first_on(process: Any, stub: Any, session_id: str) -> None:
    stream = stub.WatchReports(pb.WatchReportsRequest(after=0), timeout=10)
    first = next(stream)
    stream.cancel()
    assert (first.report.session.session_id, first.sequence) == (session_id, 1)
    with httpx.stream("GET", process.url("/api/v1/reports/watch?after=0"), timeout=10) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        event = dict(next(lines).split(": ", 1) for _ in range(3))
    assert (event["id"], event["event"]) == ("1", "report")
    assert json.loads(event["data"]) == as_json(first)


def test_a_browser_can_do_nothing_with_an_answer_that_is_not_for_it(process: Any) -> None:
    headers = process.get("/api/v1/sessions").headers
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    for host in ("evil.example", "evil.example:4319", "localhost.evil.example", ""):
        assert process.get("/api/v1/sessions", headers={"host": host}).status_code == 421
    for host in ("localhost", "127.0.0.1:1", "[::1]:4319", "LOCALHOST:80"):
        assert process.get("/api/v1/sessions", headers={"host": host}).status_code == 200


def test_a_session_is_deleted_with_its_content(serving: Serving, tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        process.play()
        session_id = process.closed()[0]["session_id"]
        process.until(lambda: len(list((tmp_path / "dossiers").glob("*"))) == 2)
        url = process.url(f"/api/v1/sessions/{session_id}")
        assert httpx.delete(url).status_code == 204
        assert httpx.delete(url).status_code == 404
        assert process.sessions() == []
        process.until(lambda: not list((tmp_path / "dossiers").glob("*")), what="its files did not go")


@pytest.mark.parametrize("opened", [True, False])
def test_the_admin_listeners_ask_for_a_token_too(serving: Serving, tmp_path: Path, opened: bool) -> None:
    (tmp_path / "tokens").write_text("expired 2020-01-01T00:00:00Z\n", encoding="utf-8")
    options = {
        "admin.auth.token_env": "ADMIN_TOKEN",
        "admin.auth.token_file": str(tmp_path / "tokens"),
        "admin.open_health": str(opened).lower(),
    }
    with serving(tmp_path, options, {"ADMIN_TOKEN": "right"}) as process:
        right, wrong, expired = ({"authorization": f"Bearer {token}"} for token in ("right", "wrong", "expired"))
        for path in ("/api/v1/sessions", "/metrics"):
            assert [process.get(path, headers=h).status_code for h in (right, wrong, expired, {})] == [
                200,
                401,
                401,
                401,
            ]
        assert process.get("/healthz").status_code == (200 if opened else 401)
        with grpc.insecure_channel(process.address("admin.grpc")) as channel:
            assert asked(channel, "/orbitrelay.v1.QueryService/ListSessions", right) == "OK"
            assert asked(channel, "/orbitrelay.v1.QueryService/ListSessions", wrong) == "UNAUTHENTICATED"
            assert asked(channel, "/orbitrelay.v1.QueryService/ListSessions", expired) == "UNAUTHENTICATED"
            assert asked(channel, "/orbitrelay.v1.QueryService/WatchReports", {}) == "UNAUTHENTICATED"
            assert asked(channel, "/grpc.health.v1.Health/Check", {}) == ("OK" if opened else "UNAUTHENTICATED")
        assert "right" not in json.dumps(process.log)


def asked(channel: grpc.Channel, method: str, metadata: dict[str, str]) -> str:
    try:
        if method.endswith("WatchReports"):
            list(channel.unary_stream(method)(b"", timeout=10, metadata=tuple(metadata.items())))
        else:
            channel.unary_unary(method)(b"", timeout=10, metadata=tuple(metadata.items()))
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def test_the_admin_listeners_speak_mutual_tls(serving: Serving, tmp_path: Path, authority: Callable[..., Any]) -> None:
    ours, other = authority("ours"), authority("other")
    server, client, stranger, expired = (
        ours.sign("server"),
        ours.sign("client"),
        other.sign("stranger"),
        ours.sign("old", (-9, -1)),
    )
    tls = {"cert_file": str(server.cert), "key_file": str(server.key), "client_ca_file": str(ours.file)}
    with serving(tmp_path, {f"admin.tls.{name}": value for name, value in tls.items()}) as process:

        def over_http(pair: Any, trusted: Any = ours) -> str:
            context = ssl.create_default_context(cafile=str(trusted.file))
            if pair:
                context.load_cert_chain(pair.cert, pair.key)
            try:
                return str(httpx.get(process.url("/healthz", "https"), verify=context, timeout=5).status_code)
            except httpx.TransportError:
                return "cut off"

        def over_grpc(pair: Any, trusted: Any = ours) -> str:
            own = (pair.key.read_bytes(), pair.cert.read_bytes()) if pair else (None, None)
            credentials = grpc.ssl_channel_credentials(trusted.file.read_bytes(), *own)
            with grpc.secure_channel(process.address("admin.grpc"), credentials) as channel:
                return asked(channel, "/grpc.health.v1.Health/Check", {})

        assert [over_http(pair) for pair in (client, stranger, expired, None)] == [
            "200",
            "cut off",
            "cut off",
            "cut off",
        ]
        assert [over_grpc(pair) for pair in (client, stranger, expired, None)] == ["OK"] + ["UNAVAILABLE"] * 3
        assert (over_http(client, other), over_grpc(client, other)) == ("cut off", "UNAVAILABLE"), "who trusts others"
        with pytest.raises(httpx.TransportError):
            process.get("/healthz")  # in plain text
        with grpc.insecure_channel(process.address("admin.grpc")) as channel:
            assert asked(channel, "/grpc.health.v1.Health/Check", {}) == "UNAVAILABLE"
