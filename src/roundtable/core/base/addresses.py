"""Addresses that others wrote, taken apart in a time that grows with their length only."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from roundtable.core.base.text import bounded_marks

__all__ = ["LONGEST_ADDRESS", "site_of", "split_address"]

LONGEST_ADDRESS: Final = 2_048
"""Most characters of an address that is opened, or that has letters beyond ASCII."""


def split_address(url: str) -> SplitResult:
    """Return the parts of an address, as `urllib.parse.urlsplit` does, whatever the address is.

    `urlsplit` normalises a host beyond ASCII, in a time that grows with the square of a run of combining marks, and may
    write 18 characters for one. Therefore, an invisible character ends each run of 30 marks.

    Raises:
        ValueError: The text is not an address, or it has letters beyond ASCII and more than 2,048 characters.

    Example:
        >>> split_address("https://www.example.org/a").hostname
        'www.example.org'
    """
    if len(url) > LONGEST_ADDRESS and not url.isascii():
        raise ValueError(f"the address has more than {LONGEST_ADDRESS} characters")
    return urlsplit(bounded_marks(url))


def site_of(url: str) -> str:
    """Return the host of an address, to be shown where a title is missing; the text itself if it has no host.

    Example:
        >>> site_of("https://www.example.org/a"), site_of("mailto:")
        ('example.org', 'mailto:')
    """
    try:
        return (split_address(url).hostname or url).removeprefix("www.")
    except ValueError:
        return url
