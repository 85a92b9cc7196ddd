"""The site keeps what it shows: output, lists of recipes and errors, and pages that fit a phone."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from integration.browser_kit import axe_faults, browser

from roundtable.errors import error_kinds

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

READ_FIRST = (
    "index.html",
    "install.html",
    "cookbook/index.html",
    "how-to/troubleshoot.html",
    "tutorial/first-debate.html",
)
"""Pages on which axe is run."""
GENERATED = ("reference", "benchmarks", "design")
"""Parts of the site that are too many pages to open one by one."""


def block(page: str, language: str) -> str:
    """Return the first block of a language on a page."""
    found = re.search(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group(1)


def anchor(heading: str) -> str:
    """Return the anchor that the site makes of a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def snippet_faults(text: str) -> list[str]:
    """Return the lines of a page that look like a snippet marker, and include no file of this repository."""
    faults = []
    for line in re.findall(r"^.*-\s*-\s*8\s*<.*$", text, re.MULTILINE):
        named = re.fullmatch(r'--8<-- "(.+)"', line)
        if named is None or not (ROOT / named[1]).is_file():
            faults.append(line)
    return faults


def test_the_home_page_shows_what_its_code_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("index.md", "python"), "index.md", "exec"), {})
    assert printed.getvalue() == block("index.md", "text")


def test_the_code_of_the_home_page_is_short() -> None:
    lines = [line for line in block("index.md", "python").splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 10


def test_every_recipe_is_on_the_page_of_the_cookbook() -> None:
    recipes = {
        f"{path.name}#{anchor(heading)}"
        for path in (DOCS / "cookbook").glob("*.md")
        if path.name != "index.md"
        for heading in re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(recipes) >= 20
    assert set(re.findall(r"\]\(([\w-]+\.md#[\w-]+)\)", (DOCS / "cookbook/index.md").read_text("utf-8"))) == recipes


def test_every_error_code_has_a_section_about_how_to_recover() -> None:
    sections = set(re.findall(r"^### `(\w+)`$", (DOCS / "how-to/troubleshoot.md").read_text("utf-8"), re.MULTILINE))
    codes = {kind().code for kind in error_kinds()} - {"ROUNDTABLE_ERROR"}
    assert codes - sections == set()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('--8<-- "CHANGELOG.md"', False),
        ('--8<-- "examples/no-such-file.py"', True),
        ('--8 < --"CHANGELOG.md"', True),
        ("--8<-- CHANGELOG.md", True),
        ("a -- b < 8", False),
    ],
)
def test_a_snippet_marker_that_includes_nothing_is_a_fault(line: str, fault: bool) -> None:
    assert bool(snippet_faults(f"```py\n{line}\n```\n")) is fault


def test_every_snippet_of_a_page_is_included() -> None:
    pages = [(path.relative_to(DOCS), path.read_text("utf-8")) for path in sorted(DOCS.rglob("*.md"))]
    assert sum("--8<--" in text for _, text in pages) >= 3
    assert [(str(name), fault) for name, text in pages for fault in snippet_faults(text)] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as it is published."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder], cwd=ROOT, check=True)
    return folder


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [pytest.param(380, id="phone"), pytest.param(1280, id="desk")])
def test_no_page_of_the_site_is_wider_than_the_screen(browser: Browser, site: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    names = [path.relative_to(site) for path in sorted(site.rglob("*.html"))]
    names = [name for name in names if name.parts[0] not in GENERATED]
    assert len(names) > 60
    wide = []
    for name in names:
        page.goto((site / name).as_uri(), wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(str(name))
    page.close()
    assert wide == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", READ_FIRST)
def test_the_pages_that_are_read_first_pass_axe(
    browser: Browser, site: Path, name: str, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.goto((site / name).as_uri())
    if scheme == "dark":
        page.evaluate("document.body.setAttribute('data-md-color-scheme', 'slate')")
        page.wait_for_timeout(600)  # colours change over a quarter of a second
    faults = axe_faults(page)
    page.close()
    # the theme puts the button that copies a block of code into a landmark without a name
    assert [fault for fault in faults if fault[0] != "landmark-unique"] == []
