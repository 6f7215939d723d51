"""The doors of the listeners: where each listens, and by which certificates and tokens one comes in.

Separate from the listeners because receivers and admin listeners are guarded alike, and because what guards them is read anew
while they run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import NamedTuple

from collector.config.options import Admin, Receive
from collector.listen.sockets import address_of, is_loopback
from collector.listen.tls import Certificates
from collector.listen.tokens import Tokens

_log = logging.getLogger("collector.service")


class Door(NamedTuple):
    """What guards the listeners of one section, gRPC's and HTTP's."""

    certificates: Certificates
    tokens: Tokens


class Doors:
    """All that were opened. `environment` holds tokens; `addresses` is where each listener listens, by its option."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._doors: list[Door] = []
        self.addresses: dict[str, str] = {}

    def open(self, section: Receive | Admin) -> Door:
        """Read the certificates and tokens of a section. Raises `StartError`."""
        door = Door(Certificates(section.tls), Tokens(section.auth, self._environment, time.time))
        self._doors.append(door)
        return door

    def listens(self, name: str, endpoint: str, port: int) -> None:
        """Note where a listener listens: its port may have been left open."""
        self.addresses[name] = address_of(endpoint.rpartition(":")[0].strip("[]"), port)

    @staticmethod
    def warn_if_open(name: str, section: Receive | Admin, door: Door) -> None:
        """Warn of what listens beyond loopback and lets anybody in."""
        guarded = door.tokens.demanded or section.tls.client_ca_file
        for endpoint in (section.grpc.endpoint, section.http.endpoint):
            if endpoint and not is_loopback(endpoint) and not guarded:
                _log.warning(
                    "listens beyond loopback without authentication: set auth.token_file or tls.client_ca_file",
                    extra={"fields": {"listener": name, "endpoint": endpoint}},
                )

    @property
    def files(self) -> list[str]:
        """The files of all certificates and tokens, "" among them where an option names none."""
        return [file for door in self._doors for file in door.certificates.files] + [
            door.tokens.file for door in self._doors
        ]

    def reload(self) -> None:
        """Read all certificates and tokens again. Raises `StartError`."""
        for door in self._doors:
            door.certificates.reload()
        for door in self._doors:
            door.tokens.reload()
