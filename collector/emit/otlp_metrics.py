"""Metrics pushed as OTLP, through opentelemetry-sdk's own exporters.

Separate from the outbox: what is pushed is cumulative and its state is in the store, so a push that failed is made good
by the next one and needs no queue. Start times come from the store too: to a backend a restart is no reset.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import grpc
import requests
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpExporter
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData

from collector.config.options import Destination
from collector.emit.downstream import channel_credentials, is_page, is_secure, request_headers, target_of

MAX_POINTS = 2000
"""Points of one request: with exemplars well under a receiver's usual limit of 4 MiB."""

log = logging.getLogger(__name__)


class MetricsPush:
    """Pushes a snapshot every `interval_s`, and one at the stop, on a thread of its own."""

    def __init__(self, read: Callable[[], MetricsData], destination: Destination, interval_s: float) -> None:
        self._read = read
        self._destination = destination
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._exporter: MetricExporter | None = None
        self._token = ""

    def start(self) -> None:
        """Begin pushing. Starting twice changes nothing."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="metrics push", daemon=True)
            self._thread.start()

    def stop(self, deadline_s: float) -> None:
        """Push a last time and stop; what takes longer than the deadline is given up. Safe without start, and twice."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(deadline_s)

    def push(self) -> bool:
        """Push once; return whether it was taken. Blocks up to the destination's timeout."""
        try:
            result = self._current().export(self._read(), timeout_millis=self._destination.timeout * 1000)
        except Exception as error:
            log.warning("metrics not pushed: %s", error)
            return False
        return result is MetricExportResult.SUCCESS

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            self.push()
        self.push()
        if self._exporter is not None:
            self._exporter.shutdown()
            self._exporter = None

    def _current(self) -> MetricExporter:
        """The exporter; a new one when the token has changed."""
        bearer = request_headers(self._destination).get("authorization", "")
        if self._exporter is None or bearer != self._token:
            if self._exporter is not None:
                self._exporter.shutdown()
            self._exporter = _exporter(self._destination)
            self._token = bearer
        return self._exporter


class _Session(requests.Session):
    """Takes the head of an answer and leaves its body, which may have no end; a page or a redirection is no success."""

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        response = super().send(request, **{**named, "stream": True})
        response.close()
        if response.ok and (response.status_code >= 300 or is_page(response.headers.get("content-type"))):
            what = "a web page" if response.status_code < 300 else "a redirection"
            raise requests.RequestException(f"http {response.status_code}, {what}: expected an OTLP endpoint")
        return response


def _exporter(destination: Destination) -> MetricExporter:
    headers = request_headers(destination)
    gzipped = destination.compression == "gzip"
    if destination.protocol == "grpc":
        return GrpcExporter(
            target_of(destination.endpoint),
            insecure=not is_secure(destination.endpoint),
            credentials=channel_credentials(destination),
            headers=headers,
            timeout=destination.timeout,
            compression=grpc.Compression.Gzip if gzipped else grpc.Compression.NoCompression,
            max_export_batch_size=MAX_POINTS,
        )
    base = destination.endpoint.rstrip("/")
    session = _Session()
    session.trust_env = not destination.ca_file  # else REQUESTS_CA_BUNDLE would win over the authorities configured
    return HttpExporter(
        base if base.endswith("/v1/metrics") else f"{base}/v1/metrics",
        certificate_file=destination.ca_file or None,
        client_key_file=destination.key_file or None,
        client_certificate_file=destination.cert_file or None,
        headers=headers,
        session=session,
        timeout=destination.timeout,
        compression=Compression.Gzip if gzipped else Compression.NoCompression,
        max_export_batch_size=MAX_POINTS,
    )
