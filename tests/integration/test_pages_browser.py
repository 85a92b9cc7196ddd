"""The pages in a real browser: a debate followed to its end, by keyboard, on a phone and on a desk; nothing acts."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from integration.browser_kit import HOSTILE, axe_faults, browser
from integration.embedded_kit import loaded
from integration.pages_kit import Typing, typing_agents
from integration.server_kit import served, served_table, token_for
from integration.test_tool_approval import Shop, asks

import roundtable as rt
from roundtable.agents import BaseAgent
from roundtable.api import AgentProfile
from roundtable.auth import TokenStore
from roundtable.server import ServerApproval, create_app
from roundtable.testing import scripted_agents
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["browser"]  # the fixture

pytestmark = [pytest.mark.slow, pytest.mark.browser]

LISTEN = """addEventListener("DOMContentLoaded", () => {
  window.told = [];
  const news = document.getElementById("news");
  if (news) new MutationObserver(() => told.push(news.textContent)).observe(news, { childList: true });
});"""


@rt.tool
def look_up(country: str) -> str:
    """Look something up about a country."""
    return f"{country}: Paris"


class Site:
    """A server with one user, and what their browser asked it for and complained about."""

    def __init__(self, url: str, token: str, portal: Any, table: Any, app: Any) -> None:
        self.url = url
        self.app = app
        self.token = token
        self.portal = portal
        self.table = table
        self.hers = table.for_tenant("ann")
        self.asked: list[str] = []
        self.complaints: list[str] = []

    def streams(self) -> int:
        """Count the streams that are open."""
        return len(self.app.state.roundtable.streams)

    def held(self, topic: str, **how: Any) -> str:
        """Hold a debate and give its id."""

        async def hold() -> str:
            return (await self.hers.debate(topic, **how)).session_id

        return self.portal.call(hold)

    def start_team(self, request: str, *agents: str) -> str:
        """Start a conversation at the server and give its id."""

        async def start() -> str:
            async with httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as web:
                answer = await web.post(
                    f"{self.url}/api/conversations",
                    json={"agents": agents, "messages": [{"role": "user", "content": request}], "rounds": 2},
                    headers={"authorization": f"Bearer {self.token}"},
                )
                return answer.json()["sessionId"]

        return self.portal.call(start)

    def begun(self, page: Page, *, rounds: int) -> None:
        """Start a debate with the form, and wait until somebody writes."""
        page.goto(f"{self.url}/start")
        page.get_by_label("Question").fill("Tea or coffee?")
        page.get_by_label("Rounds").fill(f"{rounds}")
        page.get_by_role("button", name="Start").click()
        page.locator("li.busy").first.wait_for()

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
        app = create_app(made, **options)
        async with served(app) as url:
            yield Site(url, token, portal, made, app)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serve()) as running:
        yield running


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
        page.locator("#trajectory summary").click()
        assert page.get_by_role("img", name="Agreement and confidence by round").is_visible()
        assert page.locator("#trajectory tbody tr").count() == 2
        assert page.locator("#answer .said").inner_text() == "Tea"
        assert page.locator("article", has_text="Cy").count() >= 2
        assert page.get_by_role("button", name="Pause").count() == 0
        told = page.evaluate("told")
        for news in (
            "Ada has answered in round 1.",
            "Round 1: agreement 0.33 to 1.00: 1 answer not compared.",
            "Round 2 begins.",
            "The debate is over.",
        ):
            assert news in told
        here.check_quiet()
        context.close()


def test_tool_calls_are_allowed_and_refused_on_the_page(browser: Browser) -> None:
    shop = Shop()
    agents = [BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), asks()) for name in ("ada", "bo")]
    with site(served_table(agents=agents, tools=[shop.tool()], approve_tools=ServerApproval())) as here:
        context = browser.new_context(viewport={"width": 390, "height": 800})
        page = here.page(context)
        page.goto(f"{here.url}/start")
        page.get_by_label("Question").fill("Shall we order?")
        page.get_by_label("Rounds").fill("1")
        page.get_by_role("button", name="Start").click()
        forms = page.locator("#approvals form")
        forms.nth(1).wait_for()
        assert axe_faults(page) == []
        ada, bo = (page.locator("#approvals form", has_text=f"{name} wants to call") for name in ("Ada", "Bo"))
        assert '"item": "tea"' in ada.locator("pre").inner_text()
        bo.get_by_label("If you refuse").fill("too dear")
        ada.get_by_role("button", name="Allow").click()
        ada.wait_for(state="detached")
        # What was written beside the other call is still there, and Enter does not allow it.
        assert bo.get_by_label("If you refuse").input_value() == "too dear"
        bo.get_by_label("If you refuse").press("Enter")
        page.locator("#state", has_text="completed").wait_for()
        assert forms.count() == 0
        assert page.locator("#calls").get_by_text("not approved: too dear").is_visible()
        assert shop.orders == ["tea"]
        told = page.evaluate("told")
        assert any("wants to call order. Allow or refuse it." in news for news in told)
        here.check_quiet()
        context.close()


def pressed(page: Page, name: str) -> None:
    """Go to a button with the tab key alone, and press it."""
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == name:
            page.keyboard.press("Enter")
            return
    pytest.fail(f"no button {name!r} is reached by keyboard")


def test_a_debate_is_paused_resumed_and_stopped_by_keyboard(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.15, rounds=6))) as here:
        context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
        page = here.page(context)
        here.begun(page, rounds=5)
        pressed(page, "Pause")
        page.locator("#state", has_text="paused").wait_for()
        page.get_by_role("button", name="Resume").wait_for()
        assert page.evaluate("document.activeElement.innerText") == "Resume"  # where one was before
        assert not page.locator("#live").is_visible()
        page.keyboard.press("Enter")
        page.locator("#state", has_text="running").wait_for()
        page.locator("li.busy").first.wait_for()
        assert page.evaluate("getComputedStyle(document.querySelector('li.busy .seat')).animationName") == "none"
        pressed(page, "Stop")
        pressed(page, "Stop for good")
        page.locator("#state", has_text="stopped").wait_for()
        assert page.locator("#rounds > details").count() < 5
        told = page.evaluate("told")
        for news in ("It will pause when the running calls have ended.", "The debate is paused.", "It will stop."):
            assert news in told
        here.check_quiet()
        context.close()


def test_everything_works_without_a_script(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.1, rounds=6))) as here:
        context = browser.new_context(java_script_enabled=False)
        page = here.page(context)
        page.goto(f"{here.url}/start")
        page.get_by_label("Question").fill("Tea or coffee?")
        page.get_by_label("Rounds").fill("5")
        page.get_by_role("button", name="Start").click()
        assert page.locator("#state").inner_text() == "running"
        page.locator("summary", has_text="Stop").click()
        page.get_by_role("button", name="Stop for good").click()
        for _ in range(100):
            if page.locator("#state").inner_text() == "stopped":
                break
            page.reload()
        assert page.locator("#state").inner_text() == "stopped"
        page.get_by_role("button", name="Log out").click()
        assert page.url == f"{here.url}/login"
        here.check_quiet()
        context.close()


@pytest.mark.parametrize(("scripts", "width"), [(True, 390), (False, 1280)])
def test_agents_are_chosen_and_answered_with_or_without_a_script(browser: Browser, scripts: bool, width: int) -> None:
    asked = {"query": "Who drinks it?", "reason": "It matters.", "priority": "required"}
    call = {"toolCalls": [{"name": "request_context", "args": asked}]}
    says = {name: [call, *["Tea"] * 6] for name in ("ada", "bo", "cy")}
    table = served_table(agents=scripted_agents(says), tools=["request_context"])
    with site(table) as here:
        context = browser.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 800})
        page = here.page(context)
        page.goto(f"{here.url}/start")
        page.get_by_label("Question").fill("Tea or coffee?")
        page.get_by_label("Bo scripted").uncheck()
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Options to choose from").fill("Tea\nCoffee")
        if scripts:
            check_readable(page, width, "light")
        page.get_by_role("button", name="Start").click()
        field = page.get_by_label("Who drinks it?")
        for _ in range(100):
            if field.count():
                break
            page.reload()
        if scripts:
            check_readable(page, width, "light")
        assert page.locator(".seats li").count() == 2
        field.fill("Ann alone.")
        page.get_by_role("button", name="Answer and resume").click()
        for _ in range(100):
            if page.locator("#state").inner_text() == "completed":
                break
            page.reload()
        assert page.locator("#state").inner_text() == "completed"
        assert "Tea" in page.locator("#report").inner_text()
        here.check_quiet()
        context.close()


def test_a_disconnected_page_continues_where_it_stopped(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.1))) as here:
        context = browser.new_context()
        page = here.page(context)
        here.begun(page, rounds=2)
        context.set_offline(True)
        page.wait_for_timeout(300)
        context.set_offline(False)
        page.locator("#state", has_text="completed").wait_for()
        assert page.locator("#trajectory tbody tr").count() == 2
        context.close()


def test_a_hidden_page_disconnects_and_catches_up_later(browser: Browser) -> None:
    hide = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with site(served_table(agents=talkers(piece_s=0.1))) as here:
        context = browser.new_context()
        page = here.page(context)
        here.begun(page, rounds=2)
        assert here.streams() == 1
        page.evaluate(hide, True)
        for _ in range(100):
            if here.streams() == 0:
                break
            page.wait_for_timeout(20)
        assert here.streams() == 0
        page.evaluate(hide, False)
        page.locator("#state", has_text="completed").wait_for()
        assert page.locator("#rounds > details").count() == 2
        here.check_quiet()
        context.close()


def test_a_user_who_is_logged_out_elsewhere_sees_nothing_more(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.2, rounds=6)), check_s=0.1) as here:
        context = browser.new_context()
        page = here.page(context)
        here.begun(page, rounds=5)

        async def revoke() -> None:
            tokens = TokenStore.of(here.table._wiring.storage)
            for info in await tokens.list("ann"):
                await tokens.revoke(info.id)

        here.portal.call(revoke)
        page.wait_for_url("**/login?next=**")
        page.go_back()
        page.wait_for_url("**/login?next=**")
        context.close()


def test_a_page_follows_a_team_and_its_tools(browser: Browser) -> None:
    plan = {"goal": "Find the capital.", "strategy": "Look it up.", "successCriteria": ["A name"]}
    call = {"toolCalls": [{"name": "look_up", "args": {"country": "France"}}]}
    says = {"initiator": plan, "scout": [call, "It is Paris.", "Still Paris."], "summarizer": "Paris, says the map."}
    model = Typing(says, chunks=8)
    model.piece_s = 0.1
    with site(
        served_table(agents=[model], tools=[look_up], profiles=[AgentProfile("scout", tools=["look_up"])])
    ) as here:
        context = browser.new_context()
        page = here.page(context)
        started = here.start_team("The capital of France?", "scout")
        page.goto(f"{here.url}/sessions/{started}")
        page.locator("[data-tool]", has_text='uses look_up({"country":"France"})').wait_for()
        page.locator("#goal", has_text="Find the capital.").wait_for()
        page.locator("#state", has_text="completed").wait_for()
        assert page.locator("#answer .said").inner_text() == "Paris, says the map."
        page.locator("#round-1 > summary").click()
        assert page.get_by_text("Tools used: look_up").is_visible()
        assert '{"country":"France"}' in page.locator("#calls li").inner_text()
        assert "France: Paris" in page.locator("#calls li").inner_text()
        assert page.get_by_text("Minority").count() == 0
        here.check_quiet()
        context.close()


def test_text_of_agents_never_becomes_active_on_a_page(browser: Browser) -> None:
    said = f"{HOSTILE} \u202egnol \u2066x"
    says = {"ada": [said, said], "bo": [said, said]}
    table = served_table(agents=typing_agents(says, chunks=6, piece_s=0.1))
    with site(table) as here:
        context = browser.new_context(viewport={"width": 390, "height": 800})
        page = here.page(context)
        page.goto(f"{here.url}/start")
        page.get_by_label("Question").fill(said)
        page.get_by_label("Rounds").fill("2")
        page.get_by_role("button", name="Start").click()
        page.locator("[data-words]", has_text="<script>").first.wait_for()
        assert "\u202e" not in page.content()
        page.locator("#state", has_text="completed").wait_for()
        for path in (page.url, f"{here.url}/", f"{here.url}/sessions?q=script", f"{here.url}/sessions?q=%3Cscript%3E"):
            page.goto(path)
            assert page.evaluate("window.acted") is None
            assert (
                page.locator("main :is(script, img, iframe, link, base, object, embed, [style], svg[onload])").count()
                == 0
            )
            handlers = (
                "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/i.test(a.name))"
            )
            assert page.evaluate(f"{handlers}.length") == 0
            assert set(page.evaluate("[...document.links].map(link => link.protocol)")) <= {
                "http:",
                "https:",
                "mailto:",
            }
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            assert not {"\u202e", "\u2066"} & set(page.content())
        here.check_quiet()
        context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_every_page_fits_the_screen_and_is_accessible(browser: Browser, width: int, scheme: str) -> None:
    table = served_table(agents=talkers(piece_s=0.5, rounds=8))
    with site(table) as here:
        held = here.held("Tea or coffee?", rounds=1)
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = here.page(context, logged_in=False)
        page.goto(f"{here.url}/login")
        check_readable(page, width, scheme)
        page = here.page(context)
        here.begun(page, rounds=5)
        check_readable(page, width, scheme)
        page.locator("summary", has_text="Stop").click()
        page.get_by_role("button", name="Stop for good").click()
        page.locator("#state", has_text="stopped").wait_for()
        for path in ("/", "/sessions?q=tea", "/start", "/admin", f"/sessions/{held}"):
            page.goto(here.url + path)
            for menu in page.locator("details.menu > summary").all()[-1:]:
                menu.click()
            check_readable(page, width, scheme)
        here.check_quiet()
        page.goto(f"{here.url}/nowhere")
        check_readable(page, width, scheme)
        context.close()


def check_readable(page: Page, width: int, scheme: str) -> None:
    """Check a page by all rules, and its contrast in the other scheme as well."""
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("h1").count() == 1
    assert (page.url, axe_faults(page)) == (page.url, [])
    page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    assert (page.url, axe_faults(page, "color-contrast")) == (page.url, [])
    page.emulate_media(color_scheme=scheme)


def test_no_page_can_be_framed_and_a_printed_page_shows_the_answers(browser: Browser) -> None:
    with site() as here:
        held = here.held("Tea or coffee?", rounds=1)
        context = browser.new_context()
        page = here.page(context)
        page.goto(f"{here.url}/sessions/{held}")
        page.emulate_media(media="print")
        assert not page.get_by_role("navigation").first.is_visible()
        assert page.locator("article").first.is_visible()
        page.emulate_media(media="screen")
        framed = f"""new Promise(done => {{
            const frame = document.createElement("iframe");
            frame.onload = () => done(frame.contentDocument === null || frame.contentDocument.body.innerText);
            frame.src = "{here.url}/sessions/{held}";
            document.body.append(frame);
        }})"""
        assert page.evaluate(framed) in {True, ""}
        context.close()


def test_sharing_takes_one_click_and_stopping_two(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.15, rounds=6))) as here:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=here.url)
        page = here.page(context)
        here.begun(page, rounds=5)
        page.get_by_role("button", name="Share").click()
        page.locator("#new-link").wait_for()
        page.locator("#news", has_text="The link is copied.").wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
        assert link.startswith(f"{here.url}/shared/")
        before = page.locator("#report article").count()
        page.locator("#report article").nth(before).wait_for()  # a live event came
        assert page.locator("#new-link").input_value() == link
        page.evaluate("scrollTo(0, 600)")
        page.locator("summary", has_text="Stop").click(timeout=2_000)  # it stays in sight
        page.get_by_role("button", name="Stop for good").click()
        page.locator("#state", has_text="stopped").wait_for()
        page.locator("summary", has_text="Export").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Markdown").click()
        assert download.value.suggested_filename.endswith(".md")
        outside = browser.new_context(java_script_enabled=False)
        shared = outside.new_page()
        asked: list[str] = []
        shared.on("request", lambda request: asked.append(request.url))
        shared.goto(link)
        assert shared.locator("h1").inner_text() == "Tea or coffee?"
        assert asked == [link]
        outside.close()
        checked = browser.new_context(viewport={"width": 390, "height": 800})
        page = checked.new_page()
        page.goto(link)
        check_readable(page, 390, "light")
        checked.close()
        here.check_quiet()
        context.close()


@pytest.mark.local_model
def test_the_page_shows_the_embedded_model_writing(browser: Browser) -> None:
    with loaded(), site(served_table(agents=("local", "local"))) as here:
        context = browser.new_context()
        page = here.page(context)
        here.begun(page, rounds=1)
        writing = page.locator("li.busy [data-words]:visible").first
        writing.wait_for()
        lengths = set()
        while writing.count() and len(lengths) < 3:
            lengths.add(len(writing.text_content() or ""))
        assert len(lengths) == 3
        page.locator("#answer .said").wait_for()
        here.check_quiet()
        context.close()


def test_folds_and_incomplete_words_are_kept_when_the_page_is_loaded_again(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.4, rounds=6))) as here:
        context = browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
        page = here.page(context)
        here.begun(page, rounds=5)
        page.locator("#round-2 article").first.wait_for()
        page.locator("#round-1 summary").first.click()
        page.locator("[data-words]:visible").first.wait_for()
        page.reload()
        assert page.locator("#round-1").evaluate("round => round.open")
        page.locator("[data-words]:visible").first.wait_for(timeout=2_000)
        assert "begun" in page.locator("[data-since]").inner_text()
        page.locator("#round-3 article").first.wait_for()
        assert page.locator("#round-1").evaluate("round => round.open")
        page.goto(f"{here.url}/")
        assert "UTC" not in page.locator("time").first.inner_text()
        page.locator("time[title$=UTC]").first.wait_for()
        here.check_quiet()
        context.close()


def test_open_answers_of_five_in_ten_rounds_are_short_when_folded(browser: Browser) -> None:
    lines = ("Stay with a monolith until the team has grown", "Adopt microservices now", "Start modular, split later")
    story = "The team is small and has to run what it builds, and nobody has measured anything yet. " * 20
    says = {
        name: [
            {
                "position": f"{lines[(place + number) % 3]}, because of this. {story[:500]}",
                "bottom_line": lines[(place + number) % 3],
                "reasoning": story,
                "confidence": 0.5 + number / 25,
            }
            for number in range(10)
        ]
        for place, name in enumerate(("claude", "gpt", "gemini", "sonar", "mistral"))
    }
    with site(served_table(agents=scripted_agents(says))) as here:
        held = here.held("Should we adopt microservices?", rounds=10, exit_on_consensus=False)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = here.page(context)
        page.goto(f"{here.url}/sessions/{held}")
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height <= 3_000
        context.close()


def test_a_debate_of_five_in_ten_rounds_is_short_when_folded_and_shows_who_moved(browser: Browser) -> None:
    reasons = "It is a long story, which goes on for a while and then for a while longer. " * 30
    options = ["Stay with a monolith", "Adopt microservices", "Start modular, split later"]
    says = {
        name: [
            {
                "position": f"{options[(place if number < 3 + place else 2) % 3]}: the team is small.",
                "choice": options[(place if number < 3 + place else 2) % 3],
                "reasoning": reasons,
                "confidence": 0.5 + number / 25,
            }
            for number in range(10)
        ]
        for place, name in enumerate(("claude", "gpt", "gemini", "sonar", "mistral"))
    }
    with site(served_table(agents=scripted_agents(says))) as here:
        held = here.held("Should we adopt microservices?", rounds=10, options=options, exit_on_consensus=False)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = here.page(context)
        page.goto(f"{here.url}/sessions/{held}")
        assert page.evaluate("document.documentElement.scrollHeight") <= 3_000
        for shown in ("#answer .said", "#answer .advice", "#answer .story", "#movement h2"):
            box = page.locator(shown).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 800
        assert page.locator("#movement tbody tr").count() == 5 + 2
        assert page.locator("#movement .moved").count() == 4
        table = page.locator("#movement .wide")
        assert table.evaluate("wide => wide.scrollWidth <= wide.clientWidth")
        page.locator("#movement a[href='#r4s0']").click()
        assert page.locator("#r4s0").is_visible()
        check_readable(page, 1280, "light")
        page.set_viewport_size({"width": 390, "height": 800})
        check_readable(page, 390, "light")
        context.close()


def test_the_form_is_sent_by_ctrl_enter_and_the_list_renews_itself(browser: Browser) -> None:
    with site(served_table(agents=talkers(piece_s=0.01))) as here:
        context = browser.new_context()
        page = here.page(context)
        page.goto(f"{here.url}/")
        page.get_by_text("There are no sessions yet.").wait_for()
        other = here.page(context, logged_in=False)
        other.goto(f"{here.url}/start")
        assert other.evaluate("document.activeElement.id") == "topic"
        other.keyboard.type("Tea or coffee?")
        other.keyboard.press("Control+Enter")
        other.wait_for_url("**/sessions/*")
        page.locator("#list a", has_text="Tea or coffee?").wait_for(timeout=15_000)
        here.check_quiet()
        context.close()
