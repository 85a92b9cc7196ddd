"""Functions that build HTML safely: escaped text, tags, links, and the simple Markdown that models write."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.report.sanitize import INLINE_MARKUP, plain, safe_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Html", "inline", "join", "link", "prose", "tag"]

_VOID: Final = frozenset({"br", "circle", "line", "meta", "path", "polyline", "rect"})
_ATTRIBUTE_NAMES: Final = {"class_": "class"}

_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022]|[0-9]{1,3}[.)])\s+(?=\S)")
_HEADING: Final = re.compile(r"\s*#{1,6}\s+(?=\S)")
_FENCE: Final = re.compile(r"\s*```")
_QUOTE: Final = re.compile(r"\s*>(?:[ ]?>)*[ ]?")
_AFTER_ADDRESS: Final = ".,;:!?"


class Html(NamedTuple):
    """Safe markup, created by this module."""

    text: str
    """The markup, as it is written into a page."""

    def __html__(self) -> str:
        """Return the markup for template engines, which do not escape it again."""
        return self.text


def escaped(text: str) -> str:
    """Escape any text for an element or a quoted attribute, and remove its control characters."""
    return html.escape(plain(text, lines=True), quote=True)


def tag(name: str, /, *children: str | Html | None, **attributes: str | float | None) -> Html:
    """Create an element.

    Args:
        name: Name of the element; it must not come from an agent.
        children: Text or elements. Text is escaped, and `None` is skipped.
        attributes: Attributes as keywords, with `class_` for `class` and underscores for hyphens; `None` is skipped.

    Raises:
        ValueError: An attribute is unsafe: an event handler, a style, or an address that `link` has not checked.

    Example:
        >>> tag("p", "a < b", tag("strong", "!"), class_="note").text
        '<p class="note">a &lt; b<strong>!</strong></p>'
    """
    attribute_text = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Html(f"<{name}{attribute_text}>" if name in {"br", "meta"} else f"<{name}{attribute_text}/>")
    return Html(f"<{name}{attribute_text}>{join(children).text}</{name}>")


def join(children: Iterable[str | Html | None], between: str = "") -> Html:
    """Join text and elements; text is escaped."""
    parts = (child.text if isinstance(child, Html) else escaped(child) for child in children if child is not None)
    return Html(between.join(parts))


def _attribute(key: str, value: str | float) -> str:
    name = _ATTRIBUTE_NAMES.get(key) or key.replace("_", "-")
    if name.startswith("on") or name in {"style", "src"} or (name == "href" and not str(value).startswith("#")):
        msg = f"a page has no attribute {name}={value!r}"
        raise ValueError(msg)
    return f' {name}="{escaped(str(value))}"'


def link(url: str, *shown: str | Html) -> Html:
    """Create a link to a web or mail address; for any other address, return only the text, with a remark.

    Example:
        >>> link("javascript:alert(1)", "Paper").text
        'Paper (unsafe link left out)'
    """
    target = safe_url(url)
    if target is None:
        return join((*shown, " (unsafe link left out)"))
    return Html(f'<a href="{escaped(target)}" rel="noopener noreferrer">{join(shown).text}</a>')


def inline(text: str) -> Html:
    """Convert one line of text to HTML; strong and emphasized text, code and links become elements.

    Example:
        >>> inline("**Yes**, if `a < b`").text
        '<strong>Yes</strong>, if <code>a &lt; b</code>'
    """
    parts: list[str | Html] = []
    start = 0
    for match in INLINE_MARKUP.finditer(text):
        parts.append(text[start : match.start()])
        parts += _marked(match)
        start = match.end()
    return join((*parts, text[start:]))


def _marked(match: re.Match[str]) -> Iterator[str | Html]:
    strong, emphasis, code, label, target, address = match.groups()
    if strong is not None:
        yield tag("strong", inline(strong))
    elif emphasis is not None:
        yield tag("em", inline(emphasis))
    elif code is not None:
        yield tag("code", code)
    elif target is not None:
        yield link(target, label)
    else:
        shown = address.rstrip(_AFTER_ADDRESS)
        yield link(shown, shown)
        yield address[len(shown) :]


def prose(text: str) -> Iterator[Html]:
    """Convert text of several lines to HTML, block by block."""
    block = _Block()
    for line in plain(text, lines=True).split("\n"):
        yield from block.take(line)
    yield from block.end()


class _Block:
    """A collector of the lines of one paragraph, list or code block, until the next block begins."""

    def __init__(self) -> None:
        self._kind = ""
        self._lines: list[str] = []

    def take(self, line: str) -> Iterator[Html]:
        """Add the next line; yield the previous block if this line ends it."""
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
        """Yield the collected block, and begin another."""
        kind, lines, self._kind, self._lines = self._kind, self._lines, "", []
        match kind:
            case "list":
                yield tag("ul", *map(_item, lines))
            case "code" if lines:
                yield tag("pre", tag("code", "\n".join(lines)))
            case "title":
                yield from (tag("p", tag("strong", inline(_HEADING.sub("", line, count=1)))) for line in lines)
            case "quote":
                words = (inline(_QUOTE.sub("", line, count=1).strip()) for line in lines)
                yield tag("blockquote", join(words, "<br>"))
            case "text":
                yield tag("p", join((inline(line.strip()) for line in lines), "<br>"))
            case _:
                pass


def _kind_of(line: str) -> str:
    if not line.strip():
        return ""
    if _QUOTE.match(line):
        return "quote"
    return "list" if _ITEM.match(line) else "title" if _HEADING.match(line) else "text"


def _item(line: str) -> Html:
    mark = _ITEM.match(line)
    number = mark.group().strip() if mark else ""
    content = inline(line[mark.end() :] if mark else line)
    return tag("li", f"{number} ", content, class_="numbered") if number[:1].isdigit() else tag("li", content)
