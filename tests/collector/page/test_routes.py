"""The page over HTTP, on a store of a few sessions: headers, faults, the way in, and hostile text as text."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.admin.api import Api
from collector.admin.application import application
from collector.config.options import Auth
from collector.listen.tokens import Tokens
from collector.page.links import TraceLinks
from collector.page.login import LIFE_S, Logins, local
from collector.page.routes import Page
from collector.page.writer import POLICY
from collector.pipeline import dossier
from collector.query.reader import Reader
from collector.report import NoEmitter, Report
from collector.store import Checkpoint, Store
from tests.collector.page.makers import reported
from tests.collector.page.world import SECOND, hostile, incident
from tests.collector.store.makers import changes, put, report

BEGUN = 1_800_000_000 * SECOND


class Elements(HTMLParser):
    """What a page is made of, as a browser reads it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.text: list[str] = []
        self.script: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "action", "formaction")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        (self.script if self._inside == "script" else self.text).append(data)


class Browser:
    """Asks the application as a browser does, and keeps its cookies."""

    def __init__(self, app: Any, base_url: str, held: Tokens) -> None:
        self.app = app
        self.base_url = base_url
        self.held = held
        self.cookies = httpx.Cookies()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            headers = {"accept": "text/html", **options.pop("headers", {})}
            async with httpx.AsyncClient(transport=transport, base_url=self.base_url, cookies=self.cookies) as client:
                answer = await client.request(method, path, headers=headers, **options)
                self.cookies = client.cookies
                return answer

        return asyncio.run(go())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **options)


Client = Callable[..., Browser]


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return reported(incident("INC-1", BEGUN), hostile(BEGUN))


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(reports: list[Report]) -> Iterator[Store]:
    made = Store(None)
    made.start()
    put(made, *reports)
    yield made
    made.stop()


@pytest.fixture
def client(store: Store, tmp_path: Path, clock: Clock) -> Client:

    async def kept(_session_id: str) -> bool:
        raise AssertionError("the page deletes nothing")

    async def metrics(_accept: str) -> tuple[bytes, str]:
        return b"", "text/plain"

    def make(tokens: str = "", base_url: str = "http://localhost") -> Browser:
        (tmp_path / "tokens").write_text(tokens, encoding="utf-8")
        held = Tokens(Auth(token_file=str(tmp_path / "tokens") if tokens else ""), {}, clock)
        logins = Logins(held, clock)
        page = Page(store, logins, TraceLinks(""), now_ns=lambda: BEGUN + 60 * SECOND, version="1")
        app: Any = application(
            routes=[*Api(Reader(store, dossier, kept)).routes(), *page.routes()],
            metrics=metrics, ready={}, tokens=held, logins=logins, open_health=True, hosts=(), loopback=True,
        )  # fmt: skip
        return Browser(app, base_url, held)

    return make


def test_every_page_has_the_policy_and_nothing_inline(client: Client, reports: list[Report]) -> None:
    browser = client()
    session = f"/sessions/{reports[0].session_id}"
    for path in (
        "/",
        "/?order=weakest&text=inc",
        session,
        f"{session}/field?name=goal",
        "/roles?range=24h",
        "/sessions/none",
    ):
        answer = browser.get(path)
        assert answer.headers["content-security-policy"] == POLICY, path
        assert answer.headers["cache-control"] == "no-store"
        seen = Elements(answer.text)
        assert not [name for name in seen.attributes if name == "style" or name.startswith("on")], path
        assert not [value for value in seen.addresses if not value.startswith(("/", "#"))], path
        assert ("style" in seen.tags, "".join(seen.script).strip()) == (False, ""), path


def test_files_are_served_for_long_under_the_name_of_their_content(client: Client) -> None:
    browser = client()
    for path in set(re.findall(r'"(/static/[^"]+)"', browser.get("/").text)):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert browser.get("/static/old/page.css").headers["cache-control"] == "no-cache"
    assert browser.get("/static/x/..%2frows.html").status_code == 404


def test_hostile_text_stands_as_text(client: Client, reports: list[Report]) -> None:
    browser = client()
    session = f"/sessions/{reports[1].session_id}"
    for path in ("/", session, f"{session}/field?name=goal", "/roles"):
        answer = browser.get(path).text
        seen = Elements(answer)
        assert "<script>window" in "".join(seen.text), path
        assert not re.search(r"\u202e|\x1b|\x00", "".join(seen.text)), path
        assert not re.search(r"<script>|<img src=x|<style>", answer), path


def test_what_is_not_there_or_not_meant_is_a_page_that_says_so(client: Client, reports: list[Report]) -> None:
    browser = client()
    session = f"/sessions/{reports[0].session_id}"
    faults = {
        "/sessions/none": (404, "no session &#39;none&#39; is kept"),
        f"{session}?revision=7": (404, "the session has revisions 1 to 1, and none with the number 7"),
        f"{session}?from=x": (400, "expected from as a whole number, found &#39;x&#39;"),
        f"{session}/field?name=nope": (404, "no handoff of this session has to do with a field &#39;nope&#39;"),
        "/?page=nonsense": (400, "expected a page token that a page gave"),
        "/roles?range=1y": (400, "expected range one of 24h, 7d, 30d, 90d, found &#39;1y&#39;"),
    }
    for path, (status, message) in faults.items():
        answer = browser.get(path)
        assert (answer.status_code, message in answer.text) == (status, True), path


def test_a_script_gets_the_rows_alone(client: Client) -> None:
    part = client().get("/", headers={"x-orbitrelay-part": "rows"}).text
    assert (part.lstrip()[:3], part.count("<tr"), "<html" in part) == ("<tr", 2, False)


def test_an_open_session_says_that_it_is_open(client: Client, store: Store) -> None:
    store.checkpoint(Checkpoint(changes(report(9), state="open")), NoEmitter()).result()
    browser = client()
    assert "1 session open" in browser.get("/").text
    assert "This session is open since" in browser.get(f"/sessions/{report(9).session_id}").text
    assert browser.get(f"/sessions/{report(9).session_id}/field?name=goal").status_code == 404


def test_without_a_token_a_browser_is_led_to_the_form_and_a_program_is_refused(client: Client) -> None:
    browser = client("secret\n")
    answer = browser.get("/roles?range=7d")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Froles%3Frange%3D7d")
    assert browser.get("/api/v1/sessions", headers={"accept": "application/json"}).status_code == 401
    assert browser.get("/", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert browser.get("/", headers={"authorization": "Bearer secret"}).status_code == 200
    form = browser.get(answer.headers["location"])
    assert (form.status_code, 'name="next" value="/roles?range=7d"' in form.text) == (200, True)


def test_a_token_typed_once_opens_reading_by_a_cookie_that_does_not_hold_it(
    client: Client, reports: list[Report]
) -> None:
    browser = client("secret\n")
    assert browser.post("/login", data={"token": "wrong", "next": "/"}).status_code == 401
    answer = browser.post("/login", data={"token": "secret", "next": "/roles"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/roles")
    cookie = answer.headers["set-cookie"]
    found = ["HttpOnly" in cookie, "SameSite=strict" in cookie, "secret" in cookie, "Secure" in cookie]
    assert found == [True, True, False, False]
    assert browser.get("/").status_code == 200
    assert browser.get(f"/api/v1/sessions/{reports[0].session_id}/trace").status_code == 200
    assert browser.ask("DELETE", f"/api/v1/sessions/{reports[0].session_id}").status_code == 401
    assert "Sign out" in browser.get("/").text
    assert browser.post("/logout").status_code == 303
    assert browser.get("/").status_code == 303


def test_a_login_ends_with_its_time_and_with_its_token(client: Client, clock: Clock, tmp_path: Path) -> None:
    browser = client("secret\n")
    browser.post("/login", data={"token": "secret"})
    clock.now += LIFE_S + 1
    assert browser.get("/").status_code == 303
    browser.cookies.clear()
    browser.post("/login", data={"token": "secret"})
    assert browser.get("/").status_code == 200
    (tmp_path / "tokens").write_text("another\n", encoding="utf-8")
    browser.held.reload()
    assert browser.get("/").status_code == 303


def test_a_form_from_another_site_logs_nobody_in(client: Client) -> None:
    browser = client("secret\n")
    answer = browser.post("/login", data={"token": "secret"}, headers={"origin": "http://localhost:3000"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert browser.post("/login", data={"token": "secret"}, headers={"origin": "http://localhost"}).status_code == 303


def test_over_tls_the_cookie_is_for_tls_alone(client: Client) -> None:
    answer = client("secret\n", "https://localhost").post("/login", data={"token": "secret"})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("address", ["//evil", "https://evil", "/\\evil", "evil", "/a\r\nset-cookie: x", ""])
def test_a_login_leads_nowhere_else(address: str) -> None:
    assert local(address) == "/"


def test_a_host_that_is_not_ours_gets_nothing(client: Client) -> None:
    assert client(base_url="http://evil.example").get("/").status_code == 421
