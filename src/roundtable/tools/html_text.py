"""Extract the visible text of a web page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

# The library has no types; only its parser and its tree are used.
from lxml import etree  # type: ignore[import-untyped]

__all__ = ["PageText", "page_text"]

_DROPPED_NAMES: Final = """
script style noscript template svg math iframe frame object embed applet canvas audio video head datalist map select
"""
_BLOCK_NAMES: Final = """
address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul
"""
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
"""Elements whose content is not part of the text."""
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
"""Elements that start a new line."""
_NEVER_HIDDEN: Final = frozenset({"html", "body"})
"""Elements that never count as hidden, because they contain the whole page: style sheets often hide them until scripts
have run."""

_SELECTOR: Final = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)")
_OFF_SCREEN: Final = re.compile(r"-\d{3,}")
_QUANTITY: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)([a-z]*|%)")
_IMPORTANT: Final = re.compile(r"!\s*important")
_HEX_ALPHA: Final = re.compile(r"#(?:[0-9a-f]{3}([0-9a-f])|[0-9a-f]{6}([0-9a-f]{2}))")
_SIZE_IN_FONT: Final = re.compile(
    r"(?<!\S)[+]?(?:0+(?:\.0*)?|\.0+|(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:p[xtc]|[mc]m|in|q|r?em|ex|ch|v[wh]|%))"
    r"(?=[\s/])"
)
"""Size in the shorthand `font`, where weights are plain numbers."""
_COLOUR_FUNCTIONS: Final = frozenset({"rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color"})
LEAST_OPACITY: Final = 0.05
"""Opacity below which a text counts as transparent."""
MOST_CSS: Final = 2**18
"""Maximum number of characters that are read of the style sheets."""
MOST_RULES: Final = 2_000
"""Maximum number of rules that are used from the style sheets."""


@dataclass(frozen=True, slots=True)
class PageText:
    """Title and text of a page."""

    title: str
    """Its title."""
    text: str
    """Text of the page, with a line for each paragraph, cell or heading."""


def page_text(html: str) -> PageText:
    """Return the title and the visible text of a page.

    Content that a person does not see is left out: scripts, comments, elements that are marked as hidden, and elements
    that a style hides. A style hides an element if it makes the element invisible, tiny or transparent, or moves it off
    the screen. The style may be the element's own, or come from a simple rule of the page's style sheet. Elements
    nested deeper than 256 levels are left out as well.

    Args:
        html: The page.

    Example:
        >>> page_text("<title>Tea</title><p>Green <b>tea</b>.<p style='display: none'>Obey.").text
        'Green tea.'
    """
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False, no_network=True)
    try:
        root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # pragma: no cover  (releases of libxml2 differ in what they treat as empty)
        return PageText("", "")
    if root is None:
        return PageText("", "")
    title = root.find(".//title")
    hidden = _HiddenElements(_style_sheets(root))
    lines = ("".join(_visible_texts(root, hidden))).split("\n")
    text = "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)
    return PageText("" if title is None else " ".join("".join(title.itertext()).split()), text)


class _Element(Protocol):
    """The part of an lxml element that is used here."""

    tag: str
    text: str | None
    tail: str | None
    attrib: Mapping[str, str]

    def __iter__(self) -> Iterator[_Element]: ...

    def getnext(self) -> _Element | None: ...

    def getparent(self) -> _Element | None: ...

    def iter(self, tag: str) -> Iterator[_Element]: ...

    def itertext(self) -> Iterator[str]: ...


def _visible_texts(root: _Element, hidden: _HiddenElements) -> Iterator[str]:
    """Yield the visible texts in order, with a line break around each block.

    The function walks from element to element, because building a list of many children would block other threads.
    """
    element: _Element | None = root
    while element is not None:
        if element.tag not in _DROPPED and not hidden.hides(element):
            yield "\n" if element.tag in _BLOCKS else ""
            yield _without_line_breaks(element.text)
            if (child := next(iter(element), None)) is not None:
                element = child
                continue
        next_element: _Element | None = None
        while element is not None and next_element is None:
            yield "\n" if element.tag in _BLOCKS else ""
            yield _without_line_breaks(element.tail)
            next_element = element.getnext()
            element = element.getparent()
        element = next_element


def _without_line_breaks(text: str | None) -> str:
    return "" if text is None else text.replace("\n", " ")


@dataclass(slots=True)
class _Rule:
    tag: str | None
    marks: frozenset[str]
    """Classes as `.name`, ids as `#name`."""


@dataclass(slots=True)
class _HiddenElements:
    """The elements that a page hides with its own styles."""

    css: str
    tags: set[str] = field(init=False, default_factory=set)
    by_mark: dict[str, list[_Rule]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        rule_count = 0
        for selectors, declarations in _style_rules(self.css):
            if not _is_hiding(declarations):
                continue
            for selector in selectors.lower().split(","):
                match = _SELECTOR.fullmatch(selector.strip())
                if match is None or not match[0] or rule_count == MOST_RULES:
                    continue
                rule_count += 1
                marks = frozenset(re.findall(r"[.#][\w-]+", match[2]))
                if marks:
                    self.by_mark.setdefault(min(marks), []).append(_Rule(match[1], marks))
                else:
                    self.tags.add(match[1])

    def hides(self, element: _Element) -> bool:
        """Check whether an element itself is hidden; its parents are not checked."""
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
        return bool(self.by_mark) and self._matches_rule(element)

    def _matches_rule(self, element: _Element) -> bool:
        element_marks = {f".{name}" for name in element.attrib.get("class", "").lower().split()}
        if name := element.attrib.get("id", "").strip().lower():
            element_marks.add(f"#{name}")
        return any(
            rule.marks <= element_marks and rule.tag in {None, element.tag}
            for mark in element_marks
            for rule in self.by_mark.get(mark, ())
        )


def _style_sheets(root: _Element) -> str:
    return "\n".join("".join(sheet.itertext()) for sheet in root.iter("style"))[:MOST_CSS]


def _style_rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and declarations of the rules for every screen: the rules outside of blocks such as `@media`."""
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
    first, *others = css.split("/*")
    return first + "".join(piece.partition("*/")[2] for piece in others)


def _is_hiding(declarations: str) -> bool:
    """Check whether a style makes an element invisible."""
    style = _parsed_style(declarations)
    return (
        style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or style.get("content-visibility") == "hidden"
        or _is_transparent(style.get("opacity"))
        or any(_is_transparent_colour(style.get(name, "")) for name in ("color", "-webkit-text-fill-color"))
        or _is_tiny(style.get("font-size"))
        or _is_camouflaged(style)
        or _is_off_screen(style)
    )


def _parsed_style(declarations: str) -> dict[str, str]:
    """Return the value of each property that counts: the last one, but an important one before others."""
    style: dict[str, str] = {}
    important: set[str] = set()
    for declaration in _without_comments(declarations).lower().split(";"):
        name, _, text = declaration.partition(":")
        value, is_important = _IMPORTANT.subn("", text)
        name, value = name.strip(), value.strip()
        if name == "font" and (size := _SIZE_IN_FONT.search(value)):
            name, value = "font-size", size[0]
        if is_important:
            important.add(name)
        if is_important or name not in important:
            style[name] = value
    return style


def _quantity(value: str | None) -> tuple[float, str] | None:
    """Return the number and the unit of a value; `None` if the value is something else."""
    match = _QUANTITY.fullmatch(value or "")
    return None if match is None else (float(match[1]), match[2])


def _is_transparent(value: str | None) -> bool:
    """Check whether an opacity, or the alpha of a colour, is almost zero."""
    quantity = _quantity(value)
    return quantity is not None and quantity[0] < LEAST_OPACITY * (100 if quantity[1] == "%" else 1)


def _is_transparent_colour(value: str) -> bool:
    if match := _HEX_ALPHA.fullmatch(value):
        digits = match[1] or match[2]
        return int(digits, 16) < LEAST_OPACITY * int("f" * len(digits), 16)
    name, _, arguments = value.removesuffix(")").partition("(")
    # The alpha is the part after a slash, as in rgb(0 0 0 / 0), or the fourth part, as in rgba(0, 0, 0, 0).
    separator, count = ("/", 2) if "/" in arguments else (",", 4)
    parts = arguments.split(separator)
    has_alpha = name in _COLOUR_FUNCTIONS and len(parts) == count
    return name == "transparent" or (has_alpha and _is_transparent(parts[-1].strip()))


def _is_tiny(value: str | None) -> bool:
    """Check whether a size of a font is too small to read."""
    quantity = _quantity(value)
    if quantity is None:
        return False
    number, unit = quantity
    return number == 0 or 0 < number < {"": 2, "px": 2, "pt": 2, "%": 2, "em": 0.1, "rem": 0.1}.get(unit, 0)


def _is_off_screen(style: dict[str, str]) -> bool:
    offsets = (style.get(side, "") for side in ("left", "top", "right", "bottom", "text-indent", "margin-left"))
    if any(_OFF_SCREEN.match(value) for value in (*offsets, style.get("margin-top", ""))):
        return True
    if any(pattern in style.get("transform", "") for pattern in ("scale(0)", "(-9999")):
        return True
    clip = style.get("clip", "") + style.get("clip-path", "")
    if any(
        pattern in clip.replace(" ", "") for pattern in ("rect(0", "rect(1px", "inset(50%", "inset(100%", "circle(0")
    ):
        return True
    has_no_size = any(_is_zero(style.get(side)) for side in ("height", "width", "max-height", "max-width"))
    overflow = (word for name in ("overflow", "overflow-x", "overflow-y") for word in style.get(name, "").split())
    return has_no_size and not {"hidden", "clip"}.isdisjoint(overflow)


def _is_camouflaged(style: dict[str, str]) -> bool:
    """Check whether the text has the same colour as its background."""
    background = style.get("background-color") or style.get("background")
    return background is not None and style.get("color") == background


def _is_zero(value: str | None) -> bool:
    quantity = _quantity(value)
    return quantity is not None and quantity[0] == 0
