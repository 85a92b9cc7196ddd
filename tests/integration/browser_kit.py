"""What tests of pages share: Debian's Chromium, hostile words, and the rules of axe."""

from __future__ import annotations

import shutil
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

__all__ = ["HOSTILE", "axe_faults", "browser"]

HOSTILE = (
    "<script>window.acted = 1</script><img src=x onerror='window.acted = 2'>\"' onmouseover='window.acted = 3' "
    "</title></style></textarea><svg/onload=window.acted=4><iframe srcdoc='<script>parent.acted=5</script>'></iframe>"
    "<link rel=stylesheet href=https://example.org/x.css><base href=https://example.org/>"
    "<form action=https://example.org/><button>x</button></form><meta http-equiv=refresh content='0;url=https://example.org/'>"
    "[x](javascript:window.acted=6) ![x](https://example.org/x.png) `<b>` **<i>** \u202e\x1b[31m " + "w" * 400
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium, or skip where there is none."""
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


def axe_faults(page: Page, *rules: str) -> list[tuple[str, str, str]]:
    """Return what axe finds on a page, by all its rules or some: rule, impact, first place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("rules => axe.run(rules.length ? { runOnly: rules } : {})", rules)
    assert len(found["passes"]) >= (len(rules) or 15)  # it did look
    return [(fault["id"], fault["impact"], fault["nodes"][0]["html"]) for fault in found["violations"]]
