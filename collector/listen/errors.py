"""What stops a listener from starting, separate so that the command line can name it without importing a server."""

from __future__ import annotations


class StartError(Exception):
    """The service cannot start as configured: a taken port, a wrong certificate, an unwritable folder. One line; exit code 2."""
