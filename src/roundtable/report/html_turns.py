"""The rounds of a report as HTML: the last round is open, and the reasons of each turn are folded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, assert_never

from roundtable.report.charts import HUES
from roundtable.report.html_builder import Html, inline, join, link, prose, tag
from roundtable.report.sanitize import plain, unmarked
from roundtable.report.view import initials, percent, short_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.report.changes import ChangeView, Piece
    from roundtable.report.view import ReportView, RoundView, SpeakerView

__all__ = ["camp_anchors", "camp_mark", "round_parts", "speaker_parts"]

_CHIP_CHARS: Final = 80
"""Maximum characters of a short answer beside a name."""
_EXCERPT_CHARS: Final = 100
"""Characters of folded reasons that stay visible: about a line."""
_FOLDED_CHARS: Final = 360
"""Maximum characters of reasons and sources that are not folded; a source counts as 60 characters."""
_POSITION_CHARS: Final = 200
"""Maximum characters of a position that is always fully visible: about two lines."""


def _with_anchors(round_view: RoundView) -> Iterator[tuple[SpeakerView, str]]:
    """Yield the turns of a round, each with its id on the page."""
    turns_of_seat: Counter[int] = Counter()
    for speaker in round_view.speakers:
        again = turns_of_seat[speaker.seat]
        turns_of_seat[speaker.seat] += 1
        yield speaker, f"r{round_view.number}s{speaker.seat}" + (f"t{again}" if again else "")


def camp_anchors(round_view: RoundView) -> dict[int, str]:
    """Return, for each seat, the id of the turn in this round that shows the agent's camp."""
    return {speaker.seat: anchor for speaker, anchor in _with_anchors(round_view) if speaker.camp}


def camp_mark(label: str, hue: int) -> Html:
    """Create the mark of a camp: its letter in its colour."""
    return tag("span", label, class_=f"camp s{hue % HUES}")


def round_parts(round_view: RoundView, view: ReportView, *, opened: bool) -> Iterator[str]:
    """Render a round, turn by turn.

    Args:
        round_view: The round.
        view: The report that contains it.
        opened: Whether it is shown unfolded.
    """
    level = f" \u00b7 agreement {round_view.shown_level}" if round_view.shown_level else ""
    state = "" if round_view.complete else " \u00b7 not completed"
    title = tag("summary", f"Round {round_view.number}", tag("span", f"{level}{state}", class_="soft"))
    is_open = ' open=""' if opened else ""
    yield f'<details id="round-{round_view.number}"{is_open}>{title.text}<div class="held">'
    if round_view.focus:
        yield tag("p", tag("strong", "Focus: "), inline(round_view.focus), dir="auto").text
    if round_view.summary:
        yield tag("p", inline(round_view.summary), class_="soft", dir="auto").text
    hues = {camp.label: number for number, camp in enumerate(view.camps)}
    for speaker, anchor in _with_anchors(round_view):
        won = view.answer is not None and speaker.choice == view.answer
        yield join(speaker_parts(speaker, won=won, anchor=anchor, hue=hues.get(speaker.camp, 0))).text
    yield "</div></details>\n"


def speaker_parts(speaker: SpeakerView, *, won: bool, anchor: str | None = None, hue: int = 0) -> Iterator[Html]:
    """Render a turn: the agent, the short answer, the position, and the reasons, which are folded if they are long.

    Args:
        speaker: The turn.
        won: Whether the choice of the turn is the answer of the debate.
        anchor: Id of the turn on the page.
        hue: Colour of its camp.
    """
    header = [
        tag("span", initials(speaker.name), class_=f"seat s{speaker.seat % HUES}", aria_hidden="true"),
        tag("h3", speaker.name, dir="auto"),
    ]
    if speaker.role != "participant":
        header.append(tag("span", speaker.role, class_="chip"))
    if speaker.camp:
        header.append(camp_mark(speaker.camp, hue))
    if speaker.choice:
        choice = short_name(unmarked(speaker.choice), _CHIP_CHARS)
        header.append(tag("span", choice, class_="chip won" if won else "chip", dir="auto"))
    if speaker.confidence is not None:
        header.append(tag("span", f"{percent(speaker.confidence)} confident", class_="soft small"))
    if speaker.error is not None:
        header.append(tag("span", "failed", class_="chip bad"))
    if speaker.change is not None:
        header.append(tag("span", f"{speaker.change.summary}.", class_="soft small", dir="auto"))
    body: list[Html] = [tag("div", *header, class_="who")]
    if speaker.error is not None:
        body.append(tag("p", speaker.error, dir="auto"))
    else:
        body += _answer(speaker)
    yield tag("article", *body, id=anchor)


def _answer(speaker: SpeakerView) -> Iterator[Html]:
    position = plain(speaker.position)
    is_long = len(position) > _POSITION_CHARS
    if position:
        shown = f"{unmarked(position)[:_POSITION_CHARS]}\u2026" if is_long else inline(position)
        yield tag("p", shown, class_="position", dir="auto")
    whole = [tag("p", inline(position), class_="position", dir="auto")] if is_long else []
    change = [] if speaker.change is None else list(_change(speaker.change))
    folded = [*whole, *_reasons(speaker), *change]
    if not folded:
        return
    reasons = plain(unmarked(speaker.reasoning))
    is_short = len(reasons) + 60 * len(speaker.sources) <= _FOLDED_CHARS and reasons.count("\n") < 3
    if is_short and not is_long and not change:
        yield from folded
        return
    excerpt = reasons if len(reasons) <= _EXCERPT_CHARS else f"{reasons[:_EXCERPT_CHARS].rsplit(' ', 1)[0]}\u2026"
    summary = tag(
        "summary",
        tag("span", excerpt, " ", class_="excerpt", dir="auto"),
        tag("span", "Reasons", class_="more"),
    )
    yield tag("details", summary, *folded, class_="rest")


def _reasons(speaker: SpeakerView) -> Iterator[Html]:
    if speaker.reasoning:
        yield tag("div", *prose(speaker.reasoning), class_="reasons", dir="auto")
    if speaker.sources:
        yield tag("ul", *(tag("li", link(url, title or url)) for title, url in speaker.sources), class_="cited")
    if speaker.tools:
        yield tag("p", f"Tools used: {', '.join(speaker.tools)}", class_="soft small")
    for note in speaker.notes:
        yield tag("p", f"Note: {note}", class_="soft small")
    if speaker.reading:
        shown = tag("p", speaker.reading, dir="auto")
        yield tag("details", tag("summary", "How this answer was read"), shown, class_="soft small")


def _change(change: ChangeView) -> Iterator[Html]:
    if change.position:
        yield tag("p", "The position, with what is new and what is gone:", class_="soft small")
        yield tag("p", join(map(_piece, change.position), " "), class_="small", dir="auto")
    if change.sentences:
        yield tag("p", "New in the reasons:", class_="soft small")
        yield tag("ul", *(tag("li", inline(text), dir="auto") for text in change.sentences), class_="small")


def _piece(piece: Piece) -> Html:
    kind, words = piece
    match kind:
        case "same":
            return join((words,))
        case "new":
            return tag("ins", words)
        case "gone":
            return tag("del", words)
        case _:
            assert_never(kind)
