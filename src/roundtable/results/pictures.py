"""Pictures of a debate, drawn with matplotlib: opinions, comparisons, votes, influence, claims, tokens, time."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Final

from roundtable.analysis.arguments import argument_graph
from roundtable.analysis.movement import opinion_flow, pair_verdicts
from roundtable.core.errors import ConfigurationError
from roundtable.results.plots import COLOURS, draw_rounds, legend_below, new_axes, plain_label, write_caption

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

    from roundtable.analysis.arguments import ArgumentClaim
    from roundtable.analysis.movement import OpinionFlow
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import RoundRecord

__all__ = ["ResultPictures"]

_NAME_CHARS: Final = 24
_NUMBER_PLACE: Final = 0.7
"""Position of the number of a round along its arrow, from 0 (start) to 1 (head)."""
_ANSWER_CHARS: Final = 32
_MOST_PAIRS: Final = 66
"""Maximum number of pairs of agents in one picture: the pairs of twelve agents."""
_DROPPED: Final = "#c1121f"
_CLAIM_MARKS: Final = (
    ("answered", "#555555", "another agent answered"),
    ("unanswered", "#ffffff", "no other agent answered"),
    ("last", "#cccccc", "no other agent spoke after it"),
)
"""State of a claim, the colour of its dot, and the meaning of the state."""
_SAME, _DIFFERENT, _UNKNOWN = "same", "different", "not compared"


class ResultPictures:
    """Draws a debate; each method draws one picture and returns its axes (extra `plot`).

    Args:
        rounds: The rounds.
        agents: The agents that took part.
        title: Title of the picture of the rounds.
        independent: Lower and upper bound of the agreement before the debate; `None` if it was not measured.
        decision: The decision.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> agents = scripted_agents({"ada": ["Tea", "Tea"], "bo": ["Milk", "Tea"], "cy": ["Tea", "Tea"]})
        >>> with sync.Roundtable(agents, storage="memory://") as table:
        ...     result = table.debate("Tea or milk?", rounds=2, options=["Tea", "Milk"])
        >>> axes = result.plot.opinions(Figure().subplots())
        >>> axes.get_title()
        'Who held which answer'
    """

    def __init__(
        self,
        rounds: Sequence[RoundRecord],
        agents: Sequence[AgentConfig],
        *,
        title: str,
        independent: tuple[float | None, float | None] = (None, None),
        decision: Decision | None = None,
    ) -> None:
        self._rounds = rounds
        self._complete = [record for record in rounds if record.complete]
        self._agents = agents
        self._title = title
        self._independent = independent
        self._decision = decision
        self._names = {agent.id: plain_label(agent.name, _NAME_CHARS) for agent in agents}

    def __repr__(self) -> str:
        return "ResultPictures(rounds, opinions, pairs, influence, arguments, votes, confidence, tokens, time)"

    def __call__(self, ax: Axes | None = None) -> Axes:
        """Draw agreement and each agent's confidence, round by round, as `rounds` does."""
        return self.rounds(ax)

    def rounds(self, ax: Axes | None = None) -> Axes:
        """Draw agreement and each agent's confidence, round by round.

        A line has a gap where a turn failed. The legend is below the axes.

        Args:
            ax: Axes to draw on; a new figure if omitted. In your own figure, `layout="constrained"` makes room for the
                legend.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        least, most = self._independent
        return draw_rounds(
            self._rounds,
            self._agents,
            title=self._title,
            independent_agreement=least,
            independent_at_most=most,
            ax=ax,
        )

    def opinions(self, ax: Axes | None = None) -> Axes:
        """Draw who held which answer in each round: a band for each answer, a line for each agent.

        A line that changes its band shows a move; a gap in a line shows that the agent gave no answer.
        `result.opinion_flow().to_records()` returns the same data as a table.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed; or sides were assigned or all agents abstained, so there
                are no moves.
        """
        flow = self._flow()
        bands, heights = _bands(flow)
        ax = ax or new_axes(1.6 + 0.32 * sum(heights.values()))
        camp_of = {(opinion.agent_id, opinion.round): opinion.camp for opinion in flow.opinions}
        lanes = _lanes(flow, bands)
        for number, camp in enumerate(flow.camps):
            low, colour = bands[camp.label], _colour(number)
            ax.axhspan(low, low + heights[camp.label], color=colour, alpha=0.15, linewidth=0)
            ax.text(
                flow.rounds[0] - 0.45,
                low + heights[camp.label] / 2,
                f"{camp.label}  {plain_label(camp.name, _ANSWER_CHARS)}",
                va="center",
                ha="right",
                fontsize="small",
            )
        colours = {camp.label: _colour(number) for number, camp in enumerate(flow.camps)}
        for agent in self._speakers(flow):
            ys = [lanes.get((agent, number), math.nan) for number in flow.rounds]
            ax.plot(flow.rounds, ys, color="#555555", linewidth=1.2, zorder=2)
            known = [(x, y) for x, y in zip(flow.rounds, ys, strict=True) if not math.isnan(y)]
            dots = [colours[camp_of[agent, x] or ""] for x, _ in known]
            ax.scatter([x for x, _ in known], [y for _, y in known], c=dots, s=36, zorder=3, edgecolors="#333333")
            if known:
                x, y = known[-1]
                ax.annotate(
                    self._names[agent], (x, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize="small"
                )
        ax.set(
            xlabel="round",
            xticks=list(flow.rounds),
            yticks=[],
            xlim=(flow.rounds[0] - 0.4, flow.rounds[-1] + 0.6),
            ylim=(sum(heights.values()), 0),
        )
        return write_caption(
            ax,
            "Who held which answer",
            "a band for each answer, a line for each agent; a line that changes its band shows a move",
        )

    def pairs(self, ax: Axes | None = None) -> Axes:
        """Draw, for each pair of agents and each round, whether their answers say the same, as far as known.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, sides were assigned, all agents abstained, or fewer than
                two or more than twelve agents answered.
        """
        flow = self._flow()
        agents = self._speakers(flow)
        pairs = [*combinations(agents, 2)]
        if not pairs:
            raise ConfigurationError("there are no pairs of agents to draw: only one agent answered")
        if len(pairs) > _MOST_PAIRS:
            raise ConfigurationError(
                f"{len(pairs)} pairs of agents are too many for one picture; at most {_MOST_PAIRS}"
            )
        ax = ax or new_axes(1.2 + 0.3 * len(pairs))
        kinds = {_SAME: COLOURS[0], _DIFFERENT: COLOURS[1], _UNKNOWN: "#dddddd"}
        verdicts = self._verdicts(flow)
        for row, (first, second) in enumerate(pairs):
            for column, number in enumerate(flow.rounds):
                verdict = verdicts.get((number, frozenset((first, second))))
                if verdict is not None:
                    ax.add_patch(_cell(column, row, kinds[verdict]))
                    mark = {_SAME: "=", _DIFFERENT: "\u2260", _UNKNOWN: "?"}[verdict]
                    colour = "white" if verdict == _SAME else "black"
                    ax.text(column + 0.5, row + 0.5, mark, ha="center", va="center", color=colour)
        ax.set(
            xlim=(0, len(flow.rounds)),
            ylim=(len(pairs), 0),
            xticks=[column + 0.5 for column in range(len(flow.rounds))],
            xticklabels=[f"{number}" for number in flow.rounds],
            yticks=[row + 0.5 for row in range(len(pairs))],
            yticklabels=[f"{self._names[first]}, {self._names[second]}" for first, second in pairs],
            xlabel="round",
        )
        return write_caption(
            ax,
            "Agreement by pair and round",
            "= their answers say the same, \u2260 they differ, ? nobody compared them; empty: no answer",
        )

    def influence(self, ax: Axes | None = None) -> Axes:
        """Draw who took whose answer: arrows from its holders in the round before to the agent that moved to it.

        `result.opinion_flow().followed()` returns the same data as a table. It is not known whether an agent moved
        because of another agent.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, sides were assigned, or all agents abstained.
        """
        flow = self._flow()
        agents = self._speakers(flow)
        ax = ax or new_axes(4.6)
        angles = [2 * math.pi * index / len(agents) for index in range(len(agents))]
        places = {agent: (math.sin(angle), math.cos(angle)) for agent, angle in zip(agents, angles, strict=True)}
        rounds_by_pair: dict[tuple[str, str], list[str]] = {}
        for followed in flow.followed():
            for source in followed.held_by:
                rounds_by_pair.setdefault((source, followed.agent_id), []).append(f"{followed.round}")
        for (source, agent), numbers in rounds_by_pair.items():
            arrow = {"arrowstyle": "-|>", "color": "#555555", "shrinkA": 16, "shrinkB": 16, "linewidth": len(numbers)}
            arrow["connectionstyle"] = "arc3,rad=0.12"
            ax.annotate("", xy=places[agent], xytext=places[source], arrowprops=arrow)
            (x, y), (u, v) = places[source], places[agent]
            # Near the head of the arrow: in the middle, the numbers of crossing arrows would overlap.
            ax.text(
                (1 - _NUMBER_PLACE) * x + _NUMBER_PLACE * u,
                (1 - _NUMBER_PLACE) * y + _NUMBER_PLACE * v,
                ", ".join(numbers),
                fontsize="small",
                ha="center",
                bbox={"boxstyle": "round,pad=0.1", "color": "white", "alpha": 0.7},
            )
        last = {opinion.agent_id: opinion.camp for opinion in flow.opinions}
        colours = {camp.label: _colour(number) for number, camp in enumerate(flow.camps)}
        for agent, (x, y) in places.items():
            camp = last[agent]
            ax.scatter([x], [y], s=420, color=colours.get(camp or "", "#ffffff"), edgecolors="#333333", zorder=3)
            ax.text(x, y, camp or "\u2013", ha="center", va="center", zorder=4)
            align = "center" if abs(x) < 0.3 else "left" if x > 0 else "right"
            ax.text(1.22 * x, 1.22 * y, self._names[agent], ha=align, va="center", fontsize="small")
        ax.set(xlim=(-1.9, 1.9), ylim=(-1.4, 1.4), xticks=[], yticks=[])
        ax.set_aspect("equal")
        for side in ax.spines.values():
            side.set_visible(False)
        return write_caption(
            ax,
            "Who took whose answer" if rounds_by_pair else "Nobody took another's answer",
            "arrows: from an answer's holder to the agent that adopted it, with the round; letters: last answers",
        )

    def arguments(self, ax: Axes | None = None) -> Axes:
        """Draw the claims: a column for each round, a band for each agent, an arrow from a claim to an earlier one.

        `result.argument_graph().to_records()` returns the same data as a table.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or no answer has claims.
        """
        graph = argument_graph(self._rounds)
        if not graph.claims:
            msg = "there are no claims to draw"
            raise ConfigurationError(msg, hint="Run the debate with claims=True.")
        agents = [agent for agent in self._names if any(claim.agent_id == agent for claim in graph.claims)]
        agents += dict.fromkeys(claim.agent_id for claim in graph.claims if claim.agent_id not in self._names)
        numbers = [*dict.fromkeys(claim.round for claim in graph.claims)]
        ax = ax or new_axes(1.8 + 0.75 * len(agents), min(max(2 + 1.8 * len(numbers), 6.4), 16))
        places = _claim_places(graph.claims, agents)
        authors = {claim.id: claim.agent_id for claim in graph.claims}
        for number, (kind, style) in enumerate((("supports", "solid"), ("attacks", "dashed"))):
            for edge in graph.edges:
                if edge.kind == kind:
                    arrow = {"arrowstyle": "-|>", "color": _colour(number), "linestyle": style, "linewidth": 0.9}
                    alpha = 0.3 if authors[edge.source] == authors[edge.target] else 0.75
                    arrow |= {"shrinkA": 5, "shrinkB": 6, "alpha": alpha, "connectionstyle": "arc3,rad=0.12"}
                    ax.annotate("", xy=places[edge.target], xytext=places[edge.source], arrowprops=arrow, zorder=2)
            ax.plot([], [], color=_colour(number), linestyle=style, label=kind)
        for state, colour, label in _CLAIM_MARKS:
            xs, ys = _points(places[claim.id] for claim in graph.claims if claim.state == state)
            if xs:
                # A white rim separates the dot from arrows that pass behind it.
                ax.scatter(xs, ys, s=110, color="#ffffff", zorder=2.4)
                ax.scatter(xs, ys, s=38, color=colour, edgecolors="#333333", zorder=3, label=label)
        xs, ys = _points(places[claim.id] for claim in graph.dropped)
        if xs:
            # Behind the dots, so that the state of the claim stays visible.
            ax.scatter(
                xs, ys, s=110, marker="x", color=_DROPPED, zorder=2.5, label="dropped by its agent without a reason"
            )
        for row in range(1, len(agents)):
            ax.axhline(row, color="#dddddd", linewidth=0.8, zorder=0)
        ax.set_yticks(
            [row + 0.5 for row in range(len(agents))],
            [self._names.get(agent, plain_label(agent, _NAME_CHARS)) for agent in agents],
        )
        ax.set(xlabel="round", xticks=numbers, xlim=(numbers[0] - 0.5, numbers[-1] + 0.5), ylim=(len(agents), 0))
        legend_below(ax, ncols=3)
        return write_caption(
            ax,
            "Claims and what they refer to",
            "dots: claims, in the order of the answer; arrows: to earlier claims, pale if the claim is the agent's own",
        )

    def votes(self, ax: Axes | None = None) -> Axes:
        """Draw the score of each option under the decision rule; for rules that compare pairs, draw the table of pairs.

        `result.decision.scores` and `result.decision.pairwise` contain the same data.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or there is no decision.
        """
        decision = self._decision
        if decision is None or not decision.scores:
            raise ConfigurationError("there is no decision to draw")
        if decision.pairwise:
            return self._pairwise(decision.pairwise, decision.rule, ax)
        ranked = sorted(decision.scores.items(), key=lambda entry: (entry[1], entry[0]))
        ax = ax or new_axes(1.2 + 0.4 * len(ranked))
        chosen = {*decision.winners, *decision.tied}
        bars = ax.barh(
            [plain_label(name, _ANSWER_CHARS) for name, _ in ranked],
            [score for _, score in ranked],
            color=[COLOURS[0] if name in chosen else "#bbbbbb" for name, _ in ranked],
        )
        ax.bar_label(bars, fmt="%g", padding=3)
        ax.margins(x=0.12)
        ax.set(xlabel=f"score by the rule {decision.rule}")
        return write_caption(
            ax, "What the rule counted", f"{decision.why.rstrip('.')}; blue: the winner, or the tied options"
        )

    def _pairwise(self, pairs: Mapping[str, Mapping[str, float]], rule: str, ax: Axes | None) -> Axes:
        names = [*pairs]
        ax = ax or new_axes(1.4 + 0.4 * len(names))
        for row, name in enumerate(names):
            for column, other in enumerate(names):
                won = 0.0 if name == other else pairs[name].get(other, 0.0) - pairs[other].get(name, 0.0)
                colour = "#eeeeee" if name == other else COLOURS[0] if won > 0 else "#ffffff"
                ax.add_patch(_cell(column, row, colour))
                text = "\u2013" if name == other else f"{pairs[name].get(other, 0.0):g}"
                text_colour = "white" if won > 0 else "black"
                ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=text_colour)
        numbers = [f"{number}" for number in range(1, len(names) + 1)]
        ax.set(
            xlim=(0, len(names)),
            ylim=(len(names), 0),
            xticks=[column + 0.5 for column in range(len(names))],
            xticklabels=numbers,
            yticks=[row + 0.5 for row in range(len(names))],
            yticklabels=[
                f"{number}. {plain_label(name, _ANSWER_CHARS)}" for number, name in zip(numbers, names, strict=True)
            ],
            xlabel="number of the option in the column",
        )
        return write_caption(
            ax, f"Head to head, rule {rule}", "ballots that put the row above the column; filled: the row wins"
        )

    def confidence(self, ax: Axes | None = None) -> Axes:
        """Draw the reported confidence of each answer, by round, in the colour of its camp.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, sides were assigned, or all agents abstained.
        """
        flow = self._flow()
        ax = ax or new_axes(3.6)
        agents = self._speakers(flow)
        width = 0.5 / max(1, len(agents) - 1)
        for number, camp in enumerate(flow.camps):
            points = [
                (opinion.round + width * (agents.index(opinion.agent_id) - (len(agents) - 1) / 2), opinion.confidence)
                for opinion in flow.opinions
                if opinion.camp == camp.label and opinion.confidence is not None
            ]
            if points:
                ax.scatter(
                    [column for column, _ in points],
                    [confidence for _, confidence in points],
                    color=_colour(number),
                    marker=f"${camp.label}$",
                    s=70,
                    label=plain_label(camp.name, _ANSWER_CHARS),
                )
        ax.set(xlabel="round; within a round, agents from left to right", ylabel="reported confidence (0 to 1)")
        ax.set(ylim=(-0.05, 1.05), xticks=list(flow.rounds))
        if not ax.collections:
            return write_caption(ax, "Confidence by round and answer", "no answer states a confidence")
        legend_below(ax, ncols=2)
        return write_caption(
            ax, "Confidence by round and answer", "a letter for each agent's answer; the same letter: the same answer"
        )

    def tokens(self, ax: Axes | None = None) -> Axes:
        """Draw the tokens of each agent by round: prompts and answers together, including failed turns.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        ax = ax or new_axes(3.6)
        numbers = [record.number for record in self._rounds]
        bottom = [0] * len(numbers)
        for index, agent in enumerate(self._agents):
            used = [
                sum(
                    (turn.usage if turn.outcome == "failed" else turn.result.usage).total_tokens
                    for turn in record.turns
                    if turn.agent_id == agent.id
                )
                for record in self._rounds
            ]
            ax.bar(
                numbers,
                used,
                bottom=bottom,
                color=_colour(index),
                edgecolor="white",
                hatch="" if index < len(COLOURS) else "//",
                label=self._names[agent.id],
            )
            bottom = [before + more for before, more in zip(bottom, used, strict=True)]
        ax.set(xlabel="round", ylabel="tokens, in and out", xticks=numbers)
        legend_below(ax, ncols=3)
        return write_caption(ax, "Tokens by round and agent", "prompts and answers together, failed turns included")

    def time(self, ax: Axes | None = None) -> Axes:
        """Draw when each turn ran: a bar from its start to its end, a row for each agent. Failed turns are hatched.

        The column `durationS` of `result.to_frame()` contains the durations.

        Args:
            ax: Axes to draw on; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or there is no turn.
        """
        turns = [turn for record in self._rounds for turn in record.turns]
        if not turns:
            raise ConfigurationError("there is no turn to draw")
        names = {agent.id: self._names[agent.id] for agent in self._agents}
        names |= {turn.agent_id: turn.agent_id for turn in turns if turn.agent_id not in names}
        rows = [*names]
        ends = [turn.timestamp.timestamp() for turn in turns]
        begun = min(end - turn.duration_s for turn, end in zip(turns, ends, strict=True))
        ax = ax or new_axes(1.9 + 0.35 * len(rows))
        labelled: set[int] = set()
        for turn, end in zip(turns, ends, strict=True):
            ax.barh(
                [rows.index(turn.agent_id)],
                [turn.duration_s],
                left=[end - turn.duration_s - begun],
                height=0.6,
                color=_colour(turn.round - 1),
                edgecolor="white",
                hatch="//" if turn.outcome == "failed" else "",
                label=f"_{turn.round}" if turn.round in labelled else f"round {turn.round}",
            )
            labelled.add(turn.round)
        ax.set_yticks(range(len(rows)), [plain_label(names[agent], _NAME_CHARS) for agent in rows])
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlabel="seconds since the first turn began")
        legend_below(ax, ncols=4)
        return write_caption(ax, "Time of each turn", "a bar for each turn, by agent; hatched: the turn failed")

    def _flow(self) -> OpinionFlow:
        flow = opinion_flow(self._complete)
        if flow is None or all(opinion.camp is None for opinion in flow.opinions):
            msg = "there are no opinions to draw: sides were assigned, no round was completed, or all agents abstained"
            raise ConfigurationError(msg, hint="`plot.rounds()` and `plot.tokens()` draw every debate.")
        return flow

    def _speakers(self, flow: OpinionFlow) -> list[str]:
        spoke = {opinion.agent_id for opinion in flow.opinions}
        return [agent for agent in self._names if agent in spoke]

    def _verdicts(self, flow: OpinionFlow) -> dict[tuple[int, frozenset[str]], str]:
        """Return, for each two answers of a round, whether they say the same."""
        known = pair_verdicts(self._complete)
        answered = {(opinion.round, opinion.agent_id) for opinion in flow.opinions if opinion.camp is not None}
        return {
            (number, frozenset(pair)): known.get((number, frozenset(pair)), _UNKNOWN)
            for number in flow.rounds
            for pair in combinations(self._speakers(flow), 2)
            if all((number, agent) in answered for agent in pair)
        }


def _points(places: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    points = [*places]
    return [x for x, _ in points], [y for _, y in points]


def _claim_places(claims: Sequence[ArgumentClaim], agents: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the position of each claim: at its round, one below the other within the band of its agent."""
    by_cell: dict[tuple[int, str], list[str]] = {}
    for claim in claims:
        by_cell.setdefault((claim.round, claim.agent_id), []).append(claim.id)
    rows = {agent: row for row, agent in enumerate(agents)}
    places: dict[str, tuple[float, float]] = {}
    for (number, agent), labels in by_cell.items():
        for index, label in enumerate(labels):
            # A slight slant keeps arrows from running through the other claims of an answer.
            slant = 0.36 * ((index + 0.5) / len(labels) - 0.5)
            places[label] = (number + slant, rows[agent] + (index + 1) / (len(labels) + 1))
    return places


def _bands(flow: OpinionFlow) -> tuple[dict[str, float], dict[str, float]]:
    """Return the lower edge and the height of each camp's band; it has room for the camp's largest round."""
    heights = {camp.label: float(max(camp.holders)) for camp in flow.camps}
    edges: dict[str, float] = {}
    edge = 0.0
    for label, height in heights.items():
        edges[label] = edge
        edge += height
    return edges, heights


def _lanes(flow: OpinionFlow, bands: Mapping[str, float]) -> dict[tuple[str, int], float]:
    """Return the vertical position of each agent in each round, within the band of its camp."""
    lanes: dict[tuple[str, int], float] = {}
    lane_counts: dict[tuple[str, int], int] = {}
    for opinion in flow.opinions:
        if opinion.camp is not None:
            lane = lane_counts.get((opinion.camp, opinion.round), 0)
            lane_counts[opinion.camp, opinion.round] = lane + 1
            lanes[opinion.agent_id, opinion.round] = bands[opinion.camp] + lane + 0.5
    return lanes


def _cell(column: int, row: int, colour: str) -> Rectangle:
    from matplotlib import patches

    return patches.Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white")


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
