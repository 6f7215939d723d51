"""Listening sockets, bound before anything is served so that a taken port is one clear line and not a traceback."""

from __future__ import annotations

import ipaddress
import socket

from collector.config.values import split_address
from collector.listen.errors import StartError


def bind(endpoint: str, option: str) -> socket.socket:
    """A listening TCP socket for `host:port`. Raises `StartError` that names the option."""
    host, port = split_address(endpoint)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"cannot listen on {endpoint!r} ({option}): {_reason(error)}") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(1024)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise StartError(f"cannot listen on {endpoint!r} ({option}): {_reason(error)}") from error
    return sock


def probe(endpoint: str, option: str) -> None:
    """Raise `StartError` if nobody could listen on the endpoint now. For servers that bind for themselves."""
    bind(endpoint, option).close()


def is_loopback(endpoint: str) -> bool:
    """Whether only this machine can reach the endpoint."""
    host, _ = split_address(endpoint)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
