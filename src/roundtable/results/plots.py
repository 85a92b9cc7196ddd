"""Parts of pictures that several modules draw, and the checks for matplotlib."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.debate import RoundRecord

__all__ = [
    "COLOURS",
    "MARKERS",
    "check_plots",
    "colours_of",
    "draw_rounds",
    "legend_below",
    "new_axes",
    "plain_label",
    "save_picture",
    "write_caption",
]

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Colours that colour-blind readers can distinguish (Okabe and Ito, 2008). Shapes and positions show the same
information."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Shapes that distinguish lines without colour."""

_LABEL_CHARS: Final = 60
_PLOT_HEIGHT: Final = 4.0
"""Height of a new figure without its legend, in inches."""
_LEGEND_LINE_HEIGHT: Final = 0.2
"""Height of a line of the legend, in inches."""
_HALF_LEGEND_CHARS: Final = 34
"""Maximum length of an entry of a legend with two columns, in characters."""
_LEGEND_DISTANCE: Final = 5.0
"""Distance of the legend from the axes, in units of its font size; the axis numbers and label need this room."""
_LEGEND_LINES: Final = 3
"""Maximum number of legend lines that are not about an agent."""


def new_axes(height: float, width: float = 6.4) -> Axes:
    """Return the axes of a new figure.

    Args:
        height: Height of the figure in inches.
        width: Width of the figure in inches.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise _missing("plots need matplotlib", "plot", error) from error
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def legend_below(ax: Axes, ncols: int = 1) -> None:
    """Write the legend below the axes, because lines may be anywhere within them."""
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=_LEGEND_DISTANCE, fontsize="small", ncols=ncols
    )


def check_plots() -> None:
    """Check that pictures can be drawn.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise _missing("plots need matplotlib", "plot", error) from error
    del mpl


def save_picture(ax: Axes, *paths: Path) -> None:
    """Save the figure of a picture to files and close it; the suffix of a file determines its format.

    Raises:
        StorageError: A file cannot be written.
    """
    from matplotlib import pyplot as plt

    figure = ax.get_figure(root=True)
    if figure is None:
        return
    try:
        for path in paths:
            figure.savefig(path)
    except OSError as error:
        raise StorageError(f"a picture cannot be written: {error}", cause=error) from error
    finally:
        plt.close(figure)


def write_caption(ax: Axes, title: str, caption: str, *, chars: int = 88) -> Axes:
    """Write a title above a picture, and below the title what the picture shows; return the axes.

    Args:
        ax: The picture.
        title: The title.
        caption: What the picture shows.
        chars: Maximum length of a line of the caption; pass fewer than 88 if labels leave little room for the axes.
    """
    lines = textwrap.wrap(caption.replace("$", r"\$"), chars)
    ax.annotate(
        "\n".join(lines),
        (0.5, 1),
        xycoords="axes fraction",
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize="small",
        color="#444444",
    )
    ax.set_title(plain_label(title, 2 * _LABEL_CHARS), pad=8 + 11 * len(lines))
    return ax


def plain_label(text: str, most: int) -> str:
    """Return a shortened text with escaped dollar signs, which would otherwise start a formula."""
    return textwrap.shorten(text, most, placeholder="\u2026").replace("$", r"\$")


def draw_rounds(
    rounds: Sequence[RoundRecord],
    agents: Sequence[AgentConfig],
    *,
    title: str,
    independent_agreement: float | None = None,
    independent_at_most: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw agreement and each agent's confidence, round by round; a line has a gap where a turn failed.

    Args:
        rounds: The rounds; only complete ones are drawn.
        agents: The agents that took part.
        title: Title of the figure, shortened to 60 characters.
        independent_agreement: Agreement before the debate, drawn as a line.
        independent_at_most: Upper bound of this agreement, for the case that answers that nobody compared say the same;
            if it is higher, the range is shaded.
        ax: Axes to draw on; a new figure when left out.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    labels = [f"confidence of {plain_label(agent.name, _LABEL_CHARS)}" for agent in agents]
    columns = 2 if max(map(len, labels), default=0) <= _HALF_LEGEND_CHARS else 1
    lines = -(-(len(agents) + _LEGEND_LINES) // columns)
    ax = ax or new_axes(_PLOT_HEIGHT + _LEGEND_LINE_HEIGHT * lines)
    complete = [round_record for round_record in rounds if round_record.complete]
    numbers = [round_record.number for round_record in complete]
    for seat, agent in enumerate(agents):
        said = [
            (round_record.number, response.confidence)
            for round_record in complete
            for response in round_record.as_stated.responses
            if response.agent_id == agent.id
        ]
        confidences = {number: confidence for number, confidence in said if confidence is not None}
        if said and not confidences:
            continue  # a line without points would only fill the legend
        ax.plot(
            numbers,
            _with_gaps(confidences, numbers),
            marker=MARKERS[seat % len(MARKERS)],
            color=COLOURS[seat % len(COLOURS)],
            # Colours and markers repeat; a dashed line shows the second agent with the same colour and marker.
            linestyle="-" if seat < len(COLOURS) else "--",
            linewidth=1,
            label=labels[seat],
        )
    _draw_agreement(ax, complete)
    if independent_agreement is not None:
        before = "agreement before the debate"
        if independent_at_most is None or independent_at_most <= independent_agreement:
            ax.axhline(independent_agreement, linestyle=":", color="black", label=before)
        else:
            ax.axhspan(independent_agreement, independent_at_most, color="black", alpha=0.05, label=before)
    ax.set(xlabel="round", ylabel="share, from 0 to 1", ylim=(-0.05, 1.05), xticks=numbers)
    legend_below(ax, columns)
    return write_caption(
        ax,
        textwrap.shorten(title, _LABEL_CHARS, placeholder="\u2026"),
        "agreement of the answers, and confidence of each agent",
    )


def _draw_agreement(ax: Axes, complete: Sequence[RoundRecord]) -> None:
    """Draw agreement as a line, and vertical bars where agreement lies between two values."""
    numbers = [round_record.number for round_record in complete]
    levels = {
        round_record.number: round_record.consensus.agreement_level
        for round_record in complete
        if round_record.consensus is not None and round_record.consensus.answers != 1
    }
    most = {
        round_record.number: round_record.consensus.agreement_at_most
        for round_record in complete
        if round_record.consensus is not None and round_record.consensus.answers != 1
    }
    known = {number: level for number, level in levels.items() if (level, most[number]) != (0, 1)}
    ax.plot(numbers, _with_gaps(known, numbers), marker="s", linewidth=3, color="black", label="agreement")
    unknown = [number for number, level in levels.items() if (level, most[number]) == (0, 1)]
    if unknown:
        # Marks without height, because a bar from 0 to 1 would look like full agreement.
        ax.plot(unknown, [0.5] * len(unknown), marker="$?$", color="black", linestyle="none", label="not measured")
    open_rounds = [number for number, level in levels.items() if most[number] > level and number not in unknown]
    if open_rounds:
        # Bars, not an area, so that a round between two measured rounds and a single round are visible.
        ax.vlines(
            open_rounds,
            [levels[number] for number in open_rounds],
            [most[number] for number in open_rounds],
            color="black",
            alpha=0.25,
            linewidth=8,
            label="agreement if the rest is equal",
        )


def _with_gaps(values: Mapping[int, float], numbers: Sequence[int]) -> list[float]:
    """Return the value of each round; for a missing value NaN, which interrupts the line."""
    return [values.get(number, math.nan) for number in numbers]


def _missing(message: str, extra: str, cause: ImportError) -> ConfigurationError:
    return ConfigurationError(message, hint=f"Install it: pip install 'roundtable-sdk[{extra}]'", cause=cause)


def colours_of(count: int) -> Sequence[str]:
    """Return different colours; more than eight are taken from a colour map."""
    if count <= len(COLOURS):
        return COLOURS
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["turbo"](0.05 + 0.9 * number / (count - 1))) for number in range(count)]
