"""Results as data frames and figures: the one place that imports pandas and matplotlib."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from pandas import DataFrame

    from roundtable.result import DebateResult
    from roundtable.types import JsonObject

__all__ = ["draw_debate", "frame_of"]


def frame_of(rows: Sequence[JsonObject], columns: Sequence[str]) -> DataFrame:
    """Give rows as a data frame with these columns, in this order.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise _missing("to_frame() needs pandas", "frames", error) from error
    return pd.DataFrame(rows, columns=[*columns])


def draw_debate(result: DebateResult, ax: Axes | None = None) -> Axes:
    """Draw agreement and each agent's confidence, round by round.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise _missing("plot() needs matplotlib", "plot", error) from error
        _, ax = plt.subplots()
    held = [one for one in result.rounds if one.complete]
    for agent in result.agents:
        sure = {one.number: said.confidence for one in held for said in one.responses if said.agent_id == agent.id}
        ax.plot(
            [*sure], [*sure.values()], marker="o", linewidth=1, alpha=0.7, label=f"confidence of {_words(agent.name)}"
        )
    levels = {one.number: one.consensus.agreement_level for one in held if one.consensus is not None}
    ax.plot([*levels], [*levels.values()], marker="s", linewidth=3, color="black", label="agreement")
    if result.independent_agreement is not None:
        ax.axhline(result.independent_agreement, linestyle=":", color="black", label="agreement before debate")
    ax.set(xlabel="round", ylim=(-0.05, 1.05), xticks=[one.number for one in held])
    ax.set_title(_words(f"{result.mode}: {result.answer if result.answer is not None else 'no answer'}"))
    ax.legend()
    return ax


def _words(text: str) -> str:
    """Shorten a text of an agent, and let no dollar sign in it begin a formula."""
    return textwrap.shorten(text, 60, placeholder="…").replace("$", r"\$")


def _missing(what: str, extra: str, cause: ImportError) -> ConfigurationError:
    return ConfigurationError(what, hint=f"Install it: pip install 'roundtable-sdk[{extra}]'", cause=cause)
