"""Write `docs/llms.txt`: the pages of the site with one line each, for language models (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import yaml

__all__ = ["PAGE", "text"]

PAGE: Final = Path("docs/llms.txt")
SECTIONS: Final = ("Get started", "How to", "Cookbook", "Explanation", "Reference")
"""Parts of the navigation that are listed; the design, the benchmarks and the changelog are for people."""

Nav: TypeAlias = "str | dict[str, str | list[Nav]]"

_FRONT: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")


def text(root: Path) -> str:
    """Return the list of pages of the tree in a folder."""
    config = yaml.safe_load((root / "mkdocs.yml").read_text("utf-8"))
    lines = ["# AI Roundtable", "", f"> {config['site_description']}"]
    for entry in config["nav"]:
        ((section, pages),) = entry.items()
        if section in SECTIONS:
            lines += ["", f"## {section}", ""]
            lines += [_line(root / "docs" / page, page) for page in _pages(pages)]
    return "\n".join(lines) + "\n"


def _pages(nav: Nav | list[Nav]) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for entry in nav:
            yield from _pages(entry)
    else:
        for value in nav.values():
            yield from _pages(value)


def _line(path: Path, page: str) -> str:
    body = _FRONT.sub("", path.read_text("utf-8")).lstrip()
    heading, _, rest = body.partition("\n")
    link = f"- [{heading.removeprefix('# ').strip()}]({page.removesuffix('.md')}.html)"
    summary = _summary(rest)
    return f"{link}: {summary}" if summary else link


def _summary(body: str) -> str:
    """Return the first sentence of the first paragraph; an empty text if a page begins with code or a table."""
    for block in body.split("\n\n"):
        prose = " ".join(block.split())
        if not prose or prose.startswith(("<!--", "#")):
            continue
        if prose.startswith((":::", "```", "|", "!", "-")):
            return ""
        return _SENTENCE.split(_LINK.sub(r"\1", prose))[0]
    return ""
