"""Transport security of a listener: certificates for gRPC and for HTTP from the same three files, renewed while running.

Separate from the servers because both need it and because a certificate outlives no quarter of a year: new connections get what the files hold
since the last reload, and a file that does not fit keeps the old one in force.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import grpc

from collector.config.options import Tls
from collector.listen.errors import StartError


class Certificates:
    """The TLS of one listener; `enabled` is false where it speaks plain text. Raises `StartError` for files that do not fit."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self.enabled = bool(tls.cert_file)
        self._context: ssl.SSLContext | None = None
        self._grpc: grpc.ServerCertificateConfiguration | None = None
        self._served: grpc.ServerCertificateConfiguration | None = None
        if self.enabled:
            self._context = self._load_context()
            self._grpc = self._load_grpc()

    @property
    def files(self) -> tuple[str, ...]:
        """The files to watch."""
        return tuple(f for f in (self._tls.cert_file, self._tls.key_file, self._tls.client_ca_file) if f)

    def reload(self) -> None:
        """Read the files again. Raises `StartError` and keeps what was in force."""
        if not self.enabled:
            return
        context, renewed = self._load_context(), self._load_grpc()
        self._context, self._grpc = context, renewed

    def http_context(self) -> ssl.SSLContext | None:
        """The context for an HTTP server, which asks again for each new connection."""
        if self._context is None:
            return None
        # A context only ever gains authorities: one that must go (a client's that leaked) takes another context.
        served = self._load_context()
        served.sni_callback = self._current
        return served

    def _current(self, connection: ssl.SSLObject, _name: str | None, _served: ssl.SSLContext) -> None:
        """Called with each ClientHello, whether it names a server or not."""
        if self._context is not None:
            connection.context = self._context

    def grpc_credentials(self) -> grpc.ServerCredentials | None:
        """Credentials for a gRPC server, which asks again for each new connection."""
        if self._grpc is None:
            return None
        self._served = self._grpc
        return grpc.dynamic_ssl_server_credentials(self._grpc, self._renewed, bool(self._tls.client_ca_file))

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        if self._grpc is self._served:
            return None
        self._served = self._grpc
        return self._grpc

    def _load_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self._tls.cert_file, self._tls.key_file, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise StartError(
                f"cannot use the certificate {self._tls.cert_file!r} with the key {self._tls.key_file!r}: {_reason(error)}"
            ) from error
        if self._tls.client_ca_file:
            try:
                context.load_verify_locations(self._tls.client_ca_file)
            except (OSError, ssl.SSLError) as error:
                raise StartError(
                    f"cannot use the client authorities {self._tls.client_ca_file!r}: {_reason(error)}"
                ) from error
            context.verify_mode = ssl.CERT_REQUIRED
            context.num_tickets = 0  # who resumes a session shows no certificate again
            context.options |= ssl.OP_NO_TICKET
        return context

    def _load_grpc(self) -> grpc.ServerCertificateConfiguration:
        key, chain = (Path(f).read_bytes() for f in (self._tls.key_file, self._tls.cert_file))
        roots = Path(self._tls.client_ca_file).read_bytes() if self._tls.client_ca_file else None
        return grpc.ssl_server_certificate_configuration([(key, chain)], roots)


def _no_password() -> str:
    raise ValueError("the key is encrypted; expected one without a passphrase")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
