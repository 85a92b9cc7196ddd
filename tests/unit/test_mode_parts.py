"""The parts modes are made of: shapes, options, roles, perspectives, processors, validators, figures."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from integration.mode_kit import answer, hold, seats
from snapshots.prompt_views import ROUND_ONE, SEATS, said, view

from roundtable import Roundtable
from roundtable.agents import GENERAL_PERSONAS, personas_for, seat_personas
from roundtable.core.stages import as_shaper, restrict_view, run_stage
from roundtable.core.types.plan import MAX_STAGES
from roundtable.errors import ConfigurationError
from roundtable.modes import (
    DEFAULT_PERSPECTIVES,
    AdversarialMode,
    AnonymizationProcessor,
    BaseModeStrategy,
    CollaborativeMode,
    ConfidenceRangeValidator,
    CouncilMode,
    DelphiMode,
    DevilsAdvocateMode,
    ExpertPanelMode,
    ModeRegistry,
    OxfordMode,
    ProcessorChain,
    RedTeamBlueTeamMode,
    RequiredFieldsValidator,
    RoleBasedModeStrategy,
    RoleConfig,
    SelfConsistencyMode,
    StanceValidator,
    StatisticsProcessor,
    Step,
    ValidatorChain,
    calculate_stats,
    check_supported,
    fan_in,
    fit_perspectives,
    last_only,
    mean_ranks,
    oxford_swing,
    parse_perspectives,
    plan_round,
    plan_table,
    rehearse,
    teams,
    trajectories,
    two_phase,
    with_facilitator,
    with_reask,
)
from roundtable.modes.context import key_position
from roundtable.providers.scripted import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentResponse,
    DebateContext,
    EndDebate,
    EndRound,
    FailedTurn,
    GeneratedPerspective,
    Persona,
    Perspective,
    Plan,
    RankingAnswer,
    Seat,
    Stage,
    Turn,
    TurnResult,
    TurnSpec,
)


class Shaped(BaseModeStrategy):
    """A mode of one shape."""

    name = "shaped"

    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.shape = shape

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        def ask(seat: Any, sees: Any) -> TurnSpec:
            return TurnSpec(slot=0, agent=seat.id, task="Speak.", sees=sees)

        planned: tuple[Step, ...] = self.shape(view, ask)
        return planned


def plan(shape: Any, agents: int = 4) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return each stage of one round: who speaks, and how much each sees."""
    return [
        (planned.stage.name, [(spec.agent[-1], len(spec.sees)) for spec in planned.stage.turns])
        for planned in rehearse(Shaped(shape), agents=agents, rounds=1)
    ]


def test_last_only_runs_all_agents_but_one_at_once_and_then_one_who_sees_all() -> None:
    assert plan(last_only) == [("first", [("1", 0), ("2", 0), ("3", 0)]), ("last", [("4", 3)])]
    assert plan(last_only, agents=1) == [("last", [("1", 0)])]


def test_two_phases_are_two_groups_of_which_the_second_sees_the_first() -> None:
    shape = plan(lambda view, ask: two_phase(view, ask, view.agents[:3], view.agents[3:]))
    assert shape == [("first-phase", [("1", 0), ("2", 0), ("3", 0)]), ("second-phase", [("4", 3)])]


def test_fan_in_ends_with_a_chair_who_sees_all() -> None:
    shape = plan(lambda view, ask: fan_in(view, ask, view.agents[1]))
    assert shape == [("positions", [("1", 0), ("2", 0), ("3", 0), ("4", 0)]), ("chair", [("2", 4)])]


def test_teams_see_their_own_earlier_turns() -> None:
    mode = Shaped(lambda view, ask: teams(view, ask, (view.agents[:1], view.agents[1:3])))
    *_, last = rehearse(mode, agents=4, rounds=2)
    assert [(spec.agent, len(spec.sees)) for spec in last.stage.turns] == [
        ("agent-1", 1),
        ("agent-2", 2),
        ("agent-3", 2),
    ]


def test_a_step_without_turns_is_skipped() -> None:
    assert plan_round(view(), (Step("empty", list),)).kind == "end_round"


def test_a_mode_that_ends_the_debate_is_rehearsed_up_to_that_point() -> None:
    class Once(Shaped):
        def next_stage(self, view: DebateContext) -> Plan:
            planned = super().next_stage(view)
            return planned if isinstance(planned, Stage) else EndDebate()

    assert len(list(rehearse(Once(last_only), agents=3, rounds=5))) == 2


@pytest.mark.parametrize("name", ModeRegistry().get_available_modes())
def test_every_mode_plans_for_the_largest_table_it_offers(name: str) -> None:
    mode = ModeRegistry().get_mode(name)
    assert isinstance(mode, BaseModeStrategy)
    largest = mode.agent_counts.stop - 1
    assert largest == 100
    asked = {
        spec.agent for _, stage in rehearse(mode, agents=largest, rounds=mode.rounds.start) for spec in stage.turns
    }
    assert len(asked) == (1 if name == "self-consistency" else largest)


def test_a_round_may_have_stages_up_to_the_limit_of_an_endless_round() -> None:
    class Long(Shaped):
        def next_stage(self, view: DebateContext) -> Plan:
            if len(view.transcript) == MAX_STAGES:
                return EndRound()
            return Stage(name=f"s{len(view.transcript)}", turns=(TurnSpec(slot=0, agent="agent-1", answer="plan"),))

    assert len(list(rehearse(Long(last_only), rounds=1))) == MAX_STAGES == 256


def test_a_mode_that_never_ends_is_found() -> None:
    class Endless(Shaped):
        def next_stage(self, view: DebateContext) -> Plan:
            return Stage(name=f"s{len(view.transcript)}", turns=(TurnSpec(slot=0, agent="agent-1", answer="plan"),))

    with pytest.raises(ConfigurationError, match=r"plans more than 256 stages in one round \(the last is 's256'\)"):
        list(rehearse(Endless(last_only)))


# ---------------------------------------------------------------- options


def test_options_of_a_mode_can_be_set_in_its_name() -> None:
    modes = ModeRegistry()
    predecessor = modes.get_mode("adversarial:visibility=predecessor")
    assert isinstance(predecessor, AdversarialMode)
    assert predecessor.visibility == "predecessor"
    assert modes.has_mode("adversarial:visibility=all")
    asked = modes.get_mode("self-consistency: samples = 7")
    assert isinstance(asked, SelfConsistencyMode)
    assert asked.samples == 7


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("adversarial:visibility=some", "visibility: 'some' is not one of all, predecessor"),
        ("adversarial:loud=true", "unknown option 'loud'; known: visibility"),
        ("socratic:loud=true", "unknown option 'loud'; known: none"),
        ("adversarial:visibility", "'visibility' is not of the form 'option=value'"),
        ("self-consistency:samples=0", "'0' is not a whole number from 1 to 1,000"),
        ("self-consistency:samples=1001", "'1001' is not a whole number from 1 to 1,000"),
        ("adversarial:visibility=all,visibility=predecessor", "'visibility' is set twice"),
        ("red-team-blue-team:cross-team=maybe", "'maybe' is neither true nor false"),
        ("adversary:visibility=all", "unknown mode 'adversary'"),
    ],
)
def test_an_option_that_does_not_exist_is_refused(name: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        ModeRegistry().get_mode(name)


async def test_unusable_options_of_a_mode_are_refused_before_any_agent_is_asked() -> None:
    model = ScriptedModel(answer)
    table = Roundtable(seats(model), storage="memory://")
    with pytest.raises(ConfigurationError, match="mode 'delphi' does not use perspectives"):
        await table.debate("Tea?", mode="delphi", rounds=1, perspectives=["Brewers"])
    with pytest.raises(ConfigurationError, match="mode 'oxford' takes 2 options, not 3"):
        await table.debate("Tea?", mode="oxford", rounds=1, options=["Tea", "Mate", "Milk"])
    with pytest.raises(ConfigurationError, match="perspectives must be a list, or 'auto', not 'Brewers'"):
        table.estimate("Tea?", mode="expert-panel", rounds=1, perspectives="Brewers")  # type: ignore[arg-type]  # a slip
    with pytest.raises(ConfigurationError, match="takes 2 to 100 rounds, not 1"):
        table.estimate("Tea?", mode="free-mad", rounds=1)
    assert model.requests == []


def test_wrong_arguments_of_a_mode_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="visibility must be"):
        AdversarialMode(visibility="none")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="samples must be at least 1"):
        SelfConsistencyMode(samples=0)


# ---------------------------------------------------------------- roles


class Court(RoleBasedModeStrategy):
    """Roles in turn, with texts of another mode."""

    name = "red-team-blue-team"
    role_configs = (RoleConfig("red"), RoleConfig("blue", "Blue", "NO"))


def test_roles_rotate_unless_the_mode_says_otherwise() -> None:
    mode = Court()
    assert [mode.get_agent_role(SEATS[place], place, view()) for place in range(4)] == ["red", "blue", "red", "blue"]
    assert [spec.stance for planned in rehearse(mode, rounds=1) for spec in planned.stage.turns] == [None, "NO", None]
    with pytest.raises(ConfigurationError, match="has no role 'judge'; it has red, blue"):
        mode.role_config("judge")


async def test_a_stance_against_the_role_is_recorded_and_not_changed() -> None:
    def stubborn(request: Any) -> Any:
        return {**answer(request), "stance": "YES"}

    held = await hold("devils-advocate", reply=stubborn)
    by_agent = {turn.agent_id: turn for turn in held.turns() if turn.round == 2}
    bo = by_agent["bo"]
    assert bo.answer.stance == "YES"  # type: ignore[union-attr]
    assert bo.answer.role_violation.to_json() == '{"expected":"NO","actual":"YES"}'  # type: ignore[union-attr]
    assert bo.result.warnings == ("the stance is YES, but NO was assigned",)  # type: ignore[union-attr]
    assert by_agent["ada"].answer.role_violation is None  # type: ignore[union-attr]
    assert "but NO was assigned" in held.result.to_markdown()
    assert [one.role_violation is not None for one in held.result.rounds[1].responses] == [False, True, True, True]


async def test_an_agent_that_left_its_side_is_asked_once_more_if_the_mode_is_set_to() -> None:
    def wavering(request: Any) -> Any:
        again = request.messages[1].content.count("answer of you") > 2 * (int(request.metadata["round"]) - 1)
        return {**answer(request), "stance": answer(request)["stance"] if again else "YES"}  # type: ignore[index]

    held = await hold("devils-advocate:reask=true", reply=wavering, rounds=1)
    again = [turn for turn in held.turns() if turn.stage == "reask"]
    assert [turn.agent_id for turn in again] == ["bo", "cy", "dee"]
    (record,) = held.result.rounds
    assert [one.agent_id for one in record.responses] == ["ada", "bo", "cy", "dee"]
    assert [one.stance for one in record.responses] == ["YES", "NO", "NEUTRAL", "NEUTRAL"]
    assert len(held.result.session.responses) == 7
    assert not DevilsAdvocateMode().reask_steps(view())
    plain = DevilsAdvocateMode()
    assert (with_reask(plain).reask, plain.reask) == (True, False)


async def test_a_speaker_of_an_oxford_debate_that_left_its_side_is_asked_before_the_last_vote() -> None:
    held = await hold("oxford:reask=true", reply=lambda request: {**answer(request), "stance": "YES"}, rounds=1)  # type: ignore[dict-item]
    stages = list(dict.fromkeys(turn.stage for turn in held.turns()))
    assert stages == ["vote-before", "speaker-1", "speaker-2", "speaker-3", "speaker-4", "reask", "vote-after"]
    assert [turn.agent_id for turn in held.turns() if turn.stage == "reask"] == ["bo", "dee"]


# ---------------------------------------------------------------- perspectives


def test_perspectives_are_read_padded_and_trimmed() -> None:
    text = """Sure! ```json
    [{"name": "Legal", "focusAreas": ["liability", 3], "key_questions": "Who sues?"},
    "Medical", {"description": " x "}, 7]
    ```"""
    legal, medical, third = parse_perspectives(text, 3)
    assert (legal.name, legal.focus_areas, legal.key_questions) == ("Legal", ("liability",), ("Who sues?",))
    assert (medical.name, third.name, third.description) == ("Medical", "Perspective 3", "x")
    assert [one.name for one in parse_perspectives(text, 6)[3:]] == ["Perspective 4", "Technical", "Economic"]
    for nothing in ("", "none", "[", "][", '{"a": 1}', "[}"):
        assert parse_perspectives(nothing, 5) == (*DEFAULT_PERSPECTIVES, DEFAULT_PERSPECTIVES[0])
    assert fit_perspectives(DEFAULT_PERSPECTIVES, 5)[4] == DEFAULT_PERSPECTIVES[0]


async def test_perspectives_of_the_caller_rotate_and_are_quoted() -> None:
    names = ("Nurses", Perspective(name="Patients", description="Those in bed"))
    held = await hold("expert-panel", rounds=1, perspectives=names)
    prompts = [held.request_of(turn) for turn in held.turns()]
    own = ["Nurses", "Patients", "Nurses", "Patients"]
    for request, name in zip(prompts, own, strict=True):
        assert f"(your perspective)\n| {name}" in request.messages[1].content
        assert name not in request.messages[0].content
        assert "ROLE: Panel expert\n" in request.messages[0].content
    assert {turn.role for turn in held.turns()} == {"expert"}
    assert held.result.config.perspectives[1] == Perspective(name="Patients", description="Those in bed")
    full = GeneratedPerspective(name="Law", focus_areas=("liability",), anti_patterns=("guesses",))
    held = await hold("expert-panel", rounds=1, perspectives=(full,))
    text = held.requests[0].messages[1].content
    assert "| Law\n| Focus areas: liability\n| To be avoided: guesses" in text
    assert {turn.role for turn in held.turns()} == {"specialist"}


async def test_perspectives_are_written_for_the_question_on_request() -> None:
    def reply(request: Any) -> Any:
        if "(number of perspectives)\n| 4" in request.messages[1].content:
            return '[{"name": "Brewers"}, {"name": "Drinkers"}]'
        return answer(request)

    model = ScriptedModel(reply)
    table = Roundtable(seats(model), storage="memory://")
    result = await table.debate("Tea?", mode="expert-panel", rounds=2, perspectives="auto")
    assert result.mode == "expert-panel:facilitated=true"
    assert [len(held.turns) for held in result.rounds] == [5, 4]
    assert [len(held.responses) for held in result.rounds] == [4, 4]
    first = {request.metadata["agent"]: request for request in model.requests[4:0:-1]}
    asked = [first[name].messages[1].content for name in ("ada", "bo", "cy", "dee")]
    for text, name in zip(asked, ("Brewers", "Drinkers", "Technical", "Economic"), strict=True):
        assert f"(your perspective)\n| {name}" in text
    with pytest.raises(ConfigurationError, match="does not work with the mode 'delphi'"):
        await table.debate("Tea?", mode="delphi", perspectives="auto")
    with pytest.raises(ConfigurationError, match="perspectives must be a list"):
        await table.debate("Tea?", mode="expert-panel", perspectives="Law")  # type: ignore[arg-type]


def test_a_panel_is_facilitated_by_a_wrapper_or_an_argument() -> None:
    assert with_facilitator(ExpertPanelMode()).facilitated
    assert not ExpertPanelMode().facilitated


# ---------------------------------------------------------------- processors, validators, figures


def test_processors_do_not_change_a_context_without_earlier_answers() -> None:
    chain = ProcessorChain((AnonymizationProcessor(), StatisticsProcessor()))
    assert chain.process(view()).previous_responses == ()
    assert StatisticsProcessor().process(view()) == view()
    assert ProcessorChain().process(view()) == view()


def test_without_a_turn_speakers_are_numbered_by_seat_for_the_whole_debate() -> None:
    second = [said("Dee", "Dee agrees with Bo.", round_=2), said("Guest", "Hello", round_=2, slot=1)]
    told = (*ROUND_ONE, *second)
    context = view(*told, previous_responses=tuple(turn.answer for turn in told))
    nameless = AnonymizationProcessor().process(context)
    names = [answer.agent_name for answer in nameless.previous_responses]
    assert names == [f"Participant {number}" for number in (1, 2, 3, 4, 4, 5)]
    assert nameless.previous_responses[4].position == "Participant 4 agrees with Participant 2."
    assert [turn.agent_id for turn in nameless.transcript] == names


def test_words_of_the_question_and_failures_reveal_no_names() -> None:
    failed = FailedTurn.model_validate(
        {
            "round": 1,
            "stage": "positions",
            "slot": 9,
            "agent_id": "bo",
            "agent_name": "Bo",
            "timestamp": "2026-01-01T00:00:00Z",
            "error": {"name": "E", "message": "anthropic refused bo", "code": "C", "provider": "anthropic"},
        }
    )
    context = view(said("Ada", "Ada Lovelace and Bo differ."), failed, topic="Who was Ada?", current_round=2)
    nameless = AnonymizationProcessor().process(context)
    assert nameless.transcript[0].answer.position == "Ada Lovelace and Participant 2 differ."  # type: ignore[union-attr]
    assert "anthropic" not in nameless.transcript[1].to_json()
    assert nameless.transcript[1].agent_id == "Participant 2"


def test_bottom_lines_and_comparisons_reveal_no_names() -> None:
    compared = [{"turn": [1, "positions", 1], "verdict": "same"}]
    context = view(said("Ada", "So.", bottom_line="What Bo said", compared=compared), current_round=2)
    answer = AnonymizationProcessor().process(context).transcript[0].answer  # type: ignore[union-attr]
    assert (answer.bottom_line, answer.compared) == ("What Participant 2 said", ())  # type: ignore[union-attr]
    stats = calculate_stats(
        (said("Ada", "Long.", bottom_line="42").answer, said("Bo", "Other.", bottom_line="42.0").answer)
    )  # type: ignore[arg-type]
    assert (dict(stats.position_distribution), stats.consensus_level) == ({"42": 2}, 100)


def test_a_name_that_is_part_of_a_word_of_the_question_is_masked() -> None:
    context = view(
        said("Ada", "As Ada said, Canada gains."), topic="Should Canada build Bohemian cafes?", current_round=2
    )
    nameless = AnonymizationProcessor().process(context)
    assert nameless.transcript[0].answer.position == "As Participant 1 said, Canada gains."  # type: ignore[union-attr]


def test_the_chair_of_a_council_does_not_know_its_own_answer() -> None:
    mode = CouncilMode()
    chair = next(planned for planned in rehearse(mode, agents=4, rounds=1) if planned.stage.name == "chair")
    context = as_shaper(mode).transform_context(restrict_view(chair.view, chair.stage.turns[0]))  # type: ignore[union-attr]
    assert all(one.agent_id.startswith("Answer ") for one in context.previous_responses)
    assert "mean place" in context.turn.notes[0].text  # type: ignore[union-attr]


def test_statistics_become_quoted_material_of_the_turn() -> None:
    spec = TurnSpec(slot=0, agent="ada", sees=())
    context = restrict_view(view(*ROUND_ONE), spec).model_copy(update={"transcript": ROUND_ONE})
    note = StatisticsProcessor().process(context).turn.notes[0]  # type: ignore[union-attr]
    assert "Participants: 4" in note.text
    assert note.brief == "25 % say: Start with a monolith."
    assert StatisticsProcessor.calculate_stats(()) == calculate_stats(())
    assert calculate_stats(()).consensus_level == 0


def test_more_positions_than_fit_are_counted() -> None:
    told = [said(f"A{place}", f"Position {place}.", slot=place).answer for place in range(7)]
    from roundtable.modes.context import statistics_note

    assert statistics_note(told).text.endswith("1 x Position 4.\nand 2 more")  # type: ignore[arg-type]


def test_a_key_position_is_the_choice_the_first_sentence_or_a_beginning() -> None:
    def key(position: str, choice: str | None = None) -> str:
        return key_position(AgentResponse(agent_id="a", agent_name="A", position=position, choice=choice))

    assert key("Yes! No.") == "Yes!"
    assert key("Long", "Tea") == "Tea"
    assert key("x" * 150) == "x" * 100 + "…"
    assert key("No end") == "No end"


def test_validators_mark_values_move_them_into_range_and_fill_them_in() -> None:
    context = view()
    said_ = AgentResponse(agent_id="a", agent_name="A", position="P", reasoning="R", confidence=0.4, stance="NO")
    chain = ValidatorChain((StanceValidator(), ConfidenceRangeValidator(), RequiredFieldsValidator()))
    assert chain.validate(said_, context) is said_
    for given, kept in ((1.5, 1.0), (-1.0, 0.0), (float("nan"), 0.5)):
        odd = said_.model_copy(update={"confidence": given})
        assert ConfidenceRangeValidator().validate(odd, context).confidence == kept
    empty = RequiredFieldsValidator().validate(said_.model_copy(update={"position": " ", "reasoning": ""}), context)
    assert (empty.position, empty.reasoning) == ("(no position was given)", "(no reasoning was given)")
    missing = StanceValidator("YES").validate(said_.model_copy(update={"stance": None}), context)
    assert missing.role_violation is not None
    assert missing.role_violation.actual is None


async def test_an_oxford_debate_is_won_by_the_side_that_wins_votes() -> None:
    def moved(request: Any) -> Any:
        later = "answer of" in request.messages[1].content
        who = request.metadata["agent"]
        return {**answer(request), "choice": "Against" if later or who == "dee" else "For"}  # type: ignore[dict-item]

    held = await hold("oxford", reply=moved)
    swing = oxford_swing(held.turns())
    assert (swing.before, swing.after) == ({"Against": 1, "For": 3}, {"Against": 4, "For": 0})
    assert (swing.swing, swing.winners) == ({"Against": 3, "For": -3}, ("Against",))
    level = await hold("oxford")
    assert oxford_swing(level.turns()).winners == ()
    with_options = list(rehearse(OxfordMode(), options=("Tea", "Coffee"), rounds=1))
    sides = [spec.notes[0].text for planned in with_options[1:4] for spec in planned.stage.turns]
    assert sides == ["Tea", "Coffee", "Tea"]


async def test_rankings_of_a_council_are_combined_by_mean_rank() -> None:
    held = await hold("council", rounds=1)
    ranks = mean_ranks(held.turns())
    assert set(ranks) == {f"Answer {number}" for number in range(1, 5)}
    assert list(ranks.values()) == sorted(ranks.values())
    tied = Turn.model_validate(
        {
            "round": 1,
            "stage": "rankings",
            "slot": 0,
            "agent_id": "a",
            "timestamp": "2026-01-01T00:00:00Z",
            "result": TurnResult(answer=RankingAnswer(ranking=(("x", "y"), ("z",)))),
        }
    )
    assert mean_ranks([tied]) == {"x": Fraction(3, 2), "y": Fraction(3, 2), "z": Fraction(3)}


async def test_a_trajectory_is_every_answer_of_an_agent_in_order() -> None:
    held = await hold("free-mad", rounds=3)
    found = trajectories(held.turns())
    assert {agent: len(path) for agent, path in found.items()} == dict.fromkeys(("ada", "bo", "cy", "dee"), 3)
    with pytest.raises(ConfigurationError, match="takes 2 to 100 rounds, not 1"):
        await hold("free-mad", rounds=1)


async def test_samples_of_one_agent_are_counted_one_by_one() -> None:
    samples = ("Tea", "Coffee", "tea.", "Tea", "Milk")
    model = ScriptedModel(lambda request: {"position": samples[int(request.metadata["slot"])]})
    table = Roundtable(seats(model, ("ada",)), storage="memory://")
    result = await table.debate("Tea?", mode="self-consistency:samples=5", rounds=1)
    assert result.answer == "Tea"
    assert result.decision is not None
    assert result.decision.scores == {"Tea": 3.0, "Coffee": 1.0, "Milk": 1.0}
    assert result.ballots() == ("Tea", "Coffee", "Tea", "Tea", "Milk")


# ---------------------------------------------------------------- personas


def test_personas_are_general_unless_the_mode_has_its_own() -> None:
    assert personas_for(6) == (*GENERAL_PERSONAS, GENERAL_PERSONAS[0])
    assert personas_for(2, "no such mode") == GENERAL_PERSONAS[:2]
    assert [one.name for one in personas_for(3, "adversarial") if one] == ["Proponent", "Opponent", "Proponent"]
    assert personas_for(2, "delphi") == (None, None)
    assert [agent.name for agent in seat_personas([("local", None)] * 3, "delphi")] == [
        f"Panelist {n}" for n in (1, 2, 3)
    ]
    assert [one.name for one in personas_for(2, "oxford") if one] == ["Proponent", "Opponent"]
    own = type("Own", (Court,), {"name": "own", "role_configs": (RoleConfig("judge"),)})()
    assert personas_for(2, own) == GENERAL_PERSONAS[:2]
    judge = Persona(name="Judge", description="You judge.")
    own = type("Own", (Court,), {"name": "own", "role_configs": (RoleConfig("judge", persona=judge),)})()
    assert personas_for(2, own) == (judge, judge)
    plain = type("Plain", (BaseModeStrategy,), {"name": "plain", "personas": (judge, None)})()
    assert personas_for(3, plain) == (judge, None, judge)
    ids = [agent.id for agent in seat_personas([("local", None)] * 5, "devils-advocate")]
    assert ids == ["advocate", "advocate-2", "challenger", "challenger-2", "evaluator"]


async def test_seats_of_one_model_get_personas_that_fit_the_mode() -> None:
    model = ScriptedModel(answer)
    table = Roundtable([model] * 4, storage="memory://")
    result = await table.debate("Tea?", mode="devils-advocate", rounds=1)
    assert [agent.persona and agent.persona.name for agent in result.agents] == [
        "Advocate",
        "Challenger",
        "Evaluator",
        "Evaluator",
    ]
    plain = await table.debate("Tea?", rounds=1)
    assert plain.agents[0].id == "synthesizer"


# ---------------------------------------------------------------- hooks


def test_hooks_of_a_plain_mode_change_nothing_and_say_the_common_role() -> None:
    mode, context = CollaborativeMode(), view(*ROUND_ONE)
    answer_ = ROUND_ONE[0].answer
    assert isinstance(answer_, AgentResponse)
    assert mode.transform_context(context) is context
    assert mode.validate_response(answer_, context) is answer_
    assert mode.get_agent_role(SEATS[0], 0, context) == "participant"
    assert mode.stage_turns(context, "positions") == ()
    assert mode.stage_turns(context.model_copy(update={"current_round": 1}), "positions") == ROUND_ONE
    assert [seen.shown_as for seen in mode.earlier_positions(context)] == ["Ada", "Bo", "Cy", "Dee"]
    planned_ = next(iter(rehearse(mode, rounds=1)))
    turn = restrict_view(planned_.view, planned_.stage.turns[0])
    assert mode.build_agent_prompt(turn) == planned_.stage.turns[0].task


class Blind(CollaborativeMode):
    def transform_context(self, context: DebateContext, agent: Any = None) -> DebateContext:
        raise KeyError("no eyes")


class Picky(CollaborativeMode):
    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        if response.agent_id == "bo":
            raise ValueError("not good enough")
        return response.model_copy(update={"reasoning": f"seen: {response.reasoning}"})


async def test_hooks_of_a_mode_shape_every_turn_and_a_faulty_one_is_named() -> None:
    agents = scripted_agents({"ada": "Tea", "bo": "Coffee"})
    seats = tuple(Seat(id=agent.id, name=agent.name) for agent in agents)
    context = view(agents=seats)
    stage = Picky().next_stage(context)
    assert isinstance(stage, Stage)
    by_id = {agent.id: agent for agent in agents}
    ada, bo = await run_stage(stage, by_id, context, shaper=Picky())
    assert ada.answer.reasoning == "seen: ada thinks so."  # type: ignore[union-attr]
    assert bo.outcome == "failed"
    assert bo.usage.calls == 1
    assert bo.error.message == "validate_response of the mode raised ValueError: not good enough"
    (ada, _) = await run_stage(stage, by_id, context, shaper=Blind())
    assert ada.outcome == "failed"
    assert (ada.error.code, "transform_context of the mode raised KeyError" in ada.error.message) == ("MODE_HOOK", True)
    assert [one.reasoning for one in await Picky().execute_round(agents, context)] == ["seen: ada thinks so."]


# ---------------------------------------------------------------- diagrams


def test_a_diagram_shows_who_speaks_when_and_sees_whom() -> None:
    assert (
        AdversarialMode().diagram(agents=2, rounds=1)
        == """\
flowchart LR
  subgraph round1["Round 1"]
    subgraph r1s1["speaker-1"]
      r1s1t0["Agent 1<br/>challenger"]
    end
    subgraph r1s2["speaker-2"]
      r1s2t0["Agent 2<br/>challenger"]
    end
  end
  r1s1t0 --> r1s2t0
"""
    )


def test_a_diagram_shows_the_names_that_are_shown_and_what_is_asked_for() -> None:
    council = CouncilMode().diagram(agents=3, rounds=1)
    assert 'r1s2t0["Agent 1<br/>reviewer: ranking"]' in council
    assert 'r1s1t1 -->|"Answer' in council
    assert "Agent 1" not in council.partition("-->")[2]


@pytest.mark.parametrize("name", ModeRegistry().get_available_modes())
def test_every_diagram_is_whole(name: str) -> None:
    strategy = ModeRegistry().get_mode(name)
    text = strategy.diagram()  # type: ignore[attr-defined]
    lines = text.splitlines()
    assert lines[0] == "flowchart LR"
    assert text.count("subgraph ") == sum(line.strip() == "end" for line in lines)
    boxes = set(re.findall(r"^ +(r\d+s\d+t\d+)\[", text, re.MULTILINE))
    assert set(re.findall(r"r\d+s\d+t\d+", text)) == boxes
    turns = sum(len(planned.stage.turns) for planned in rehearse(strategy, agents=3, rounds=2))
    assert len(boxes) == turns


def test_a_diagram_of_an_impossible_debate_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs 2 to 100 agents, not 1"):
        AdversarialMode().diagram(agents=1)
    with pytest.raises(ConfigurationError, match="takes 1 to 100 rounds, not 0"):
        AdversarialMode().diagram(rounds=0)


def test_a_custom_mode_needs_no_hooks_and_no_agent_counts() -> None:
    class Foreign:
        name, rounds, assigns_stances, needs_groupthink_detection = "foreign", range(1, 3), False, False

        def next_stage(self, view: DebateContext) -> Plan:
            return Shaped(last_only).next_stage(view)

        def build_agent_prompt(self, context: DebateContext) -> str:
            return ""

    assert as_shaper(Foreign()) is None
    check_supported(Foreign(), "foreign", agents=77, rounds=2)
    assert (
        plan_table(Foreign(), agents=2, rounds=1).splitlines()[2]
        == "1 | last | 0 | agent-2 | participant | position | 1/first/0 as Agent 1"
    )
    modes = ModeRegistry()
    modes.register_mode("foreign", Foreign())
    with pytest.raises(ConfigurationError, match="unknown option 'x'"):
        modes.get_mode("foreign:x=1")


def test_predecessor_visibility_shows_the_latest_answer_of_another_agent() -> None:
    seen = [
        [(at.turn.round, at.turn.stage) for spec in planned.stage.turns for at in spec.sees]
        for planned in rehearse(AdversarialMode(visibility="predecessor"), agents=2, rounds=2)
    ]
    assert seen == [[], [(1, "speaker-1")], [(1, "speaker-2")], [(2, "speaker-1")]]


def test_findings_of_the_other_team_come_from_the_previous_round() -> None:
    *_, last = rehearse(RedTeamBlueTeamMode(cross_team=True), agents=4, rounds=3)
    seen = sorted((at.turn.round, at.turn.slot) for at in last.stage.turns[0].sees)
    assert seen == [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)]


def test_answers_from_outside_are_seen_without_a_number() -> None:
    guest = said("Guest", "From outside.", slot=7).model_copy(update={"stage": "external"})
    context = view(*ROUND_ONE, guest, mode="delphi")
    stage = DelphiMode().next_stage(context)
    assert isinstance(stage, Stage)
    assert [seen.shown_as for seen in stage.turns[0].sees][-1] == "An outside contribution"
    stage = CouncilMode().next_stage(context)
    assert isinstance(stage, Stage)
    assert [seen.shown_as for seen in stage.turns[0].sees][-1] == "An outside answer"
