"""The way in for a browser where the listener demands a token: the token is typed once, and a cookie stands for it.

Separate from the tokens because a cookie is another thing than a header: a browser sends it by itself, so what it opens must be harmless to send.

Rules:
- the cookie holds a random name of the login and never the token; cookies are shared by all ports of a host, tokens are not to be;
- it is HttpOnly and SameSite=Strict, Secure where the listener speaks TLS, and opens reading only (the door lets it stand for GET and HEAD);
- a login is good as long as its token is: one that is withdrawn or expires ends the logins made with it;
- the address never holds a token.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from collector.listen.tokens import Tokens

COOKIE: Final = "orbitrelay"
LIFE_S: Final = 12 * 3600
_MOST: Final = 1_000
_BODY: Final = 8_192


class Logins:
    """Who is logged in. `now` gives Unix seconds. In memory only: a restart asks again."""

    def __init__(self, tokens: Tokens, now: Callable[[], float]) -> None:
        self._tokens = tokens
        self._now = now
        self._known: dict[bytes, tuple[str, float]] = {}

    @property
    def demanded(self) -> bool:
        """Whether there is anything to log in to."""
        return self._tokens.demanded

    def login(self, token: str) -> tuple[str, str]:
        """Take a token: the cookie's value, and why there is none."""
        fault = self._tokens.fault(f"Bearer {token}")
        if fault:
            return "", fault
        now = self._now()
        self._known = {name: entry for name, entry in self._known.items() if entry[1] > now}
        while len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)))
        value = secrets.token_urlsafe(32)
        self._known[_digest(value)] = token, now + LIFE_S
        return value, ""

    def logout(self, cookies: str) -> None:
        """Forget a login."""
        self._known.pop(_digest(cookie_of(cookies)), None)

    def accepts(self, cookies: str) -> bool:
        """Whether a `cookie` header stands for a token that is still accepted."""
        value = cookie_of(cookies)
        token, until = self._known.get(_digest(value), ("", 0.0)) if value else ("", 0.0)
        return self._now() < until and not self._tokens.fault(f"Bearer {token}")


class LoginPage:
    """The form and what it does. `render` writes a template."""

    def __init__(self, logins: Logins, render: Callable[..., Response]) -> None:
        self._logins = logins
        self._render = render

    def routes(self) -> list[Route]:
        """For a Starlette application."""
        return [
            Route("/login", self._form, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
        ]

    async def _form(self, request: Request) -> Response:
        next_ = local(request.query_params.get("next", ""))
        if not self._logins.demanded or self._logins.accepts(request.headers.get("cookie", "")):
            return RedirectResponse(next_, 303)
        return self._render(request, "login.html", next=next_, fault="")

    async def _login(self, request: Request) -> Response:
        form = await _form_of(request)
        next_ = local(form.get("next", ""))
        if not _from_here(request):
            return self._render(request, "login.html", 403, next=next_, fault="the form was sent from another site")
        value, fault = self._logins.login(form.get("token", "").strip())
        if fault:
            return self._render(request, "login.html", 401, next=next_, fault=fault)
        response = RedirectResponse(next_, 303)
        response.set_cookie(
            COOKIE,
            value,
            max_age=LIFE_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )
        return response

    async def _logout(self, request: Request) -> Response:
        if _from_here(request):
            self._logins.logout(request.headers.get("cookie", ""))
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response


def cookie_of(header: str) -> str:
    """The value of our cookie in a `cookie` header, "" where it is not there."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def local(address: str) -> str:
    """An address of this page, and of no other: anything else becomes `/`.

    >>> local("/roles?range=7d"), local("//evil.example"), local("https://evil.example"), local("/\\\\evil")
    ('/roles?range=7d', '/', '/', '/')
    """
    plain = address.startswith("/") and not address.startswith("//") and address.isprintable() and "\\" not in address
    return address if plain else "/"


def _digest(value: str) -> bytes:
    return hashlib.blake2b(value.encode("utf-8", "surrogateescape")).digest()


def _from_here(request: Request) -> bool:
    """Whether a form was sent by a page of this very host and port; browsers say so, other clients need not."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


async def _form_of(request: Request) -> Mapping[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _BODY:
            return {}
    return {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=10).items()}
