"""The evidence check: it finds out whether the pages that claims cite contain the quoted words.

Pages are fetched only on request and only from the public web (see `roundtable.http.PublicWeb`), and compared as text.
No model is called, and statements of models do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote_plus

import anyio

from roundtable import report
from roundtable.core.base.text import normal_form
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.base import Timestamp, Value, utc_now
from roundtable.results.evidence_view import evidence_view
from roundtable.scoring.numbers import whole

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from roundtable.analysis.arguments import ArgumentGraph
    from roundtable.http import PublicWeb
    from roundtable.http.pages import Resolver

__all__ = ["CheckedDebate", "EvidenceCheck", "EvidenceReport", "EvidenceStatus", "check_evidence", "has_words"]

EvidenceStatus: TypeAlias = Literal["found", "not found", "not fetched", "no quote"]
"""`found` if the page contains the quoted words; `not found` if its whole text does not contain them; `not fetched` for
the stated reason; `no quote` if there are too few or too many words to look for, or if the address itself contains
them."""

MOST_PAGES: Final = 50
"""Maximum number of pages that one check fetches."""
FEWEST_WORDS: Final = 3
"""Minimum number of words of a quote, because one or two words are found on any page."""
_NUMBER_CHARS: Final = 16
"""Characters around the edge of a quote that may belong to its first or last number."""
_FEWEST_SIGNS: Final = 8
"""Minimum number of letters and digits of a quote, also in scripts without spaces, such as Chinese."""
_MOST_QUOTE_CHARS: Final = 2_000
"""Maximum number of characters of a quote; quotes of agents are cut earlier."""
_CONCURRENCY: Final = 4
_ECHO: Final = "the address itself contains the quoted words"
_ELLIPSIS: Final = re.compile(r" ?(?:\[ ?)?(?:\.{3,}|\u2026)(?: ?\])? ?")
"""Matches an ellipsis, which means any words, in a text whose words are one space apart."""
_SPELLINGS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        "\u2015": "\u2014",
        **dict.fromkeys("\u00ad\u061c\ufeff", None),
        **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)], None),
    }
)
_LIGATURES: Final = {0xFDFA: "\ue000", 0xFDFB: "\ue001"}
"""Signs for which the normal form writes 18 and 8 characters; each is kept as one."""
_MOST_PASSED: Final = 1_000_000
"""Most characters of places within words that are passed over for a part of a quote; no real page has so many."""
_EM_DASH: Final = {0x2014: "-"}
"""A dash joins no words, unlike a hyphen, so it is replaced by a hyphen only after the edges of words are known."""
_SIGNS_BEFORE: Final = re.compile(r"(?:[ \"';:]|[.,](?!\d))*")
"""Signs before a quote that do not count; `.5` and `,5` are numbers."""
_SIGNS_AFTER: Final = " \"'.,;:"
"""Signs after a quote that do not count."""
_NUMBER_BEFORE: Final = re.compile(r"\d[.,'/:\u066b\u066c]\Z|(?:^|[^\w.])\.\Z|(?:^|[^-])-\Z")
"""Text before digits that belongs to the same number: `1,` in `1,500`, `.` in `.5`, `-` in `-5`."""
_NUMBER_AFTER: Final = re.compile(r"[.,'/:\u066b\u066c]\d")
_THOUSANDS: Final = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})* \Z"), re.compile(r"\d{3}(?!\d)")
"""Text before and after the last space of a number such as `12 500`."""
_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0010ffff]")
"""Characters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""


class EvidenceCheck(Value):
    """Result of the check of one source of one claim."""

    claim: str
    """Label of the claim."""
    agent_id: str
    """Id of the agent that made the claim."""
    url: str
    """Address of the page."""
    quote: str | None = None
    """The quoted words."""
    status: EvidenceStatus
    """Whether the page contains the quoted words."""
    reason: str = ""
    """Why the page was not fetched, or why the words could not be looked for."""
    final_url: str | None = None
    """Address of the page that was read, after redirects; `None` if no page was read."""


class EvidenceReport(Value):
    """The result of an evidence check: whether the pages that claims of a debate cite contain the quoted words.

    `print(report)` shows the report in a few lines; notebooks show a table of at most 20 kB.
    """

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    answer: str | None = None
    """The answer of the debate."""
    checks: tuple[EvidenceCheck, ...] = ()
    """One entry for each source of each claim, in the order of the claims."""
    checked_at: Timestamp
    """When the pages were fetched; they may change."""

    def count(self, status: EvidenceStatus) -> int:
        """Return how many sources have this status."""
        return sum(check.status == status for check in self.checks)

    def to_text(self) -> str:
        """Render as plain text."""
        return report.to_text(evidence_view(self))

    def to_markdown(self) -> str:
        """Render as Markdown; text of agents is escaped."""
        return report.to_markdown(evidence_view(self))

    def to_html(self) -> str:
        """Render as an HTML fragment without scripts; text of agents is escaped."""
        return report.to_fragment(evidence_view(self))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return report.render_within(evidence_view(self), report.to_fragment)

    def _repr_markdown_(self) -> str:
        return report.render_within(evidence_view(self), report.to_markdown)


class CheckedDebate(NamedTuple):
    """The debate whose evidence is checked."""

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    answer: str | None
    """The answer."""


@dataclass(frozen=True, slots=True)
class _PageWords:
    """The words that were read at an address, or the reason why there are none."""

    words: str = ""
    url: str | None = None
    is_cut: bool = False
    reason: str = ""


async def check_evidence(
    debate: CheckedDebate,
    graph: ArgumentGraph,
    *,
    allow: Collection[str] = (),
    domains: Collection[str] = (),
    timeout_s: float = 20.0,
    most_pages: int = MOST_PAGES,
    resolver: Resolver | None = None,
) -> EvidenceReport:
    """Fetch the pages that claims cite, and look for the quoted words; see `DebateResult.check_evidence`.

    Args:
        debate: The debate.
        graph: The claims of the debate.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.
        domains: The only domains to open, with their subdomains; any domain if empty.
        timeout_s: Maximum seconds for each page.
        most_pages: Maximum number of pages to fetch.
        resolver: Function that looks up the IP addresses of a host; the system's name service by default.

    Raises:
        ConfigurationError: The extra `fetch` is not installed, or an argument is not valid.
    """
    from roundtable.tools.definition import run_in_thread
    from roundtable.tools.fetch import check_allowed, check_extra

    check_extra("check_evidence")
    for label, hosts in (("allow", allow), ("domains", domains)):
        if isinstance(hosts, str) or not all(isinstance(host, str) for host in hosts):
            raise ConfigurationError(f"{label} must be a list of hosts, not {hosts!r}")
    check_allowed(allow)
    most_pages = whole(most_pages, "most_pages", 1)
    if not isinstance(timeout_s, int | float) or not timeout_s > 0:
        raise ConfigurationError(f"timeout_s must be a number of seconds above 0, not {timeout_s!r}")
    from roundtable.http import PublicWeb

    urls = [
        *dict.fromkeys(
            source.url
            for claim in graph.claims
            for source in claim.evidence
            if not _why_unusable(source.url, source.quote)
        )
    ]
    pages: dict[str, _PageWords] = {
        url: _PageWords(reason=f"only {counted(most_pages, 'page')} of {len(urls)} may be fetched")
        for url in urls[most_pages:]
    }
    web = PublicWeb(allow=allow, domains=domains, resolver=resolver)
    limiter = anyio.Semaphore(_CONCURRENCY)

    async def fetch(url: str) -> None:
        async with limiter:
            pages[url] = await _read(web, url, timeout_s)

    try:
        async with anyio.create_task_group() as group:
            for url in urls[:most_pages]:
                group.start_soon(fetch, url)
    finally:
        with anyio.CancelScope(shield=True):
            await web.aclose()
    sources = [(claim.id, claim.agent_id, source) for claim in graph.claims for source in claim.evidence]
    # On a thread, because pages may be long, and because others wrote their text and the quotes.
    checks = await run_in_thread(
        lambda: [_check(label, agent_id, source.url, source.quote, pages) for label, agent_id, source in sources]
    )
    return EvidenceReport(**debate._asdict(), checks=tuple(checks), checked_at=utc_now())


async def _read(web: PublicWeb, url: str, timeout_s: float) -> _PageWords:
    """Fetch a page and return its words; if this fails, return the reason."""
    from roundtable.tools.definition import run_in_thread
    from roundtable.tools.fetch import ACCEPTED, read_page

    try:
        page = await web.get(url, timeout_s=timeout_s, accept=ACCEPTED)
        words = await run_in_thread(lambda: _normal(read_page(page).text))
    except RoundtableError as error:
        return _PageWords(reason=error.message)
    except Exception as error:  # noqa: BLE001  (a hostile page must not prevent the check of others)
        return _PageWords(reason=f"the page cannot be read: {type(error).__name__}")
    return _PageWords(words, page.url, page.is_cut)


def _check(claim: str, agent_id: str, url: str, quote: str | None, pages: Mapping[str, _PageWords]) -> EvidenceCheck:
    reason, status, final_url = _why_unusable(url, quote), "no quote", None
    if not reason:
        page = pages[url]
        final_url, reason = page.url, page.reason
        if page.url is None:
            status = "not fetched"
        elif _echoes(page.url, quote or ""):
            reason = _ECHO
        elif _contains(page.words, quote or ""):
            status = "found"
        elif not page.words:
            status, reason = "not fetched", "the page has no text without its scripts"
        elif page.is_cut:
            status, reason = "not fetched", "the page is too long: the words are not in the part that was read"
        else:
            status = "not found"
    return EvidenceCheck.model_validate(
        {
            "claim": claim,
            "agent_id": agent_id,
            "url": url,
            "quote": quote,
            "status": status,
            "reason": reason,
            "final_url": final_url,
        }
    )


def _why_unusable(url: str, quote: str | None) -> str:
    """Return why a quote cannot be looked for; an empty text if it can."""
    if len(quote or "") > _MOST_QUOTE_CHARS:
        return f"more than {_MOST_QUOTE_CHARS} characters are quoted"
    pieces = _pieces(quote or "")
    if not pieces:
        return "no words are quoted"
    if not all(map(_is_telling, pieces)):
        return f"fewer than {FEWEST_WORDS} words are quoted" + (" between ellipses" if len(pieces) > 1 else "")
    return _ECHO if _echoes(url, quote or "") else ""


def _is_telling(piece: str) -> bool:
    """Check whether a quote is long enough that it is not found on just any page."""
    has_spaces = not _WITHOUT_SPACES.search(piece)
    letters = sum(char.isalnum() for char in piece)
    return letters >= _FEWEST_SIGNS and (len(piece.split()) >= FEWEST_WORDS or not has_spaces)


def _echoes(url: str, quote: str) -> bool:
    """Check whether an address contains the quoted words; if so, any page that repeats its address contains them."""
    return has_words(unquote_plus(url), quote)


def has_words(text: str, quote: str) -> bool:
    r"""Check whether a text contains the words of a quote, in this order and without other words between them.

    Capitals, spaces, line breaks, and the forms of quotation marks and dashes make no difference; an ellipsis in the
    quote matches any words.

    Args:
        text: The text of a page.
        quote: The quoted words.

    Example:
        >>> page = "Green tea\u2019s leaves keep\n for a year, if they are dry."
        >>> has_words(page, "green tea's leaves keep ... if they are dry"), has_words(page, "Green tea keeps")
        (True, False)
    """
    return _contains(_normal(text), quote)


def _contains(page: str, quote: str) -> bool:
    """Check the same as `has_words`, for a text whose spelling is already normalised."""
    at = 0
    pieces = _pieces(quote)
    searched = page.translate(_EM_DASH)
    for piece in pieces:
        at = _place_of(piece, page, searched, at)
        if at < 0:
            return False
        at += len(piece)
    return bool(pieces)


def _place_of(piece: str, page: str, searched: str, start: int) -> int:
    """Return where a part of a quote stands as whole words in a page; -1 if it does not."""
    at = start - 1
    for _ in range(max(1_000, _MOST_PASSED // len(piece))):
        at = searched.find(piece, at + 1)
        if at < 0 or not _is_within_word(page, at, at + len(piece)):
            return at
    return -1


def _pieces(quote: str) -> list[str]:
    """Return the parts between the ellipses of a quote that have letters, without punctuation at their edges."""
    parts = (_without_edges(_normal(part)) for part in _ELLIPSIS.split(" ".join(quote.split())))
    return [part for part in parts if any(map(str.isalnum, part))]


def _without_edges(text: str) -> str:
    match = _SIGNS_BEFORE.match(text)
    return text[match.end() if match else 0 :].rstrip(_SIGNS_AFTER).translate(_EM_DASH)


def _is_within_word(page: str, start: int, end: int) -> bool:
    """Check whether a passage begins or ends within a word, a hyphenated word, or a number."""
    before, after = page[max(0, start - _NUMBER_CHARS) : start], page[end : end + _NUMBER_CHARS]
    first, last = page[start], page[end - 1]
    return (
        _joins(before[-1:], first)
        or _joins(last, after[:1])
        or (before[-1:] == "-" and _joins(before[-2:-1], first))
        or (after[:1] == "-" and _joins(last, after[1:2]))
        or _is_within_number(before, page[start:end], after)
    )


def _is_within_number(before: str, passage: str, after: str) -> bool:
    """Check whether a passage begins or ends within a number, such as `1,500`, `.5`, `-5`, `3/4` or `12 500`."""
    thousands, hundreds = _THOUSANDS
    if passage[0].isdecimal():
        if _NUMBER_BEFORE.search(before) or (hundreds.match(passage) and thousands.search(before)):
            return True
    elif passage[0] in ".,-" and passage[1:2].isdecimal() and before[-1:].isalnum():
        return True
    if not passage[-1].isdecimal():
        return False
    is_split = after[:1] == " " and hundreds.match(after[1:]) and thousands.search(f"{passage[-_NUMBER_CHARS:]} ")
    return bool(_NUMBER_AFTER.match(after) or is_split)


def _joins(left: str, right: str) -> bool:
    """Check whether two characters belong to one word, in scripts that have spaces between words."""
    return bool(left and right) and all(char.isalnum() and not _WITHOUT_SPACES.match(char) for char in (left, right))


def _normal(text: str) -> str:
    """Return a text with normalised spelling: different spellings with the same meaning become equal."""
    return " ".join(normal_form(text.translate(_LIGATURES), "NFKC").translate(_SPELLINGS).casefold().split())
