"""Listening sockets, bound before anything is served so that a taken port is one clear line and not a traceback; and how many connections
they may have, since connections, files and the store's readers are all open files, of which a process may have only so many.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket

try:
    import resource
except ImportError:  # not on every platform
    resource = None  # type: ignore[assignment]

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


def raise_open_files(most: int = 1 << 16) -> None:
    """Let the process have as many open files as it may, `most` at the most. Of the process, so once, at its start."""
    if resource is None or (soft := open_files()) is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # macOS takes less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def open_files() -> int | None:
    """How many open files the process may have; None where nothing limits them."""
    if resource is None:
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def affordable(connections: int) -> int:
    """Connections that a listener may have: as many as are wanted (0: any), but for an eighth of the open files there may be."""
    limit = open_files()
    share = 0 if limit is None else max(1, limit // 8)
    return min(connections, share) if connections and share else connections or share


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
