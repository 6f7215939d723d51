"""`delete`: a session with its reports, its content and its files.

A running collector does it itself, asked over its API, since it alone may write to its folder; without one it is done here. What a collector
that was killed had accepted and not stored may be of any session, so it has to take that first.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from collector.commands.stored import Stored, add_folder_arguments, opened
from collector.config import ConfigError
from collector.journal import Journal, JournalError, UnknownVersionError
from collector.listen.errors import StartError
from collector.report import Position, Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("session", nargs="+", metavar="SESSION_ID", help="ids of sessions, as the API lists them")
    add_folder_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Delete. 1: there was no such session, 2: it could not be done."""
    code = 0
    try:
        with opened(arguments) as stored:
            if not stored.running and _unseen(stored):
                raise StartError(
                    f"the journal in {str(stored.folder)!r} holds requests that the store has not seen, and may bring a session back:"
                    " start the collector, and delete then"
                )
            for session_id in arguments.session:
                found = _asked(stored, session_id) if stored.running else _deleted(stored, session_id)
                print(
                    f"{session_id}: {'deleted' if found else 'no such session (an id is the session_id of /api/v1/sessions)'}"
                )
                code = code if found else 1
    except (ConfigError, StartError) as error:
        print(f"orbitrelay-collector: {error}", file=sys.stderr)
        return 2
    return code


def _unseen(stored: Stored) -> bool:
    position, _ = stored.store.positions()
    journal = Journal(stored.folder / "journal")
    try:
        journal.open(position)
        return any(isinstance(found, Record) for found in journal.records(position or Position()))
    except (JournalError, OSError, UnknownVersionError) as error:
        raise StartError(str(error)) from error


def _deleted(stored: Stored, session_id: str) -> bool:
    deleted = stored.store.delete(session_id).result()
    options = stored.loaded.options
    dossiers = Path(options.files.dir) if options.files.dir else stored.folder / "dossiers"
    for stem in deleted.stems:
        for suffix in (".trace.json", ".dossier.md"):
            (dossiers / f"{stem}{suffix}").unlink(missing_ok=True)
    return bool(deleted.sessions)


def _asked(stored: Stored, session_id: str) -> bool:
    import httpx  # noqa: PLC0415  # slow to import, and rarely needed

    admin = stored.loaded.options.admin
    scheme = "https" if admin.tls.cert_file else "http"
    verify: Any = admin.tls.cert_file or True
    token = os.environ.get(admin.auth.token_env, "") if admin.auth.token_env else ""
    if not token and admin.auth.token_file:
        lines = Path(admin.auth.token_file).read_text(encoding="utf-8").splitlines()
        token = next((line.split()[0] for line in lines if line.strip() and not line.startswith("#")), "")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    url = f"{scheme}://{admin.http.endpoint}/api/v1/sessions/{session_id}"
    try:
        response = httpx.delete(url, headers=headers, verify=verify, timeout=30)
    except httpx.TransportError as error:
        raise StartError(
            f"cannot ask the running collector at {admin.http.endpoint!r} (admin.http.endpoint): {error}"
        ) from error
    if response.status_code not in {204, 404}:
        raise StartError(f"the running collector answered {response.status_code}: {response.text[:200]}")
    return response.status_code == 204
