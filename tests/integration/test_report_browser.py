"""The HTML page in a real browser: it fits a phone and a desk, everybody can read it, and nothing in it acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from integration.browser_kit import HOSTILE, axe_faults, browser
from unit.report_kit import debate

from roundtable import DebateResult, sync
from roundtable.report.html import SECTIONS
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

__all__ = ["browser"]  # the fixture

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ADDRESSES = ("javascript:window.acted=7", "data:text/html,<script>parent.acted=8</script>", " java\tscript:acted=9")


def opened(browser: Browser, page: Path, **how: Any) -> Page:
    shown = browser.new_context(**how).new_page()
    shown.goto(page.as_uri())
    return shown


def written(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "debate.html"
    page.write_text(text, "utf-8")
    return page


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_a_page_fits_the_screen_and_is_accessible(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    page = opened(
        browser,
        written(tmp_path, debate().to_html()),
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for title in (title for name, title in SECTIONS.items() if name not in {"synthesis", "claims"}):
        assert page.get_by_role("heading", name=title, exact=True, level=2).is_visible()
    assert axe_faults(page) == []
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_claims_fit_the_screen_and_are_accessible(browser: Browser, tmp_path: Path, width: int, scheme: Any) -> None:
    page = opened(
        browser,
        written(tmp_path, with_claims().to_html()),
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("heading", name="Claims", exact=True, level=2).click()
    assert page.get_by_text("Staff would leave.").first.is_visible()
    assert axe_faults(page) == []
    page.context.close()


def with_claims() -> DebateResult:
    """Return a debate whose agents give claims with sources."""
    survey = {"url": f"https://example.org/{'survey-' * 30}", "quote": "62 % of visitors would come on a Sunday"}
    said = {
        "ada": [{"text": "Most visitors want it.", "evidence": [survey]}, "Volunteers help."],
        "bo": [{"text": "Staff would leave.", "evidence": [survey]}, "Heating costs more."],
    }
    agents = scripted_agents(
        {
            name: {"position": "Open", "reasoning": "See the claims.", "confidence": 0.8, "claims": claims}
            for name, claims in said.items()
        }
    )
    with sync.Roundtable(agents, storage="memory://") as table:
        return table.debate("Should the library open on Sundays?", rounds=2, claims=True)


@pytest.mark.parametrize("address", ADDRESSES, ids=ascii)
def test_text_of_agents_never_becomes_active_in_a_report(browser: Browser, tmp_path: Path, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    path = written(tmp_path, debate(said=HOSTILE, url=address).to_html())
    page.goto(path.as_uri())
    page.mouse.move(200, 400)
    for place in page.get_by_text("window.acted").all()[:20]:
        place.hover(force=True)
    assert asked == [path.as_uri()]
    assert page.evaluate("window.acted") is None
    assert (
        page.locator("script, img, iframe, link, base, form, button, object, embed, [style], svg[onload]").count() == 0
    )
    handlers = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/i.test(a.name))"
    assert page.evaluate(f"{handlers}.length") == 0
    schemes = set(page.evaluate("[...document.links].map(link => link.protocol)"))
    assert schemes <= {"file:", "http:", "https:", "mailto:"}  # links within the page have the page's own
    assert page.evaluate("[...document.links].every(a => a.hash || a.rel.includes('noopener'))")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


def test_rounds_open_without_a_script_and_paper_shows_everything(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, written(tmp_path, debate().to_html()), java_script_enabled=False)
    assert page.locator("details[open]").count() == 1
    page.locator("#rounds summary").first.click()
    assert page.locator("details[open]").count() == 2
    page.locator("a[href='#r2s3']").click()  # a turn of a round that is closed
    assert page.locator("#round-2").evaluate("round => round.open")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.get_by_text("Five people cannot run twelve services.").last.is_visible()
    assert page.locator("#session dd").first.is_visible()
    assert page.get_by_role("heading", name="Minority report", exact=True).is_visible()
    page.context.close()
