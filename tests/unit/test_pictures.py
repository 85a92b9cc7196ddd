"""Pictures of a debate: what they draw is what was said; whatever is drawn can be saved."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from matplotlib.figure import Figure
from unit.opinion_kit import CITIES, debated

from roundtable import DebateResult, sync
from roundtable.analysis.movement import Followed
from roundtable.errors import ConfigurationError
from roundtable.testing import scripted_agents

pytestmark = pytest.mark.slow

PICTURES = ("rounds", "opinions", "pairs", "influence", "votes", "confidence", "tokens", "time")
CAPTION = "#444444"


@pytest.fixture(scope="module")
def moved() -> DebateResult:
    return debated(CITIES)


def drawn(result: DebateResult, name: str) -> Any:
    """Draw a picture into a figure of its own, and save it."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = getattr(result.plot, name)(figure.subplots())
    figure.savefig(io.BytesIO(), format="svg")
    return axes


def texts(axes: Any) -> list[str]:
    """Return the texts of a picture, without its caption."""
    return [text.get_text() for text in axes.texts if text.get_color() != CAPTION]


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_has_a_title_and_its_axes(moved: DebateResult, name: str) -> None:
    axes = drawn(moved, name)
    assert axes.get_title()
    assert [text for text in axes.texts if text.get_color() == CAPTION]  # what the picture shows
    assert name in repr(moved.plot)


def test_a_bar_is_as_long_as_its_turn(moved: DebateResult) -> None:
    turns = [turn for record in moved.rounds for turn in record.turns]
    bars = drawn(moved, "time").patches
    assert [bar.get_width() for bar in bars] == pytest.approx([turn.duration_s for turn in turns])
    assert min(bar.get_x() for bar in bars) == 0.0
    with pytest.raises(ConfigurationError, match="no turn to draw"):
        moved.model_copy(update={"rounds": ()}).plot.time()


def test_a_line_changes_its_band_when_an_agent_moves(moved: DebateResult) -> None:
    axes = drawn(moved, "opinions")
    lines = [[*line.get_ydata()] for line in axes.get_lines()]
    # Three lanes for Lisbon, one for Porto, one for Faro.
    assert lines[:3] == [[0.5, 0.5, 0.5], [3.5, 1.5, 1.5], [4.5, 4.5, 2.5]]
    assert math.isnan(lines[3][0])
    assert lines[3][1:] == [3.5, 3.5]
    assert {"A  Lisbon", "B  Porto", "C  Faro", "Ada", "Bo", "Cy", "Dee"} <= {*texts(axes)}


def test_pairs_show_what_is_known(moved: DebateResult) -> None:
    axes = drawn(moved, "pairs")
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["Ada, Bo", "Ada, Cy", "Ada, Dee", "Bo, Cy", "Bo, Dee", "Cy, Dee"]
    shown = [text for text in axes.texts if text.get_color() != CAPTION]
    cells = {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in shown}
    assert (cells[0, 0], cells[0, 1], cells[1, 2]) == ("?", "=", "=")
    assert (2, 0) not in cells  # Dee abstained


def test_influence_comes_from_agents_that_held_the_answer_before(moved: DebateResult) -> None:
    flow = moved.opinion_flow()
    assert flow is not None
    assert flow.followed() == (
        Followed(agent_id="bo", round=2, camp="A", held_by=("ada",)),
        Followed(agent_id="cy", round=3, camp="A", held_by=("ada", "bo")),
    )
    axes = drawn(moved, "influence")
    assert sorted(text for text in texts(axes) if text.isdigit()) == ["2", "3", "3"]
    still = debated({"ada": ["1", "1"], "bo": ["2", "2"]}, seen={})
    assert drawn(still, "influence").get_title() == "Nobody took another's answer"


def test_a_move_to_a_new_answer_follows_nobody() -> None:
    flow = debated({"ada": ["1", "3"], "bo": ["2", "2"]}, seen={}).opinion_flow()
    assert flow is not None
    assert flow.followed() == ()


def test_votes_are_bars_and_rules_on_pairs_a_table(moved: DebateResult) -> None:
    assert [bar.get_width() for bar in drawn(moved, "votes").patches] == [1, 3]
    assert "Head to head" in drawn(voted(), "votes").get_title()


def voted() -> DebateResult:
    answer = {"position": "So.", "choice": "Tea", "confidence": 0.8}
    ballot = {"ranking": ["Tea", "Milk"], "reasoning": "So."}
    with sync.Roundtable(
        scripted_agents({name: [answer, ballot] for name in ("ada", "bo")}), storage="memory://"
    ) as it:
        return it.debate("Which?", rounds=1, vote=True, options=["Tea", "Milk"])


def test_the_table_of_pairs_has_the_figures_of_the_decision() -> None:
    result = voted()
    assert result.decision is not None
    assert texts(drawn(result, "votes")) == ["\u2013", "2", "0", "\u2013"]


def test_confidence_and_tokens_are_those_of_the_turns(moved: DebateResult) -> None:
    offsets = [y for group in drawn(moved, "confidence").collections for _, y in group.get_offsets()]
    assert offsets == pytest.approx([0.5] * 11)
    heights = [bar.get_height() for bar in drawn(moved, "tokens").patches]
    assert sum(heights) == moved.usage.total_tokens


@pytest.mark.slow
def test_formulas_and_long_names_stay_text() -> None:
    result = debated({"ada": ["$x^{2$ " + "long " * 30], "bo": ["$\\frac$"]}, seen={})
    for name in ("opinions", "pairs", "influence", "votes", "confidence", "tokens"):
        drawn(result, name)


@pytest.mark.slow
def test_an_impossible_picture_is_refused_with_the_possible_ones() -> None:
    assigned = debated(CITIES, mode="devils-advocate", rounds=2)
    for name in ("opinions", "pairs", "influence", "confidence"):
        with pytest.raises(ConfigurationError, match="no opinions to draw") as refused:
            drawn(assigned, name)
        assert "plot.rounds()" in (refused.value.hint or "")
    drawn(assigned, "tokens")
    many = debated({f"a{number:02d}": [f"{number}"] for number in range(13)}, seen={})
    with pytest.raises(ConfigurationError, match="78 pairs of agents are too many"):
        drawn(many, "pairs")
    drawn(many, "opinions")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["opinions", "pairs", "influence", "confidence"])
def test_a_debate_in_which_all_abstain_has_no_opinions_to_draw(name: str) -> None:
    with sync.Roundtable(scripted_agents({"ada": "ABSTAIN", "bo": "ABSTAIN"}), storage="memory://") as table:
        result = table.debate("Tea?", rounds=2)
    with pytest.raises(ConfigurationError, match="all agents abstained"):
        drawn(result, name)


@pytest.mark.filterwarnings("error")
def test_a_single_agent_has_no_pairs_to_draw() -> None:
    with sync.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as table:
        result = table.debate("Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match="only one agent answered"):
        drawn(result, "pairs")
