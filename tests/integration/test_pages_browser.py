"""The pages in a real browser: a debate followed to its end, by keyboard, on a phone and on a desk; nothing acts."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from anyio.from_thread import start_blocking_portal
from integration.pages_kit import typing_agents
from integration.server_kit import served, served_table, token_for

from roundtable.server import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow

LISTEN = """addEventListener("DOMContentLoaded", () => {
  window.told = [];
  const news = document.getElementById("news");
  if (news) new MutationObserver(() => told.push(news.textContent)).observe(news, { childList: true });
});"""


class Site:
    """A server with one user, and what their browser asked it for and complained about."""

    def __init__(self, url: str, token: str, portal: Any, table: Any) -> None:
        self.url = url
        self.token = token
        self.portal = portal
        self.table = table
        self.hers = table.for_tenant("ann")
        self.asked: list[str] = []
        self.complaints: list[str] = []

    def held(self, topic: str, **how: Any) -> str:
        """Hold a debate and give its id."""

        async def hold() -> str:
            return (await self.hers.debate(topic, **how)).session_id

        return self.portal.call(hold)

    def page(self, context: BrowserContext, *, logged_in: bool = True) -> Page:
        page = context.new_page()
        page.add_init_script(LISTEN)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in {"error", "warning"} else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        if logged_in:
            page.goto(f"{self.url}/login")
            page.get_by_label("Token").fill(self.token)
            page.keyboard.press("Enter")
            page.wait_for_url(f"{self.url}/")
        return page

    def check_quiet(self) -> None:
        """Check that nothing was asked of anybody else, and that the browser had no complaint."""
        assert [url for url in self.asked if not url.startswith(self.url)] == []
        assert self.complaints == []


@contextmanager
def site(table: Any = None, **options: Any) -> Iterator[Site]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Site]:
        made = table or served_table()
        token = await token_for(made, "ann", "admin")
        async with served(create_app(made, **options)) as url:
            yield Site(url, token, portal, made)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serve()) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium on this machine")
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *quiet]
        )
        yield started
        started.close()


def talkers(*, piece_s: float = 0.06, rounds: int = 2) -> list[Any]:
    said = {"ada": ["Tea", "Tea"], "bo": ["Coffee", "Tea"], "cy": ["Coffee", "Coffee"]}
    return typing_agents(
        {name: [*words, *words * rounds][:rounds] for name, words in said.items()}, chunks=10, piece_s=piece_s
    )


def test_a_debate_is_started_and_followed_to_its_end(browser: Browser) -> None:
    with site(served_table(agents=talkers())) as here:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = here.page(context)
        page.get_by_role("link", name="Start a debate").first.click()
        page.get_by_label("Question").fill("Tea or coffee?")
        page.get_by_label("Rounds").fill("2")
        page.get_by_role("button", name="Start").click()
        page.locator("li.busy").first.wait_for()
        page.locator("[data-words]", has_text="Tea").first.wait_for()
        assert page.locator("#state").inner_text() == "running"
        page.locator("#state", has_text="completed").wait_for()
        page.locator("#live").wait_for(state="hidden")
        assert page.get_by_role("img", name="Agreement and confidence by round").is_visible()
        assert page.locator("#trajectory tbody tr").count() == 2
        assert page.locator("#answer .said").inner_text() == "Tea"
        assert page.locator("article", has_text="Cy").count() >= 2
        assert page.get_by_role("button", name="Pause").count() == 0
        told = page.evaluate("told")
        for news in (
            "Ada has answered in round 1.",
            "Round 1: agreement 33%.",
            "Round 2 begins.",
            "The debate is over.",
        ):
            assert news in told
        here.check_quiet()
        context.close()
