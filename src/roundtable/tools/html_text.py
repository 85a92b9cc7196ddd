"""The text of a web page as a person sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

# The library comes without types; no more than a parser and a tree is used.
from lxml import etree  # type: ignore[import-untyped]

__all__ = ["PageText", "page_text"]

_NO_TEXT: Final = """
script style noscript template svg math iframe frame object embed applet canvas audio video head datalist map select
"""
_LINES: Final = """
address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul
"""
_DROPPED: Final = frozenset(_NO_TEXT.split())
"""Elements whose content is no text of the page."""
_BLOCKS: Final = frozenset(_LINES.split())
"""Elements that begin a line of their own."""
_NEVER_HIDDEN: Final = frozenset({"html", "body"})
"""Style sheets hide these until scripts have run; a page that did so for good would have no text at all."""

_SELECTOR: Final = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)")
_AWAY: Final = re.compile(r"-\d{3,}")
_NOTHING: Final = re.compile(r"[+]?0*(?:\.0+)?(?:px|em|rem|ex|ch|pt|pc|mm|cm|in|vw|vh|%)?")
_TINY: Final = re.compile(r"[+]?0*(?:[01](?:\.\d+)?|\.\d+)(?:px|pt|%)?|0*\.0\d*r?em")
MOST_CSS: Final = 2**18
"""Most characters of style sheets that are looked at."""
MOST_RULES: Final = 2_000
"""Most rules of style sheets that are kept."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says."""

    title: str
    """Its title."""
    text: str
    """Its text, a line for each paragraph, cell or heading."""


def page_text(html: str) -> PageText:
    """Give the title and the visible text of a page.

    Left out is what a person who opens the page does not see: scripts, comments, elements that are marked as hidden,
    or that their own style or a plain rule of the page's style sheet hides, makes tiny, transparent or moves away.
    Elements nested deeper than 256 are left out as well.

    Args:
        html: The page.

    Example:
        >>> page_text("<title>Tea</title><p>Green <b>tea</b>.<p style='display: none'>Obey.").text
        'Green tea.'
    """
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False, no_network=True)
    try:
        root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # pragma: no cover  (releases of libxml2 differ in what they call empty)
        return PageText("", "")
    if root is None:
        return PageText("", "")
    title = root.find(".//title")
    hidden = _Hidden(_style_sheets(root))
    lines = ("".join(_pieces(root, hidden))).split("\n")
    kept = [line for line in (" ".join(line.split()) for line in lines) if line]
    return PageText("" if title is None else " ".join("".join(title.itertext()).split()), "\n".join(kept))


class _Element(Protocol):
    """What is used of an element of the library."""

    tag: str
    text: str | None
    tail: str | None
    attrib: Mapping[str, str]

    def __iter__(self) -> Iterator[_Element]: ...

    def getnext(self) -> _Element | None: ...

    def getparent(self) -> _Element | None: ...

    def iter(self, tag: str) -> Iterator[_Element]: ...

    def itertext(self) -> Iterator[str]: ...


def _pieces(root: _Element, hidden: _Hidden) -> Iterator[str]:
    """Give the visible texts in order, with a line break round each block.

    It goes from element to element: a list of many children would hold the interpreter for as long as it is made.
    """
    element: _Element | None = root
    while element is not None:
        if element.tag not in _DROPPED and not hidden.hides(element):
            yield "\n" if element.tag in _BLOCKS else ""
            yield _flat(element.text)
            if (child := next(iter(element), None)) is not None:
                element = child
                continue
        following: _Element | None = None
        while element is not None and following is None:
            yield "\n" if element.tag in _BLOCKS else ""
            yield _flat(element.tail)
            following = element.getnext()
            element = element.getparent()
        element = following


def _flat(text: str | None) -> str:
    return "" if text is None else text.replace("\n", " ")


@dataclass(slots=True)
class _Rule:
    tag: str | None
    marks: frozenset[str]
    """Classes as `.name`, ids as `#name`."""


@dataclass(slots=True)
class _Hidden:
    """Tells what a page hides by its own words."""

    css: str
    tags: set[str] = field(init=False, default_factory=set)
    by_mark: dict[str, list[_Rule]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        kept = 0
        for selectors, declarations in _rules(self.css):
            if not _is_hiding(declarations):
                continue
            for selector in selectors.lower().split(","):
                found = _SELECTOR.fullmatch(selector.strip())
                if found is None or not found[0] or kept == MOST_RULES:
                    continue
                kept += 1
                marks = frozenset(re.findall(r"[.#][\w-]+", found[2]))
                if marks:
                    self.by_mark.setdefault(min(marks), []).append(_Rule(found[1], marks))
                else:
                    self.tags.add(found[1])

    def hides(self, element: _Element) -> bool:
        """Tell whether an element is hidden by itself, whatever holds it."""
        tag, attributes = element.tag, element.attrib
        if tag in _NEVER_HIDDEN:
            return False
        if tag in self.tags or attributes.get("hidden", "until-found") != "until-found":
            return True
        if tag == "dialog" and "open" not in attributes:
            return True
        if attributes.get("aria-hidden", "").strip().lower() == "true":
            return True
        if "style" in attributes and _is_hiding(attributes["style"]):
            return True
        return bool(self.by_mark) and self._is_marked(element)

    def _is_marked(self, element: _Element) -> bool:
        own = {f".{name}" for name in element.attrib.get("class", "").lower().split()}
        if name := element.attrib.get("id", "").strip().lower():
            own.add(f"#{name}")
        return any(
            rule.marks <= own and rule.tag in {None, element.tag} for mark in own for rule in self.by_mark.get(mark, ())
        )


def _style_sheets(root: _Element) -> str:
    return "\n".join("".join(sheet.itertext()) for sheet in root.iter("style"))[:MOST_CSS]


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Give selectors and declarations of the rules that hold on every screen: those in no block such as `@media`."""
    depth, start, selectors = 0, 0, ""
    css = _without_comments(css)
    for mark in re.finditer(r"[{};]", css):
        match mark[0], depth:
            case "{", 0:
                selectors, depth, start = css[start : mark.start()], 1, mark.end()
            case "{", _:
                depth += 1
            case "}", 1:
                if "@" not in selectors:
                    yield selectors, css[start : mark.start()]
                depth, start = 0, mark.end()
            case "}", _:
                depth, start = max(0, depth - 1), start if depth else mark.end()
            case _:
                start = start if depth else mark.end()


def _without_comments(css: str) -> str:
    first, *rest = css.split("/*")
    return first + "".join(piece.partition("*/")[2] for piece in rest)


def _is_hiding(declarations: str) -> bool:
    """Tell whether an element with this style cannot be seen."""
    style: dict[str, str] = {}
    for declaration in _without_comments(declarations).lower().split(";"):
        name, _, value = declaration.partition(":")
        style[name.strip()] = value.replace("!important", "").strip()
    return (
        style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or style.get("content-visibility") == "hidden"
        or _is_nothing(style.get("opacity"))
        or style.get("color") == "transparent"
        or _TINY.fullmatch(style.get("font-size", "16px")) is not None
        or _is_camouflaged(style)
        or _is_out_of_sight(style)
    )


def _is_out_of_sight(style: dict[str, str]) -> bool:
    moved = (style.get(side, "") for side in ("left", "top", "right", "bottom", "text-indent", "margin-left"))
    if any(_AWAY.match(value) for value in (*moved, style.get("margin-top", ""))):
        return True
    if any(sign in style.get("transform", "") for sign in ("scale(0)", "(-9999")):
        return True
    clip = style.get("clip", "") + style.get("clip-path", "")
    if any(sign in clip.replace(" ", "") for sign in ("rect(0", "rect(1px", "inset(50%", "inset(100%", "circle(0")):
        return True
    no_room = any(_is_nothing(style.get(side)) for side in ("height", "width", "max-height", "max-width"))
    return no_room and style.get("overflow", "") in {"hidden", "clip"}


def _is_camouflaged(style: dict[str, str]) -> bool:
    """Tell whether letters have the colour of what is behind them."""
    behind = style.get("background-color") or style.get("background")
    return behind is not None and style.get("color") == behind


def _is_nothing(value: str | None) -> bool:
    return bool(value) and _NOTHING.fullmatch(value or "") is not None
