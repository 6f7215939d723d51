"""Templates and files of the page, and the headers that bind a browser to them.

Separate from the routes so that there is one place in which HTML leaves, with everything escaped and the policy on it.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from collector.page import words
from collector.page.login import Logins

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_TYPES: Final = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


class Writer:
    """Writes pages and serves what they load."""

    def __init__(self, logins: Logins, version: str) -> None:
        self._logins = logins
        folder = files("collector.page") / "static"
        self._files = {name: (folder / name).read_bytes() for name in _TYPES}
        self._mark = hashlib.blake2b(b"".join(self._files.values()), digest_size=6).hexdigest()
        environment = Environment(
            loader=PackageLoader("collector.page", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals |= {
            "asset": lambda name: f"/static/{self._mark}/{name}",
            "count": words.count,
            "counted": words.counted,
            "version": version,
        }
        self._environment = environment

    def routes(self) -> list[Route]:
        """For a Starlette application."""
        return [Route("/static/{mark}/{name}", self._static, methods=["GET"])]

    def __call__(self, request: Request, template: str, status: int = 200, /, **values: Any) -> Response:
        """A page."""
        cookies = request.headers.get("cookie", "")
        inside = self._logins.demanded and self._logins.accepts(cookies)
        text = self._environment.get_template(template).render(logged_in=inside, here=request.url.path, **values)
        return Response(
            text.encode("utf-8", "replace"),
            status,
            {
                "content-security-policy": POLICY,
                "cross-origin-opener-policy": "same-origin",
                "referrer-policy": "same-origin",  # with none at all, a browser does not say where a form comes from
                "vary": "accept",
            },
            media_type="text/html",
        )

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._files:
            return Response("no such file\n", 404, media_type="text/plain")
        life = "public, max-age=31536000, immutable" if request.path_params["mark"] == self._mark else "no-cache"
        return Response(self._files[name], headers={"cache-control": life}, media_type=_TYPES[name])
