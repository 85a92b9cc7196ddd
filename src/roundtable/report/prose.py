"""What agents wrote, as paragraphs, lists and code: the little Markdown that models use, and nothing that acts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.report.inert import plain
from roundtable.report.tags import join, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.report.tags import Html

__all__ = ["inline", "prose"]

_MARKED: Final = re.compile(
    r"\*\*([^*\s](?:[^*]*[^*\s])?)\*\* | (?<!\w)\*([^*\s](?:[^*]*[^*\s])?)\*(?!\w) | `([^`]+)`", re.VERBOSE
)
_KINDS: Final = ("strong", "em", "code")
_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022]|[0-9]{1,3}[.)])\s+(?=\S)")
_TITLE: Final = re.compile(r"\s*#{1,6}\s+(?=\S)")
_FENCE: Final = re.compile(r"\s*```")


def inline(text: str) -> Html:
    """Show one line of text; `**strong**`, `*stressed*` and code in backticks look so.

    Example:
        >>> inline("**Yes**, if `a < b`").text
        '<strong>Yes</strong>, if <code>a &lt; b</code>'
    """
    shown: list[str | Html] = []
    start = 0
    for found in _MARKED.finditer(text):
        shown.append(text[start : found.start()])
        shown += [tag(kind, said) for kind, said in zip(_KINDS, found.groups(), strict=True) if said is not None]
        start = found.end()
    return join((*shown, text[start:]))


def prose(text: str) -> Iterator[Html]:
    """Show text of several lines, block by block."""
    block = _Block()
    for line in plain(text, lines=True).split("\n"):
        yield from block.take(line)
    yield from block.end()


class _Block:
    """Gathers the lines of one paragraph, list or piece of code until another block begins."""

    def __init__(self) -> None:
        self._kind = ""
        self._lines: list[str] = []

    def take(self, line: str) -> Iterator[Html]:
        """Take the next line; gives the block before it, when that ends here."""
        if _FENCE.match(line):
            is_code = self._kind == "code"
            yield from self.end()
            self._kind = "" if is_code else "code"
            return
        kind = "code" if self._kind == "code" else _kind_of(line)
        if kind != self._kind:
            yield from self.end()
            self._kind = kind
        self._lines.append(line)

    def end(self) -> Iterator[Html]:
        """Give the block gathered so far, and begin another."""
        kind, lines, self._kind, self._lines = self._kind, self._lines, "", []
        match kind:
            case "list":
                yield tag("ul", *map(_item, lines))
            case "code" if lines:
                yield tag("pre", tag("code", "\n".join(lines)))
            case "title":
                yield from (tag("p", tag("strong", inline(_TITLE.sub("", line, count=1)))) for line in lines)
            case "text":
                yield tag("p", join((inline(line.strip()) for line in lines), "<br>"))
            case _:
                pass


def _kind_of(line: str) -> str:
    if not line.strip():
        return ""
    return "list" if _ITEM.match(line) else "title" if _TITLE.match(line) else "text"


def _item(line: str) -> Html:
    mark = _ITEM.match(line)
    number = mark.group().strip() if mark else ""
    said = inline(line[mark.end() :] if mark else line)
    return tag("li", f"{number} ", said, class_="numbered") if number[:1].isdigit() else tag("li", said)
