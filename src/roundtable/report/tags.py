"""HTML that cannot be put together wrongly: text is escaped because it is text, and only `tag` makes anything else."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.report.inert import plain, safe_url

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Html", "join", "link", "tag"]

_VOID: Final = frozenset({"br", "circle", "line", "meta", "path", "polyline", "rect"})
_UNQUOTED: Final = {"class_": "class"}


class Html(NamedTuple):
    """Markup made by this module."""

    text: str
    """As it is written into a page."""

    def __html__(self) -> str:
        """Give the text to a template engine, which must not escape it again."""
        return self.text


def escaped(text: str) -> str:
    """Escape any text for an element or a quoted attribute, and drop its control characters."""
    return html.escape(plain(text, lines=True), quote=True)


def tag(name: str, /, *children: str | Html | None, **attributes: str | float | None) -> Html:
    """Make an element.

    Args:
        name: What element; words of ours, never of an agent.
        children: Text, which is escaped, or elements; `None` is left out.
        attributes: As keywords, with `class_` for `class` and low lines for hyphens; `None` is left out.

    Raises:
        ValueError: An attribute could act: a handler, a style, or an address that `link` has not looked at.

    Example:
        >>> tag("p", "a < b", tag("strong", "!"), class_="note").text
        '<p class="note">a &lt; b<strong>!</strong></p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Html(f"<{name}{written}>" if name in {"br", "meta"} else f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children).text}</{name}>")


def join(children: Iterable[str | Html | None], between: str = "") -> Html:
    """Put text and elements one after the other."""
    shown = (child.text if isinstance(child, Html) else escaped(child) for child in children if child is not None)
    return Html(between.join(shown))


def _attribute(key: str, value: str | float) -> str:
    name = _UNQUOTED.get(key) or key.replace("_", "-")
    if name.startswith("on") or name in {"style", "src"} or (name == "href" and not str(value).startswith("#")):
        msg = f"a page has no attribute {name}={value!r}"
        raise ValueError(msg)
    return f' {name}="{escaped(str(value))}"'


def link(url: str, *shown: str | Html) -> Html:
    """Make a link to the web or to mail; of any other address only the text, with a remark.

    Example:
        >>> link("javascript:alert(1)", "Paper").text
        'Paper (unsafe link left out)'
    """
    target = safe_url(url)
    if target is None:
        return join((*shown, " (unsafe link left out)"))
    return Html(f'<a href="{escaped(target)}" rel="noopener noreferrer">{join(shown).text}</a>')
