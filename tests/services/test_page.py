"""The page in a real Chromium, before a real collector that has taken recordings of frameworks, a story, and hostile texts.

Everything a page does is watched in every test: an error on the console, a request to another host or an attack that ran fails it.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.collector.page.world import CONTRACTS, RECORDED, SECOND, Step, capture, hostile, incident, long_story, story

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]
Serving = Callable[..., AbstractContextManager[Any]]
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SESSIONS = len(RECORDED) + 3
PATIENCE = 90.0
"""Seconds: other tests may be at work on the same machine."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]
TRACE_URL = "http://127.0.0.1:16686/trace/{trace_id}?uiFind={span_id}"


@pytest.fixture(scope="module")
def process(serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
    options = {"contracts.file": str(folder / "contracts.yaml"), "page.trace_url": TRACE_URL, "sessions.grace": "1s"}
    with serving(folder / "data", options) as process:
        process.said("ready", PATIENCE)
        now = time.time_ns()
        for name in RECORDED:
            process.play(capture(name))
        process.play([incident("INC-4711", now - 60 * SECOND), long_story("long", now - 600 * SECOND), hostile(now)])
        process.until(lambda: len(process.sessions()) >= SESSIONS, PATIENCE)
        yield process


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "install Debian's package `chromium`"
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE * 1000)
        yield started
        started.close()


class Watched:
    """Contexts whose every page is watched."""

    def __init__(self, browser: Browser, base: str) -> None:
        self._browser = browser
        self.base = base
        self.faults: list[str] = []
        self._open: list[BrowserContext] = []

    def page(self, allowed: str = "", **options: Any) -> Page:
        context = self._browser.new_context(base_url=self.base, viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(PATIENCE * 1000)
        self._open.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._said(message.type, message.text, allowed))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))
        return page

    def _said(self, kind: str, text: str, allowed: str) -> None:
        if kind in ("error", "warning") and not (allowed and allowed in text):
            self.faults.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.base).netloc:
            self.faults.append(f"request: {url}")

    def close(self) -> None:
        for context in self._open:
            for page in context.pages:
                if page.evaluate("() => window.owned"):
                    self.faults.append(f"an attack ran on {page.url}")
            context.close()


@pytest.fixture
def watched(browser: Browser, process: Any) -> Iterator[Watched]:
    made = Watched(browser, f"http://{process.address('admin.http')}")
    yield made
    made.close()
    assert made.faults == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page()


def session_of(process: Any, name: str) -> str:
    return next(str(found["session_id"]) for found in process.sessions() if name in found["name"])


def axe(page: Page) -> list[str]:
    """What axe-core has against a page, injected past the page's policy by the debugger."""
    assert AXE.exists(), "run `npm install --prefix tests/services`"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [f"{v['id']}: {[node['html'][:160] for node in v['nodes'][:3]]}" for v in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible_in_light_and_in_dark(watched: Watched, process: Any, scheme: str) -> None:
    page = watched.page(color_scheme=scheme)
    views = ["/", "/?grade=D", "/?text=nothing-fits", "/roles"]
    views += [f"/sessions/{session_of(process, name)}" for name in ("INC", "Zkou", "script")]
    views += [f"{view}/field?name=goal" for view in (views[4], views[6])]
    faults = {}
    for view in views:
        page.goto(view)
        page.wait_for_timeout(50)
        faults[view] = axe(page)
    assert {view: found for view, found in faults.items() if found} == {}


def test_dark_is_dark_and_light_is_light(watched: Watched) -> None:
    def ground(scheme: str) -> int:
        page = watched.page(color_scheme=scheme)
        page.goto("/")
        colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert (ground("dark") < 150, ground("light") > 650) == (True, True)


def test_on_a_narrow_screen_tables_scroll_and_the_page_does_not(page: Page, process: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    session = f"/sessions/{session_of(process, 'INC')}"
    widths = {}
    for view in ("/", session, f"{session}/field?name=goal", "/roles"):
        page.goto(view)
        widths[view] = page.evaluate("() => document.documentElement.scrollWidth")
    assert set(widths.values()) == {390}, widths
    page.goto(session)
    drawn = "() => [...document.querySelectorAll('.figure svg')].map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
    assert page.evaluate(drawn) == [1, 1], "a picture made small cannot be read"


def test_the_list_is_newest_first_and_says_what_each_session_is(page: Page) -> None:
    page.goto("/")
    rows = page.locator("tbody[data-rows] tr")
    expect(rows).to_have_count(SESSIONS)
    row = page.locator("tr", has_text="INC-4711")
    cells = [re.sub(r"\s+", " ", text).strip() for text in row.locator("td").all_inner_texts()]
    assert cells[:6] == ["0.91 grade A", "researcher → engineer 0.68 grade C", "7", "2", "14.3 s", "2 880"]
    times = page.locator("tbody time").evaluate_all("(all) => all.map((t) => t.dateTime)")
    assert times == sorted(times, reverse=True)
    assert page.locator("tr", has_text="Zkouška").locator(".tag").inner_text() == "no contract"


def test_filters_choose_by_the_address(page: Page) -> None:
    page.goto("/")
    with page.expect_navigation():
        page.get_by_label("Service").select_option("incident-desk")
    assert urlsplit(page.url).query == "service=incident-desk"
    names = page.locator("tbody th a")
    assert sorted(names.all_inner_texts()) == ["INC-4711", "long"]
    page.get_by_label("Text").fill("root_cause")
    page.get_by_role("button", name="Filter").click()
    assert urlsplit(page.url).query == "text=root_cause&service=incident-desk"
    with page.expect_navigation():
        page.get_by_label("Grade").select_option("A")
    expect(names).to_have_text(["INC-4711"])
    page.goto("/?role=reviewer&within=24h&order=weakest")
    means = [float(text.split()[0]) for text in page.locator("td.completeness").all_inner_texts()]
    assert (means, len(means)) == (sorted(means), 4)
    page.goto("/?text=nothing-fits")
    expect(page.get_by_text("No session fits this filter.")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("tbody[data-rows] tr")).to_have_count(SESSIONS)


def test_the_list_follows_what_closes(page: Page, process: Any) -> None:
    page.goto("/")
    expect(page.locator("body.following")).to_have_count(1)
    try:
        steps = [Step("planner", "reviewer", {"goal": "x"})]
        process.play([story("arrived <b>live</b>", "live-desk", steps, time.time_ns())])
        first = page.locator("tbody[data-rows] tr").first
        expect(first.locator("th a")).to_have_text("arrived <b>live</b>")
        expect(page.get_by_role("status")).to_contain_text("New: arrived <b>live</b>, completeness")
    finally:
        session = session_of(process, "arrived")
        page.request.delete(f"/api/v1/sessions/{session}")


def test_a_session_shows_its_flow_ledger_fields_bottlenecks_timeline_and_revisions(page: Page, process: Any) -> None:
    page.goto(f"/sessions/{session_of(process, 'INC')}")
    expect(page.locator("svg.overview .node")).to_have_count(5)
    expect(page.locator("svg.flow .relay")).to_have_count(7)
    third = page.locator("tr#h3")
    assert [re.sub(r"\s+", "", text) for text in third.locator(".mark").all_text_contents()] == [
        "Ppresent:goal",
        "Mmissing:root_cause_hypothesis",
        "Ppresent:affected_service",
        "Mmissing:constraints",
        "Xextra:confidence",
    ]
    assert re.fullmatch(
        r"http://127\.0\.0\.1:16686/trace/[0-9a-f]{32}\?uiFind=[0-9a-f]{16}",
        third.get_by_role("link", name="open").get_attribute("href") or "",
    )
    expect(page.locator("section", has=page.locator("#bottlenecks")).locator("tbody tr")).to_have_count(2)
    expect(page.locator(".timeline li")).to_have_count(15)
    expect(page.locator("section", has=page.locator("#revisions"))).to_contain_text("the first")
    page.locator("svg.flow .relay").nth(2).locator(".letter").click()
    expect(third).to_be_in_viewport()


def test_downloads_are_what_the_api_gives(page: Page, process: Any) -> None:
    session = session_of(process, "INC")
    page.goto(f"/sessions/{session}")
    for link, name, part in (
        ("trace JSON", f"{session}.trace.json", b'"trace_id": "INC-4711"'),
        ("report JSON", f"{session}.report.json", b'"mean_completeness":0.91'),
        ("dossier", f"{session}.dossier.md", b"INC-4711"),
    ):
        with page.expect_download() as download:
            page.get_by_role("link", name=link).click()
        assert download.value.suggested_filename == name
        assert part in Path(download.value.path()).read_bytes()


def test_a_late_span_makes_a_revision_that_says_what_changed(page: Page, process: Any) -> None:
    begun = time.time_ns()
    steps = [Step("planner", "researcher", {"goal": "x", "affected_service": "y", "timeline": "z"})]
    process.play([story("revised", "incident-desk", steps, begun)])
    process.until(lambda: [s for s in process.sessions() if s["name"] == "revised"], PATIENCE)
    session = session_of(process, "revised")
    more = [Step("auditor", "engineer", {"goal": "x"})]
    process.play([story("revised", "incident-desk ", more, begun + 60 * SECOND)])
    process.until(lambda: [s for s in process.sessions() if s["name"] == "revised" and s["revision"] == 2], PATIENCE)
    page.goto(f"/sessions/{session}")
    revisions = page.locator("section", has=page.locator("#revisions")).locator("tbody tr")
    expect(revisions.first).to_contain_text("handoff found: auditor → engineer")
    revisions.nth(1).get_by_role("link", name="1").click()
    expect(page.get_by_text("This is revision 1 of 2.")).to_be_visible()
    page.request.delete(f"/api/v1/sessions/{session}")


def test_one_field_is_followed_hop_by_hop(page: Page, process: Any) -> None:
    page.goto(f"/sessions/{session_of(process, 'INC')}")
    page.locator("table.matrix").get_by_role("link", name="constraints").click()
    events = page.locator(".trail .event")
    assert events.all_inner_texts() == ["introduced", "carried", "dropped", "carried", "emptied", "carried", "dropped"]
    with page.expect_navigation():
        page.get_by_role("combobox", name="Field").select_option("goal")
    changed = page.locator(".trail li.changed").first
    assert (changed.locator("del").inner_text(), changed.locator("ins").inner_text()) == ("1", "5")


def test_roles_say_what_is_judged_and_what_is_not(page: Page) -> None:
    page.goto("/roles?range=24h")
    expect(page.get_by_role("heading", name="What can be judged")).to_be_visible()
    assert "no contract for the target's role: nothing was asked for" in page.locator(".parts").inner_text()
    row = page.locator("table.pairs tr", has_text="researcher → engineer")
    assert re.search(r"0\.\d\d\s*grade\s*[A-F]", row.inner_text())
    expect(row.locator("svg.series")).to_have_count(1)
    missing = page.locator("section", has=page.locator("#missing"))
    expect(missing.locator("tbody tr").first).to_contain_text("root_cause_hypothesis")
    contracts = page.locator("section", has=page.locator("#contracts"))
    expect(contracts.locator("tr", has_text="scribe")).to_contain_text("none")
    missing.get_by_role("link", name="root_cause_hypothesis").click()
    assert "long" in page.locator("tbody th a").all_inner_texts()


def test_hostile_values_are_text_everywhere(page: Page, process: Any) -> None:
    session = session_of(process, "script")
    for path in ("/", f"/sessions/{session}", f"/sessions/{session}/field?name=goal", "/roles"):
        page.goto(path)
        assert "<script>" in page.locator("main").inner_text()
        assert page.evaluate("() => document.querySelectorAll('img[src=x], main script, main style').length") == 0
        assert page.evaluate("() => getComputedStyle(document.body).display") == "block"
        assert "\u202e" not in page.locator("main").inner_text()


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.name") == "text"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.name") == "service"
    page.locator("main").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    name = page.evaluate("() => document.activeElement.textContent")
    assert name == page.locator("tbody th a").nth(1).inner_text()
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_everything_is_there_without_javascript(watched: Watched, process: Any) -> None:
    page = watched.page(java_script_enabled=False)
    page.goto("/")
    assert page.locator("tbody[data-rows] tr").count() == SESSIONS
    page.get_by_label("Service").select_option("incident-desk")
    page.get_by_role("button", name="Filter").click()
    assert page.locator("tbody[data-rows] tr").count() == 2
    page.get_by_role("link", name="INC-4711").click()
    assert page.locator("svg.flow .relay").count() == 7
    page.locator("table.matrix").get_by_role("link", name="goal").click()
    assert page.locator(".trail li").count() == 7
    page.close()


def test_a_token_is_asked_for_once_and_never_stands_in_an_address(
    browser: Browser, serving: Serving, tmp_path: Path
) -> None:
    (tmp_path / "tokens").write_text("the-secret\n", encoding="utf-8")
    with serving(tmp_path / "data", {"admin.auth.token_file": str(tmp_path / "tokens")}) as process:
        process.said("ready", PATIENCE)
        watched = Watched(browser, f"http://{process.address('admin.http')}")
        page = watched.page(allowed="401")
        page.goto("/roles?range=24h")
        assert axe(page) == []
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("the bearer token is not one that is accepted here")
        page.get_by_label("Token").fill("the-secret")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Roles")
        assert page.url.endswith("/roles?range=24h")
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], "the-secret" in str(cookie["value"])) == (True, "Strict", False)
        page.goto("/")
        expect(page.locator("body.following")).to_have_count(1)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        watched.close()
        assert watched.faults == []


def test_print_leaves_controls_out_and_keeps_the_ledger(page: Page, process: Any) -> None:
    page.goto(f"/sessions/{session_of(process, 'INC')}")
    page.emulate_media(media="print")
    expect(page.locator(".jump")).to_be_hidden()
    expect(page.locator("table.ledger")).to_be_visible()
    box = page.locator("svg.flow").bounding_box()
    assert box is not None
    assert box["width"] <= 1280
