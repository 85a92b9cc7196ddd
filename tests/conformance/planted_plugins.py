"""Wrong plugins, each with the law that it must break; `test_planted_plugins.py` runs each on that law.

This is a test file of a plugin author's kind: pytest collects it by its name, never with the other tests.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import partial
from time import time as clock
from typing import Any, ClassVar

import anyio
from conformance.planting import Planted, anyio_backend, fixture, planter
from conformance.test_modes import FAULTS as MODE_FAULTS
from conformance.test_plugin_faults import (
    Counting,
    FirstHeard,
    Flattering,
    Null,
    Remembering,
    Sound,
    fair,
    first_letter,
    first_listed,
    first_voter,
    led_by,
)

from roundtable.analysis import ConsensusAnalyzer
from roundtable.exits import Exit, MaxRounds
from roundtable.modes import BaseModeStrategy
from roundtable.protocols import ExitRound
from roundtable.scoring import Outcome, Rule, first_places
from roundtable.testing import RecordingObserver
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.observer_suite import ObserverSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.tool_suite import ToolSuite
from roundtable.tools import ToolDefinition
from roundtable.types import (
    AgentResponse,
    AgentTool,
    ConsensusResult,
    DebateContext,
    EndRound,
    Event,
    ExitResult,
    JsonObject,
    Plan,
    Stage,
    ToolResult,
    TurnSpec,
    Usage,
    Visible,
)

__all__ = ["PLANTED", "anyio_backend"]

PLANTED: Planted = []
"""Suite, law and class of each planted plugin."""
plant = planter(globals(), PLANTED)

# ------------------------------------------------------------------ modes


class SmallModeSuite(ModeSuite):
    """Small debates, and little patience."""

    most_agents = 4
    most_rounds = 3
    plan_s = 1.0


def mode(law: str, wrong: type[BaseModeStrategy]) -> None:
    """Plant a mode."""
    plant(SmallModeSuite, law, wrong, mode=fixture(wrong))


class Shuffled(Sound):
    """Asks all agents, in the order of a set."""

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        agents = {seat.id for seat in view.agents}
        turns = [TurnSpec(slot=slot, agent=agent, task="Speak.") for slot, agent in enumerate(agents)]
        return Stage(name="speech", turns=tuple(turns))


class LatestFirst(Sound):
    """Shows earlier positions in the order in which they came in."""

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        shown = {turn.key: turn.timestamp for turn in view.transcript}
        sees = tuple(sorted(self.earlier_positions(view), key=lambda visible: shown[visible.turn]))
        turns = (
            TurnSpec(slot=slot, agent=seat.id, task="Speak.", sees=sees, options=view.options)
            for slot, seat in enumerate(view.agents)
        )
        return Stage(name="speech", turns=tuple(turns))


class Looping(Sound):
    """Never returns a second plan."""

    def next_stage(self, view: DebateContext) -> Plan:
        while self.turns_of_round(view):
            time.sleep(0)
        return super().next_stage(view)


class AsksOnce(Sound):
    """Asks in the first round, and nobody after it."""

    rounds = range(2, 4)

    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound() if view.current_round > 1 else super().next_stage(view)


class Waiting(Sound):
    def task(self) -> str:
        time.sleep(0.15)
        return "Speak."


class Balloting(Sound):
    """Asks for ballots, and does not say what they are for."""

    facts: ClassVar[dict[str, object]] = {}

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        turns = [
            TurnSpec.model_validate(
                {
                    "slot": slot,
                    "agent": seat.id,
                    "task": "Vote.",
                    "answer": "ballot",
                    "options": view.options or ("tea", "milk"),
                    **self.facts,
                }
            )
            for slot, seat in enumerate(view.agents)
        ]
        return Stage(name="poll", turns=tuple(turns))


class DecidesInSecret(Balloting):
    """Decides by a vote, and does not say that it has one."""

    facts: ClassVar[dict[str, object]] = {"counts": "decide"}


class DecidesByRanking(Balloting):
    """Lets rankings decide, which nothing counts."""

    has_own_vote = True
    facts: ClassVar[dict[str, object]] = {"counts": "decide", "answer": "ranking"}


class OffersOther(Balloting):
    """Declares other options of its vote than its ballots offer."""

    has_own_vote = True
    vote_options = ("tea", "water")
    facts: ClassVar[dict[str, object]] = {"counts": "decide"}


class Jury(Sound):
    """Asks the jurors one after the other, and shows each the votes before."""

    has_own_vote = True

    def next_stage(self, view: DebateContext) -> Plan:
        spoken = [
            turn for turn in view.transcript if turn.round == view.current_round and turn.stage.startswith("juror")
        ]
        if len(spoken) == len(view.agents):
            return EndRound()
        turn = TurnSpec(
            slot=0,
            agent=view.agents[len(spoken)].id,
            task="Vote.",
            answer="ballot",
            counts="decide",
            options=view.options or ("tea", "milk"),
            sees=tuple(
                Visible(turn=earlier.key, shown_as="a juror") for earlier in spoken if earlier.outcome == "answered"
            ),
        )
        return Stage(name=f"juror-{len(spoken) + 1}", turns=(turn,))


class ByTheMinute(Sound):
    def task(self) -> str:
        return "Speak now." if time.localtime().tm_min % 2 else "Speak."


class ByTheWeekday(Sound):
    def task(self) -> str:
        return "Speak, it is the weekend." if datetime.now(UTC).weekday() > 4 else "Speak."


class ByTheDate(Sound):
    def task(self) -> str:
        return f"Speak. It is {date.today()}."  # noqa: DTZ011  (the fault itself)


class ByTheHour(Sound):
    def task(self) -> str:
        return "Good morning." if clock() % 86_400 < 43_200 else "Good evening."


class IgnoresTheEnd(Balloting):
    """Votes in the last round alone, whatever ends the debate."""

    has_own_vote = True
    facts: ClassVar[dict[str, object]] = {"counts": "decide"}

    def next_stage(self, view: DebateContext) -> Plan:
        stages = {turn.stage for turn in view.transcript if turn.round == view.current_round}
        if "speech" not in stages:
            return Sound.next_stage(self, view.model_copy(update={"transcript": ()}))
        if view.current_round < view.total_rounds or "poll" in stages:
            return EndRound()
        return super().next_stage(view.model_copy(update={"transcript": ()}))


mode("test_ballots_are_secret", Jury)
mode("test_what_ends_a_debate_also_ends_it_early", IgnoresTheEnd)
for reads_clock in (ByTheMinute, ByTheWeekday, ByTheDate, ByTheHour):
    mode("test_the_plan_is_the_same_at_any_time", reads_clock)
for wrong_mode, broken_law in MODE_FAULTS.items():
    mode(broken_law, wrong_mode)
mode("test_every_round_asks_somebody", AsksOnce)
mode("test_ballots_say_how_they_count", Balloting)
mode("test_ballots_say_how_they_count", DecidesInSecret)
mode("test_ballots_say_how_they_count", DecidesByRanking)
mode("test_ballots_say_how_they_count", OffersOther)
mode("test_every_round_ends", Looping)
mode("test_the_same_transcript_gives_the_same_plan", Waiting)
mode("test_it_does_not_matter_in_which_order_the_turns_of_a_stage_ended", LatestFirst)
mode("test_the_plan_is_the_same_in_every_process", Shuffled)

# ------------------------------------------------------------------ analyzers


def analyzer(law: str, wrong: type[ConsensusAnalyzer], *arguments: object) -> None:
    """Plant an analyzer."""
    plant(AnalyzerSuite, law, wrong, meter=fixture(lambda: wrong(*arguments)))


class Halved(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        return super().analyze(responses).model_copy(update={"agreement_level": 0.5})


class Forgetful(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        result = super().analyze(responses)
        return result.model_copy(update={"clusters": result.clusters[1:]})


class ByTheSecond(ConsensusAnalyzer):
    """Looks at the agent in the second place: the first order and its reverse look alike."""

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        inner = {response.position for response in responses[1:3]}
        changes = {"agreement_level": 0.1} if inner == {"Tea"} and len(responses) == 4 else {}
        return super().analyze(responses).model_copy(update=changes)


class Rewriting(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        for response in responses:
            vars(response)["position"] = response.position.casefold()
        return super().analyze(responses)


class Weary(ConsensusAnalyzer):
    """Agreement falls with each round that it measured."""

    def __init__(self) -> None:
        self.count = itertools.count()

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        level = 0.5 / (1 + next(self.count))
        return super().analyze(responses).model_copy(update={"agreement_level": level})


class Blocking(ConsensusAnalyzer):
    async def measure(self, responses: Any, topic: str, **more: Any) -> Any:
        time.sleep(0.4)  # noqa: ASYNC251  (the fault itself)
        return await super().measure(responses, topic, **more)


class Understated(ConsensusAnalyzer):
    """Calls a model, and states that it calls none."""

    def asks(self, responses: Any, topic: str, *, session_id: str | None = None) -> list[Any]:
        return []

    async def measure(self, responses: Any, topic: str, **more: Any) -> Any:
        measured = await super().measure(responses, topic, **more)
        return measured.model_copy(update={"usage": Usage(calls=1)})


analyzer("test_a_round_is_measured", Null, "summary")
analyzer("test_a_round_is_measured", Understated)
analyzer("test_equal_positions_agree", Halved)
analyzer("test_nobody_is_forgotten_or_named_twice", Forgetful)
analyzer("test_unlike_positions_do_not_agree_fully", Flattering)
analyzer("test_the_order_of_agents_does_not_matter", FirstHeard)
analyzer("test_the_order_of_agents_does_not_matter", ByTheSecond)
analyzer("test_rounds_do_not_disturb_each_other", Remembering)
analyzer("test_the_round_is_left_as_it_was", Rewriting)
analyzer("test_the_same_round_is_measured_alike", Weary)
analyzer("test_it_lets_other_debates_run", Blocking)

# ------------------------------------------------------------------ tools

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Weather(ToolSuite):
    """Little patience."""

    good_input: ClassVar[JsonObject] = {"city": "Oslo"}
    limit_s = 1.0


def answer(given: Any) -> str:
    return "blue" if isinstance(given.get("city"), str) else "grey"


def tool(law: str, name: str, make: Callable[[], object]) -> None:
    """Plant a tool."""
    plant(Weather, law, name, tool=fixture(make))


class Handmade:
    """A tool without fault that needs no library; each wrong one overrides one thing."""

    definition = AgentTool(name="weather", description="Tells the weather.", parameters=CITY)

    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data=answer(tool_input))


class ReturnsText(Handmade):
    async def run(self, tool_input: JsonObject) -> Any:
        return answer(tool_input)


class NotAsync(Handmade):
    def run(self, tool_input: JsonObject) -> Any:
        return ToolResult(success=True, data=answer(tool_input))


class BlocksTheLoop(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        time.sleep(0.4)  # noqa: ASYNC251  (the fault itself)
        return await super().run(tool_input)


class SucceedsWithAnError(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data="blue", error="it rains")


class ChangesItsInput(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        tool_input["city"] = "Bergen"
        return await super().run(tool_input)


class FailsInSilence(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=len(str(tool_input["city"])) < 100)


class OnlyOne(Handmade):
    busy = False

    async def run(self, tool_input: JsonObject) -> ToolResult:
        if self.busy:
            return ToolResult(success=False, error="busy")
        self.busy = True
        await anyio.sleep(0.05)
        self.busy = False
        return await super().run(tool_input)


class Spaced(Handmade):
    definition = AgentTool(name="the weather", description="Tells the weather.", parameters=CITY)


tool("test_a_model_is_told_what_it_does", "Spaced", Spaced)
tool(
    "test_its_schema_is_one_and_describes_its_arguments",
    "Undescribed",
    lambda: ToolDefinition("weather", "Tells the weather.", {"type": "object", "properties": {}}, answer),
)
tool("test_it_succeeds_on_a_good_input", "SucceedsWithAnError", SucceedsWithAnError)
tool("test_it_returns_a_tool_result", "ReturnsText", ReturnsText)
tool("test_it_returns_a_tool_result", "NotAsync", NotAsync)
tool("test_it_lets_other_agents_run", "BlocksTheLoop", BlocksTheLoop)
tool("test_an_input_is_left_as_it_was", "ChangesItsInput", ChangesItsInput)
tool("test_a_bad_input_is_a_result", "FailsInSilence", FailsInSilence)
tool("test_calls_at_once_do_not_disturb_each_other", "OnlyOne", OnlyOne)

# ------------------------------------------------------------------ exits


def criterion(law: str, wrong: Callable[[], Exit], **declared: object) -> None:
    """Plant a stop criterion."""
    plant(ExitSuite, law, type(wrong()), criterion=fixture(wrong), **declared)


@dataclass(frozen=True, slots=True)
class Borrowed(Exit):
    """Has the kind of another criterion."""

    kind: ClassVar[str] = "max_rounds"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class Amnesiac(Exit):
    """Forgets its limit when it is stored."""

    kind: ClassVar[str] = "amnesiac"
    limit: int = 3

    @classmethod
    def from_spec(cls, spec: Any, registry: Any = None) -> Amnesiac:
        return cls(limit=1)

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=len(rounds) >= self.limit, reason="limit")


@dataclass(frozen=True, slots=True)
class Lenient(Exit):
    """Takes any field."""

    kind: ClassVar[str] = "lenient"

    @classmethod
    def from_spec(cls, spec: Any, registry: Any = None) -> Lenient:
        return cls()

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


class Soft(Exit):
    """Equal to itself alone."""

    kind: ClassVar[str] = "soft"
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class Reasonless(Exit):
    kind: ClassVar[str] = "reasonless"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=bool(rounds))


@dataclass(frozen=True, slots=True)
class ByTheFirst(Exit):
    """Ends when the first agent says yes."""

    kind: ClassVar[str] = "by-the-first"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        responses = rounds[-1].responses if rounds else ()
        return ExitResult(should_exit=bool(responses) and responses[0].position == "yes", reason="yes")


@dataclass(frozen=True, slots=True)
class ByTheLast(Exit):
    """Ends when the agent that answered last says yes."""

    kind: ClassVar[str] = "by-the-last"

    def check(self, rounds: Sequence[Any]) -> ExitResult:
        turns = sorted((turn for record in rounds for turn in record.turns), key=lambda turn: turn.timestamp)
        return ExitResult(should_exit=bool(turns) and turns[-1].answer.position == "yes", reason="yes")


@dataclass(frozen=True, slots=True)
class Fragile(Exit):
    kind: ClassVar[str] = "fragile"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=rounds[-1].responses[0].confidence > 0.5, reason="sure")


class Texting(Reasonless):
    """Returns a text."""

    kind: ClassVar[str] = "texting"

    def check(self, rounds: Sequence[ExitRound]) -> Any:
        return "stop"


@dataclass(frozen=True, slots=True)
class Never(Exit):
    """Never ends."""

    kind: ClassVar[str] = "never"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class NeverAfterRounds(MaxRounds):
    """A largest number of rounds that never ends a debate."""

    kind = "never_after"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class Vacuous(Exit):
    """Ends when no two answers differ, also where there are none."""

    kind: ClassVar[str] = "vacuous"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        responses = rounds[-1].responses if rounds else ()
        return ExitResult(should_exit=len({each.position for each in responses}) < 2, reason="agreed")


@dataclass(frozen=True, slots=True)
class VacuouslySettled(Exit):
    """Ends when nobody who answered twice changed its answer, also where nobody answered twice."""

    kind: ClassVar[str] = "settled"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        if len(rounds) < 2:
            return ExitResult(should_exit=False)
        before, after = ({each.agent_id: each.position for each in record.responses} for record in rounds[-2:])
        settled = after.keys() and all(before[agent] == after[agent] for agent in before.keys() & after.keys())
        return ExitResult(should_exit=bool(settled), reason="settled")


@dataclass(frozen=True, slots=True)
class Hopeful(Exit):
    """Ends when the agents may agree, also where nobody compared their answers."""

    kind: ClassVar[str] = "hopeful"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        consensus = rounds[-1].consensus if rounds else None
        at_most = 0.0 if consensus is None else consensus.agreement_at_most
        return ExitResult(should_exit=at_most > 0.9, reason="agreed")


@dataclass(frozen=True, slots=True)
class AtNight(Exit):
    kind: ClassVar[str] = "at-night"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=datetime.now(UTC).hour < 6, reason="night")


@dataclass(frozen=True, slots=True)
class Loops(Exit):
    """Never decides after the second round."""

    kind: ClassVar[str] = "loops"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        while len(rounds) > 1:
            pass
        return ExitResult(should_exit=False)


def loops_on_ties(ballots: Any, parameters: Any) -> Outcome:
    found = fair(ballots, parameters)
    while len(found.leaders) == 2:
        pass
    return found


def by_the_minute(ballots: Any, parameters: Any) -> Outcome:
    found = fair(ballots, parameters)
    return Outcome(found.roll, found.scores, found.leaders if int(clock() // 60) % 2 else (), "by a fault")


criterion("test_it_ends_a_debate", Never)
criterion("test_it_ends_a_debate", Loops, law_s=0.5)
criterion("test_the_same_rounds_give_the_same_result", Loops, law_s=0.5)
criterion("test_it_ends_a_debate", partial(NeverAfterRounds, 2))
criterion("test_it_does_not_end_because_nothing_can_be_compared", Vacuous)
criterion("test_it_does_not_end_because_nothing_can_be_compared", VacuouslySettled)
criterion("test_it_does_not_end_because_nothing_can_be_compared", Hopeful)
criterion("test_it_does_not_read_the_clock", AtNight)
criterion("test_it_has_a_kind_of_its_own", Borrowed)
criterion("test_it_comes_back_from_its_json", Amnesiac)
criterion("test_a_field_it_does_not_have_is_refused", Lenient)
criterion("test_it_is_a_value", Soft)
criterion("test_the_same_rounds_give_the_same_result", Counting)
criterion("test_the_same_rounds_give_the_same_result", Texting)
criterion("test_an_end_has_a_reason", Reasonless)
criterion("test_the_order_of_agents_does_not_matter", ByTheFirst)
criterion("test_the_order_of_agents_does_not_matter", ByTheLast)
criterion("test_a_round_in_which_nobody_answered_never_breaks_it", Fragile)

# ------------------------------------------------------------------ rules


def rule(law: str, name: str, count: Callable[[Any, Any], Outcome], **declared: object) -> None:
    """Plant a decision rule."""
    plant(RuleSuite, law, name, rule=fixture(lambda: Rule("planted", count)), **declared)


def endless(ballots: Any, parameters: Any) -> Outcome:
    found = fair(ballots, parameters)
    return Outcome(found.roll, dict.fromkeys(found.roll.options, float("inf")), found.leaders, "beyond measure")


def nobody(ballots: Any, parameters: Any) -> Outcome:
    return Outcome(fair(ballots, parameters).roll, {}, (), "never")


def breaks(ballots: Any, parameters: Any) -> Outcome:
    raise LookupError("no votes")


TIMES = itertools.count()
write_in = led_by(lambda ballots, found: ("write-in",) if found.leaders else ())
default = led_by(lambda ballots, found: found.leaders or found.roll.options[:1])
by_turns = led_by(lambda ballots, found: found.leaders if next(TIMES) % 2 else ())

two_tied_to_the_first = led_by(lambda ballots, found: found.leaders[: 1 if len(found.leaders) == 2 else None])


def runner_up(ballots: Any, parameters: Any) -> Outcome:
    """Lets the option in the second place win, once there are three."""
    found = fair(ballots, parameters)
    ranked = sorted((option for option in found.roll.options if found.scores[option]), key=found.scores.__getitem__)
    leaders = (ranked[-2],) if len(ranked) > 2 and len(found.leaders) == 1 else found.leaders
    return Outcome(found.roll, found.scores, leaders, "by a fault")


def unweighted(ballots: Any, parameters: Any) -> Outcome:
    """Counts equal ballots once."""
    profile = ballots.read(first_places)
    votes = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option in vote.form:
            votes[option] += 1
    most = max(votes.values(), default=0)
    return Outcome(profile.roll, votes, tuple(o for o, n in votes.items() if most and n == most), "by a fault")


def by_heads(ballots: Any, parameters: Any) -> Outcome:
    """Counts every ballot once, whatever it weighs."""
    profile = ballots.read(first_places)
    votes = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option in vote.form:
            votes[option] += vote.ballots
    most = max(votes.values(), default=0)
    return Outcome(profile.roll, votes, tuple(o for o, n in votes.items() if most and n == most), "by a fault")


def passing(enough: Callable[[Any], bool]) -> Callable[[Any, Any], Outcome]:
    """Return a rule whose leader passes if its share is enough."""

    def count(ballots: Any, parameters: Any) -> Outcome:
        found = fair(ballots, parameters)
        share = max(found.scores.values(), default=Fraction(0)) / Fraction(found.roll.weight or 1)
        return Outcome(found.roll, found.scores, found.leaders, "by a fault", passes=enough(share))

    return count


HALF, TWO_THIRDS = Fraction(1, 2), Fraction(2, 3)
too_strict = passing(lambda part: part > TWO_THIRDS)
rule("test_its_threshold_is_exact", "TooStrict", too_strict, threshold=("at least", TWO_THIRDS))
rule("test_its_threshold_is_exact", "TooLax", passing(lambda part: part >= HALF), threshold=("more than", HALF))
in_floats = passing(lambda part: float(part) >= 0.667)
rule("test_its_threshold_is_exact", "InFloats", in_floats, threshold=("at least", TWO_THIRDS))
rule("test_its_threshold_is_exact", "Undeclared", passing(lambda part: part > HALF))
rule("test_what_more_than_half_choose_wins", "NeedsMore", too_strict)
rule("test_what_more_than_half_choose_wins", "RunnerUp", runner_up)
rule("test_what_more_than_half_choose_wins", "Unweighted", unweighted)
rule("test_two_options_with_equal_ballots_tie", "LoopsOnTies", loops_on_ties, law_s=0.5)
rule("test_the_order_of_ballots_does_not_matter", "LoopsOnTies", loops_on_ties, law_s=0.5)
rule("test_two_options_with_equal_ballots_tie", "TwoTiedToTheFirst", two_tied_to_the_first)
rule("test_a_weight_counts_as_so_many_ballots", "ByHeads", by_heads)
rule("test_it_does_not_read_the_clock", "ByTheMinute", by_the_minute)
rule("test_it_can_be_registered_and_asked_for", "Breaks", breaks)
rule("test_no_ballot_breaks_it", "Endless", endless)
rule("test_the_order_of_ballots_does_not_matter", "FirstVoter", first_voter)
rule("test_the_same_ballots_give_the_same_decision", "ByTurns", by_turns)
rule("test_winners_are_options", "WriteIn", write_in)
rule("test_without_a_ballot_nobody_wins", "Default", default)
rule("test_what_all_choose_wins", "Nobody", nobody)
rule("test_names_of_options_do_not_matter", "FirstLetter", first_letter)
rule("test_the_order_of_options_does_not_matter", "FirstListed", first_listed)

# ------------------------------------------------------------------ observers


class ImpatientObserverSuite(ObserverSuite):
    """Little patience."""

    limit_s = 0.5


def observer(law: str, wrong: type[Any], make: Callable[[], object] | None = None) -> None:
    """Plant an observer."""
    plant(ImpatientObserverSuite, law, wrong, make_observer=fixture(lambda: make or wrong))


class AsyncObserver(RecordingObserver):
    async def notify(self, event: Event) -> None:  # type: ignore[override]
        self.events.append(event)


class KnowsSome(RecordingObserver):
    def notify(self, event: Event) -> None:
        if event.type == "agent_error":
            raise LookupError(event.type)


class SlowObserver(RecordingObserver):
    def notify(self, event: Event) -> None:
        time.sleep(0.2)


class ReturnsSomething(RecordingObserver):
    def notify(self, event: Event) -> Any:
        return event


class ChangesEvents(RecordingObserver):
    def notify(self, event: Event) -> None:
        vars(event)["session_id"] = "hidden"


class OneDebate(RecordingObserver):
    def notify(self, event: Event) -> None:
        if self.events and self.events[0].session_id != event.session_id:
            raise LookupError("another debate")
        super().notify(event)


class ClosesOnceObserver(RecordingObserver):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.closed = True


class RewritesAnswers(RecordingObserver):
    def notify(self, event: Event) -> None:
        if event.type == "agent_complete":
            vars(event.turn.result.answer)["position"] = "Milk"


SHARED = RecordingObserver()
observer("test_it_has_the_parts_of_an_observer", AsyncObserver)
observer("test_it_takes_every_event", KnowsSome)
observer("test_it_takes_every_event", SlowObserver)
observer("test_it_takes_every_event", ReturnsSomething)
observer("test_events_are_left_as_they_were", ChangesEvents)
observer("test_it_takes_events_of_debates_at_once", OneDebate)
observer("test_two_do_not_disturb_each_other", RecordingObserver, lambda: SHARED)
observer("test_it_closes_twice", ClosesOnceObserver)
observer("test_a_debate_goes_on_beside_it", RewritesAnswers)
