"""Take the pictures of docs/how-to/watch-in-a-browser.md: `python tools/screenshots.py`, with Chromium installed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "how-to" / "img"
TOPIC = "Should a five-person startup adopt microservices?"
SAYS = {
    "claude": (
        "Stay with a monolith: one deploy and one on-call rota for five people.",
        "Start modular, split later. Clear modules keep the door open and cost nothing now.",
    ),
    "gpt": (
        "Adopt microservices while the seams are still small enough to find.",
        "Start modular, split later. I give up the early split: modules show the same seams.",
    ),
    "gemini": (
        "Stay with a monolith, and write down when to look at it again.",
        "Start modular, split later, with a date on which that is looked at.",
    ),
}
"""What each agent says in each round."""


def main() -> int:
    """Hold a debate, and take a picture of its page and of the figures."""
    sys.path.insert(0, str(ROOT / "tests"))
    from integration.pages_kit import typing_agents
    from integration.server_kit import served_table
    from integration.test_pages_browser import site
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    agents = typing_agents({name: [*said] for name, said in SAYS.items()}, chunks=40, piece_s=0.1)
    with sync_playwright() as playwright, site(served_table(agents=agents)) as here:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = here.page(browser.new_context(viewport={"width": 1000, "height": 1000}))
        page.goto(f"{here.url}/start")
        page.get_by_label("Question").fill(TOPIC)
        page.get_by_role("button", name="Start").click()
        page.locator("#decision").wait_for()
        page.locator("[data-words]", has_text="split").nth(2).wait_for()
        page.screenshot(path=PICTURES / "session.png")
        page.locator("#state", has_text="completed").wait_for()
        page.goto(f"{here.url}/admin")
        page.screenshot(path=PICTURES / "figures.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
