"""Answers in prose in debates: what is certain costs one call; what is not is asked once more, and may stay open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from integration.engine_kit import said, seated, table_of
from integration.mcp_kit import call, connected, server_of
from integration.server_kit import client_of, served_table

import roundtable as rt
from roundtable.core.types.plan import VOTE_STAGE
from roundtable.errors import AgentError
from roundtable.providers.human import HumanModel, HumanTurn
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply
from roundtable.types import AgentResponse, BallotAnswer, Budget, ChatResponse, ProviderConfig, Turn, TurnKey

CITIES = ["Lisbon", "Porto", "Braga"]
LABELLED = ["A) Lisbon", "B) Porto", "C) Braga"]
UNCLEAR = "Lisbon and Porto both have a lot to offer; it depends on the season."
CLEAR = "I weighed the three. Lisbon is dear, Braga is far. The answer is Porto, because it is cheap."
NOTE = "Your answer could not be read for certain"


def chose(city: str) -> str:
    return json.dumps(said(city, choice=city))


async def debated(
    replies: Mapping[str, Any], topic: str = "Where shall we meet?", rounds: int = 1, **more: Any
) -> tuple[rt.DebateResult, ScriptedModel]:
    """Hold a debate; return its result and the model through which all speak."""
    table_options = {name: more.pop(name) for name in ("analyzer", "budget", "quorum") if name in more}
    model = ScriptedModel(replies)
    async with table_of(model, *replies, **table_options) as table:
        return await table.debate(topic, rounds=rounds, **more), model


def asked_of(model: ScriptedModel, name: str) -> list[str]:
    """Return the last message of each request to an agent."""
    return [request.messages[-1].content for request in model.requests if request.metadata["agent"] == name]


def response_of(result: rt.DebateResult, name: str, round_: int = -1) -> AgentResponse:
    found = {response.agent_id: response for response in result.rounds[round_].responses}
    return found[name]


class TestChoices:
    @pytest.mark.parametrize("options", [["[0, 1]", "(0, 1)"], ["n", "n!"], ["{a}", "<a>"]])
    async def test_the_second_question_shows_the_exact_spelling_of_the_options(self, options: list[str]) -> None:
        _, model = await debated({"ada": ["Both have merits.", "B"], "bo": ["Both have merits.", "B"]}, options=options)
        assert f"| A) {options[0]}\n| B) {options[1]}\n" in asked_of(model, "ada")[1]

    async def test_a_certain_choice_in_prose_costs_one_call(self) -> None:
        result, model = await debated({"ada": [CLEAR], "bo": [chose("Porto")]}, options=CITIES)
        answer = response_of(result, "ada")
        assert len(asked_of(model, "ada")) == 1
        assert (answer.choice, result.answer, result.usage.calls) == ("Porto", "Porto", 2)
        assert answer.reading is not None
        assert (answer.reading.rule, answer.reading.certainty, answer.reading.asked_again) == (
            "answer",
            "certain",
            False,
        )
        assert "Lisbon is dear" in answer.position + answer.reasoning

    @pytest.mark.parametrize("options", [CITIES, LABELLED], ids=["bare options", "labelled options"])
    @pytest.mark.parametrize("second", ["B", "(B)", "b)", "Option B", "**B**", "Porto", "B) Porto", "The answer is B."])
    async def test_an_unclear_choice_is_requested_once_more_and_kept_with_the_first_reasons(
        self, options: list[str], second: str
    ) -> None:
        result, model = await debated(
            {"ada": [UNCLEAR, second], "bo": [json.dumps(said("x", choice=options[1]))]}, options=options
        )
        first, again = asked_of(model, "ada")
        assert NOTE in again
        assert [line[2:] for line in again.splitlines() if line[2:] in LABELLED] == LABELLED
        assert UNCLEAR not in again
        assert NOTE not in first
        answer = response_of(result, "ada")
        assert (answer.choice, result.answer) == (options[1], options[1])
        assert answer.reading is not None
        assert (answer.reading.asked_again, answer.reading.certainty) == (True, "certain")
        assert answer.position == UNCLEAR
        assert result.usage.calls == 3

    async def test_a_whole_second_answer_replaces_the_first(self) -> None:
        result, _ = await debated({"ada": [UNCLEAR, chose("Braga")], "bo": [chose("Braga")]}, options=CITIES)
        answer = response_of(result, "ada")
        assert (answer.choice, answer.position, result.answer) == ("Braga", "Braga", "Braga")

    async def test_a_choice_that_the_text_contradicts_is_requested_once_more(self) -> None:
        torn = json.dumps(said("So the answer is Porto.", choice="Lisbon"))
        result, model = await debated({"ada": [torn, "Porto"], "bo": [chose("Porto")]}, options=CITIES)
        answer = response_of(result, "ada")
        assert not any("none counts" in warning for turn in result.rounds[0].turns for warning in turn.result.warnings)
        assert "its parts name different answers" in asked_of(model, "ada")[1]
        assert (answer.choice, answer.reading.asked_again if answer.reading else None) == ("Porto", True)
        assert answer.position == "So the answer is Porto."

    async def test_an_answer_that_stays_unclear_is_given_but_unread(self) -> None:
        result, model = await debated(
            {
                "ada": [UNCLEAR, "Both A and B."],
                "bo": [chose("Porto")],
                "cy": [chose("Porto")],
            },
            options=CITIES,
        )
        answer = response_of(result, "ada")
        assert (answer.choice, answer.is_unread, answer.position) == (None, True, UNCLEAR)
        assert answer.reading is not None
        assert (answer.reading.asked_again, answer.reading.certainty) == (True, "unread")
        assert len(asked_of(model, "ada")) == 2
        # Two of three are for Porto: the unread answer cannot overturn that.
        assert result.answer == "Porto"
        assert [seat.agent_id for seat in result.roster.agents if seat.answered] == ["ada", "bo", "cy"]
        assert result.roster.complete

    async def test_no_option_wins_that_an_unread_answer_could_have_overturned(self) -> None:
        unclear = [UNCLEAR, "Both."]
        result, _ = await debated(
            {"ada": unclear, "bo": unclear, "cy": [chose("Porto")], "di": [chose("Porto")], "el": [chose("Lisbon")]},
            options=CITIES,
        )
        assert result.answer is None
        assert result.decision is not None
        assert "could not be read" in result.decision.why
        assert result.response is not None
        assert result.response.decision.action_recommendation.type != "proceed"

    async def test_the_answer_of_the_next_round_can_be_read(self) -> None:
        result, _ = await debated(
            {"ada": [UNCLEAR, "Both.", CLEAR], "bo": [chose("Porto")] * 2}, rounds=2, options=CITIES
        )
        assert response_of(result, "ada", 0).is_unread
        assert response_of(result, "ada").choice == "Porto"
        assert result.answer == "Porto"

    async def test_a_model_that_keeps_to_no_form_and_says_nothing_fails(self) -> None:
        result, _ = await debated({"ada": ["", ""], "bo": [chose("Porto")]}, options=CITIES, quorum=1)
        assert [seat.agent_id for seat in result.roster.agents if not seat.answered] == ["ada"]

    async def test_the_second_call_may_fail_and_the_first_answer_stays(self) -> None:
        result, model = await debated(
            {
                "ada": [json.dumps(said("So the answer is Porto.", choice="Lisbon")), AgentError("gone")],
                "bo": [chose("Porto")],
            },
            options=CITIES,
            quorum=1,
        )
        answer = response_of(result, "ada")
        assert (answer.choice, answer.is_unread, len(asked_of(model, "ada"))) == (None, True, 2)


class TestCosts:
    async def test_usage_counts_both_calls_and_the_estimate_covers_them(self) -> None:
        replies = {"ada": [UNCLEAR, "Both."], "bo": [UNCLEAR, "Both."]}
        result, model = await debated(replies, options=CITIES)
        async with table_of(ScriptedModel(replies), *replies) as table:
            estimate = table.estimate("Where shall we meet?", rounds=1, options=CITIES)
        turns = result.rounds[0].turns
        assert [turn.result.usage.calls for turn in turns if isinstance(turn, Turn)] == [2, 2]
        assert model.calls == result.usage.calls == 4
        assert estimate.calls >= 4

    async def test_a_spent_budget_ends_further_requests(self) -> None:
        replies = {"ada": [UNCLEAR, "Porto"], "bo": [UNCLEAR, "Porto"]}
        result, model = await debated(replies, options=CITIES, budget=Budget(max_calls=3), quorum=1)
        assert model.calls <= 3
        assert result.usage.calls == model.calls


class TestAnswersThatPointBack:
    @pytest.mark.parametrize("text", ["I stand by my answer.", "No change.", "Ich bleibe dabei.", "Same as before."])
    async def test_a_reference_to_an_own_earlier_choice_is_resolved(self, text: str) -> None:
        result, model = await debated(
            {"ada": [chose("Porto"), text], "bo": [chose("Lisbon"), chose("Lisbon")]}, rounds=2, options=CITIES
        )
        answer = response_of(result, "ada")
        assert answer.choice == "Porto"
        assert answer.reading is not None
        assert (answer.reading.rule, answer.reading.points_to) == ("reference", "you")
        assert answer.reading.source == TurnKey(1, "positions", 0)
        assert len(asked_of(model, "ada")) == 2

    async def test_a_reference_to_an_earlier_choice_of_another_agent_is_resolved(self) -> None:
        result, _ = await debated(
            {"ada": [chose("Porto"), "I agree with Bo."], "bo": [chose("Lisbon")] * 2}, rounds=2, options=CITIES
        )
        answer = response_of(result, "ada")
        assert (answer.choice, result.answer) == ("Lisbon", "Lisbon")
        assert answer.reading is not None
        assert (answer.reading.points_to, answer.reading.source) == ("Bo", TurnKey(1, "positions", 1))

    async def test_a_reference_to_an_open_answer_is_resolved_too(self) -> None:
        result, _ = await debated(
            {
                "ada": [json.dumps(said("It is Porto.", bottom_line="Porto")), "No change."],
                "bo": [json.dumps(said("It is Lisbon.", bottom_line="Lisbon")), "I agree with Ada."],
            },
            rounds=2,
        )
        assert [response.bottom_line for response in result.rounds[1].responses] == ["Porto", "Porto"]
        assert result.answer == "Porto"

    async def test_a_reference_in_the_form_is_resolved_too(self) -> None:
        pointing = json.dumps(said("My position is unchanged.", bottom_line="No change"))
        result, _ = await debated(
            {
                "ada": [json.dumps(said("It is Porto.", bottom_line="Porto")), pointing],
                "bo": [json.dumps(said("It is Porto.", bottom_line="Porto"))] * 2,
            },
            rounds=2,
        )
        answer = response_of(result, "ada")
        assert (answer.bottom_line, result.answer) == ("Porto", "Porto")
        assert answer.reading is not None
        assert answer.reading.source == TurnKey(1, "positions", 0)

    async def test_a_chain_of_references_ends_at_the_first_answer(self) -> None:
        result, _ = await debated(
            {"ada": [chose("Porto"), "No change.", "No change."], "bo": [chose("Lisbon")] * 3}, rounds=3, options=CITIES
        )
        assert response_of(result, "ada").choice == "Porto"

    @pytest.mark.parametrize(
        "text", ["I agree with Zoe.", "I agree with the others."], ids=["nobody of that name", "several"]
    )
    async def test_a_reference_to_nobody_in_particular_stays_unread(self, text: str) -> None:
        result, model = await debated(
            {"ada": [chose("Porto"), text, text], "bo": [chose("Lisbon")] * 2, "cy": [chose("Braga")] * 2},
            rounds=2,
            options=CITIES,
        )
        answer = response_of(result, "ada")
        assert (answer.choice, answer.is_unread) == (None, True)
        assert NOTE in asked_of(model, "ada")[-1]
        assert result.answer is None

    async def test_agents_with_the_same_name_are_resolved_as_they_were_shown(self) -> None:
        model = ScriptedModel(
            {
                "ada": [chose("Porto"), "I agree with Bo 2."],
                "bo-1": [chose("Lisbon")] * 2,
                "bo-2": [chose("Braga")] * 2,
            }
        )
        agents = [
            rt.BaseAgent(rt.AgentConfig(id=name, name=shown, provider="scripted"), model)
            for name, shown in (("ada", "Ada"), ("bo-1", "Bo"), ("bo-2", "Bo"))
        ]
        async with rt.Roundtable(agents, storage="memory://") as table:
            result = await table.debate("Where?", rounds=2, options=CITIES)
        assert response_of(result, "ada").choice == "Braga"

    async def test_agents_that_only_point_to_each_other_in_one_round_take_the_earlier_answers(self) -> None:
        result, _ = await debated(
            {"ada": [chose("Porto"), "I agree with Bo."], "bo": [chose("Lisbon"), "I agree with Ada."]},
            rounds=2,
            options=CITIES,
        )
        assert [response.choice for response in result.rounds[1].responses] == ["Lisbon", "Porto"]

    async def test_an_unread_answer_is_not_the_source_of_a_reference(self) -> None:
        result, _ = await debated(
            {"ada": [UNCLEAR, "Both.", "No change.", "No change."], "bo": [chose("Lisbon")] * 2},
            rounds=2,
            options=CITIES,
        )
        assert response_of(result, "ada").is_unread

    async def test_an_open_answer_of_the_first_round_that_points_nowhere_is_taken_literally(self) -> None:
        result, _ = await debated({"ada": ["No change."], "bo": ["No change."]}, "What should we change?")
        answer = response_of(result, "ada")
        assert (answer.position, answer.is_unread) == ("No change.", False)
        assert result.consensus is not None
        assert result.consensus.agreement_level == 1


class TestAbstentions:
    @pytest.mark.parametrize(
        "text",
        [
            "ABSTAIN",
            "I'm sorry, but I can't help with that.",
            "As an AI, I don't have personal opinions.",
            "I don't know.",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "Je ne peux pas répondre à cette question.",
            "Lo siento, no puedo ayudar con eso.",
            "抱歉，我无法回答这个问题。",
        ],
    )
    @pytest.mark.parametrize("options", [None, CITIES], ids=["open", "options"])
    async def test_a_refusal_in_words_is_an_abstention(self, text: str, options: list[str] | None) -> None:
        line = json.dumps(said("Porto", bottom_line="Porto", **({"choice": "Porto"} if options else {})))
        result, model = await debated({"ada": [text] * 2, "bo": [line], "cy": [line]}, options=options)
        answer = response_of(result, "ada")
        assert (answer.choice, answer.bottom_line, answer.is_unread) == (None, "ABSTAIN", False)
        assert result.answer == "Porto"
        assert result.consensus is not None
        assert result.consensus.agreement_level == 1
        assert len(asked_of(model, "ada")) == 1

    async def test_a_refusal_that_also_chooses_is_a_choice(self) -> None:
        result, _ = await debated(
            {"ada": ["I can't recommend Lisbon. The answer is Porto."], "bo": [chose("Porto")]}, options=CITIES
        )
        assert response_of(result, "ada").choice == "Porto"

    async def test_abstaining_when_asked_again_is_an_abstention(self) -> None:
        result, _ = await debated({"ada": [UNCLEAR, "ABSTAIN"], "bo": [chose("Porto")]}, options=CITIES)
        answer = response_of(result, "ada")
        assert (answer.choice, answer.bottom_line, answer.is_unread) == (None, "ABSTAIN", False)
        assert answer.reading is not None
        assert answer.reading.asked_again


SPEECH = {"position": "A speech.", "confidence": 0.7}


async def in_oxford(votes: Mapping[str, list[str]]) -> tuple[rt.DebateResult, ScriptedModel, list[BallotAnswer]]:
    """Hold a debate whose agents vote before and after it; return their last votes too."""
    says = {name: [{"choice": "For"}, *[SPEECH] * 3, *said] for name, said in votes.items()}
    model = ScriptedModel(says)
    async with table_of(model, *votes) as table:
        result = await table.debate("This house would adopt tea.", mode="oxford", rounds=3)
    answers = [turn.result.answer for turn in result.rounds[-1].turns if isinstance(turn, Turn)]
    return result, model, [answer for answer in answers if isinstance(answer, BallotAnswer)]


class TestVotes:
    async def test_ballots_in_prose_count_and_unclear_ones_are_requested_once_more(self) -> None:
        result, model, votes = await in_oxford(
            {"ada": ["My vote goes to For."], "bo": ["Both sides spoke well.", "B"], "cy": ['{"choice": "for"}']}
        )
        assert [vote.choice for vote in votes] == ["For", "Against", "For"]
        assert [vote.is_unread for vote in votes] == [False] * 3
        assert "| A) For\n| B) Against\n" in asked_of(model, "bo")[-1]
        assert result.answer == "For"
        assert votes[1].reading is not None
        assert votes[1].reading.asked_again

    async def test_a_vote_that_stays_unclear_is_cast_but_unread(self) -> None:
        unclear = ["Both sides spoke well."] * 2
        result, _, votes = await in_oxford({"ada": unclear, "bo": ["Against"], "cy": ["For"], "di": ["For"]})
        assert [vote.choice for vote in votes] == [None, "Against", "For", "For"]
        assert [vote.is_unread for vote in votes] == [True, False, False, False]
        assert result.roster.complete
        assert result.answer is None

    async def test_a_refusal_to_vote_is_an_abstention(self) -> None:
        _, _, votes = await in_oxford({"ada": ["I'd rather not vote."], "bo": ["Against"], "cy": ["ABSTAIN"]})
        assert [(vote.choice, vote.is_unread) for vote in votes] == [(None, False), ("Against", False), (None, False)]


async def in_a_vote(
    votes: Mapping[str, list[Any]], decide: str, **more: Any
) -> tuple[rt.DebateResult, ScriptedModel, list[Any]]:
    """Hold a debate whose agents vote on the options after it; return their ballots too."""
    says = {name: [chose("Lisbon"), *said] for name, said in votes.items()}
    model = ScriptedModel(says)
    async with table_of(model, *votes) as table:
        result = await table.debate("Where?", rounds=1, options=CITIES, vote=True, decide=decide, **more)
    turns = [turn for turn in result.rounds[0].turns if turn.stage == VOTE_STAGE]
    return result, model, [turn.result.answer if isinstance(turn, Turn) else None for turn in turns]


RANKED, APPROVED = {"ranking": ["Lisbon", "Porto", "Braga"]}, {"approved": ["Lisbon"]}
SCORED = {"scores": {"Lisbon": 9, "Porto": 1, "Braga": 0}}
FORMS = [pytest.param("schulze", RANKED), pytest.param("approval", APPROVED), pytest.param("score", SCORED)]


class TestBallots:
    """Rankings, approvals and scores."""

    @pytest.mark.parametrize(
        ("decide", "form", "written"),
        [
            ("schulze", RANKED, "Porto > Lisbon > Braga"),
            ("schulze", RANKED, "1. Porto\n2. Lisbon\n3. Braga"),
            ("approval", APPROVED, "I approve Porto."),
            ("score", SCORED, "Porto: 9\nLisbon: 2\nBraga: 1"),
        ],
    )
    async def test_prose_with_one_reading_is_a_ballot(self, decide: str, form: Any, written: str) -> None:
        result, model, ballots = await in_a_vote({"ada": [form], "bo": [written], "cy": [written]}, decide)
        assert (result.answer, model.calls) == ("Porto", 6)
        assert [ballot.is_unread for ballot in ballots] == [False] * 3
        assert result.decision is not None
        assert result.decision.cast == 3

    @pytest.mark.parametrize(("decide", "form"), FORMS)
    async def test_a_ballot_that_stays_unclear_is_cast_but_unread(self, decide: str, form: Any) -> None:
        unclear = ["Both spoke well."] * 2
        votes = {"ada": [form], "bo": unclear, "cy": unclear}
        result, model, ballots = await in_a_vote(votes, decide)
        assert [ballot.is_unread for ballot in ballots] == [False, True, True]
        assert (result.answer, model.calls) == (None, 8)
        assert result.decision is not None
        assert (result.decision.unread, result.decision.abstained) == (("bo", "cy"), ())
        assert result.decision.withheld == "Lisbon"
        assert result.roster.complete
        assert sum(agent.unread for agent in result.roster.agents) == 2
        assert "votes in a way that could not be read" in result.to_markdown()

    @pytest.mark.parametrize(("decide", "form"), FORMS)
    async def test_an_unread_ballot_that_changes_nothing_leaves_the_winner(self, decide: str, form: Any) -> None:
        votes = {"ada": [form], "bo": [form], "cy": [form], "di": [form], "eli": ["Hm."] * 2}
        result, _, ballots = await in_a_vote(votes, decide)
        assert ballots[-1].is_unread
        assert (result.answer, result.decision and result.decision.unread) == ("Lisbon", ("eli",))

    @pytest.mark.parametrize("words", ["ABSTAIN", "I abstain.", "I'd rather not vote."])
    @pytest.mark.parametrize(("decide", "form"), FORMS)
    async def test_a_refusal_to_vote_is_an_abstention(self, decide: str, form: Any, words: str) -> None:
        result, model, ballots = await in_a_vote({"ada": [form], "bo": [words], "cy": [words]}, decide)
        assert (result.answer, model.calls) == ("Lisbon", 6)
        assert [ballot.is_unread for ballot in ballots] == [False] * 3
        assert result.decision is not None
        assert (result.decision.abstained, result.decision.unread) == (("bo", "cy"), ())

    @pytest.mark.parametrize("second", ["", "null"])
    async def test_a_second_reply_that_says_nothing_leaves_the_first_unread(self, second: str) -> None:
        _, _, ballots = await in_a_vote({"ada": [RANKED], "bo": ["Porto or Lisbon.", second]}, "schulze")
        assert ballots[1].is_unread

    async def test_a_ballot_is_unread_if_its_agent_cannot_be_asked_again(self) -> None:
        votes = {"ada": [RANKED], "bo": ["Porto or Lisbon.", AgentError("out of order")]}
        _, _, ballots = await in_a_vote(votes, "schulze")
        assert ballots[1].is_unread

    async def test_two_scores_for_one_option_are_a_contradiction(self) -> None:
        twice = {"scores": {"porto": 9, "PORTO": 2}}
        _, model, ballots = await in_a_vote({"ada": [SCORED], "bo": [twice, twice]}, "score")
        assert ballots[1].is_unread
        assert "two different values to one option" in asked_of(model, "bo")[-1]

    async def test_a_truncated_list_is_requested_again(self) -> None:
        cut = ChatResponse(text="Porto > Lisbon", finish_reason="length")
        result, _, ballots = await in_a_vote({"ada": [RANKED], "bo": [cut, "Porto > Braga > Lisbon"]}, "schulze")
        assert ballots[1].ranking == (("Porto",), ("Braga",), ("Lisbon",))
        assert result.usage.calls == 5

    async def test_a_position_with_only_reasons_is_given_but_unread(self) -> None:
        empty = {"position": "", "reasoning": "It is Canberra."}
        result, _ = await debated({"ada": [empty, empty], "bo": ["Canberra"] * 2})
        answer = response_of(result, "ada")
        assert (answer.position, answer.is_unread) == ("It is Canberra.", True)


class TestPeople:
    @pytest.mark.parametrize("typed", ["B", "b", "(b)", "2", "Porto", "porto.", "Option B", "B) Porto"])
    async def test_a_person_chooses_by_label(self, typed: str) -> None:
        options = ["1) Lisbon", "2) Porto"] if typed == "2" else LABELLED
        wanted = options[1]

        def ask(turn: HumanTurn) -> Any:
            return {"position": "It is cheap.", "choice": typed} if "choice" in turn.fields else "It is cheap."

        agents = [
            HumanModel(ask, model="lee"),
            *seated(ScriptedModel({"bo": json.dumps(said("x", choice=wanted))}), "bo"),
        ]
        async with rt.Roundtable(agents, storage="memory://") as table:
            result = await table.debate("Where?", rounds=1, options=options)
        assert result.answer == wanted
        assert {response.choice for response in result.rounds[0].responses} == {wanted}


SMALL = [
    pytest.param("The answer is Porto, because it is cheap.", "Porto", id="prose"),
    pytest.param("**Answer:** B) Porto\n\nIt is cheap, and near.", "Porto", id="a bold lead"),
    pytest.param("Porto", "Porto", id="the option alone"),
    pytest.param('```json\n{"position": "It is cheap.", "choice": "Porto"}\n```', "Porto", id="a fence"),
    pytest.param('Sure! {"position": "It is cheap.", "choice": "porto",}', "Porto", id="a trailing comma"),
    pytest.param("{'position': 'It is cheap.', 'choice': 'Porto'}", "Porto", id="the syntax of Python"),
    pytest.param('{"answer": "Porto", "reason": "It is cheap."}', "Porto", id="another form"),
    pytest.param("<think>Lisbon? The answer is Lisbon. No.</think>The answer is Porto.", "Porto", id="a draft"),
    pytest.param("Lisbon? The answer is Lisbon. No.\n</think>\nThe answer is Porto.", "Porto", id="half a draft"),
    pytest.param("So we get $\\boxed{\\text{Porto}}$.", "Porto", id="a box"),
]


class TestSmallModels:
    @pytest.mark.parametrize(("text", "city"), SMALL)
    async def test_replies_of_a_small_local_model_are_read_without_a_second_call(self, text: str, city: str) -> None:
        def answer(_: Seen) -> WireReply:
            return chat_reply(text)

        with LoopbackServer(answer) as server:
            providers = {"compatible": ProviderConfig(base_url=server.url)}
            agents = [
                rt.AgentConfig(id=name, name=name.title(), provider="compatible", model="tiny")
                for name in ("ada", "bo")
            ]
            async with rt.Roundtable(agents, providers=providers, storage="memory://", analyzer="basic") as table:
                result = await table.debate("Where shall we meet?", rounds=1, options=CITIES)
            assert (result.answer, len(server.seen)) == (city, 2)
        assert [response.choice for response in result.rounds[0].responses] == [city, city]

    async def test_an_unclear_answer_is_requested_once_more_over_http(self) -> None:
        def answer(seen: Seen) -> WireReply:
            messages: Sequence[Any] = seen.json["messages"]  # type: ignore[assignment]
            return chat_reply("B" if NOTE in str(messages[-1]["content"]) else UNCLEAR)

        with LoopbackServer(answer) as server:
            providers = {"compatible": ProviderConfig(base_url=server.url)}
            agents = [
                rt.AgentConfig(id=name, name=name.title(), provider="compatible", model="tiny")
                for name in ("ada", "bo")
            ]
            async with rt.Roundtable(agents, providers=providers, storage="memory://", analyzer="basic") as table:
                result = await table.debate("Where shall we meet?", rounds=1, options=CITIES)
            assert (result.answer, len(server.seen)) == ("Porto", 4)


class TestCutForms:
    """JSON that breaks off after, or within, the choice is given and unread; it never counts as no answer."""

    @pytest.mark.parametrize(
        "text",
        [
            '{"choice": "B) Porto", "confidence": "80"',
            '{"choice": "B", "reasoning": "It is che',
            '{"answer": "B',
            '{"choice": "B) Po',
            '{"choice": "B) Porto", "position": "It is che',
        ],
    )
    async def test_the_option_of_the_other_agent_does_not_win(self, text: str) -> None:
        result, model = await debated(
            {"ada": [json.dumps(said("x", choice="A) Lisbon"))], "bo": [text]}, options=LABELLED
        )
        assert result.decision is not None
        assert (result.answer, result.decision.withheld, result.decision.unread) == (None, "A) Lisbon", ("bo",))
        assert model.calls == 3
        assert "Which one do you choose?" in model.requests[-1].messages[-1].content

    async def test_the_letter_that_is_given_when_asked_again_counts(self) -> None:
        replies = {"ada": [json.dumps(said("x", choice="A) Lisbon"))], "bo": ['{"choice": "B) Po', "B"], "cy": ["B"]}
        result, _ = await debated(replies, options=LABELLED)
        assert result.answer == "B) Porto"


class TestFronts:
    async def test_results_over_mcp_carry_the_reading(self) -> None:
        agents = seated(ScriptedModel({"ada": [CLEAR], "bo": [UNCLEAR, "Both."]}), "ada", "bo")
        async with connected(server_of(agents)) as client:
            started = await call(client, "start_roundtable", topic="Where?", rounds=1, options=CITIES)
            details = await call(client, "get_round_details", sessionId=started["sessionId"], roundNumber=1)
            measured = await call(client, "get_consensus", sessionId=started["sessionId"])
        because = "so that Porto, with 1 of 2 votes, is not the answer."
        assert started["unread"] == f"1 answer could not be read: Bo, {because}"
        assert measured["decision"]["unread"] == ["bo"]
        readings = {entry["agentId"]: entry["reading"] for entry in found(details, "reading")}
        assert (readings["ada"]["certainty"], readings["ada"]["value"]) == ("certain", "Porto")
        assert (readings["bo"]["certainty"], readings["bo"]["askedAgain"]) == ("unread", True)

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_results_over_http_carry_the_reading(self) -> None:
        agents = seated(ScriptedModel({"ada": [CLEAR], "bo": [UNCLEAR, "Both."]}), "ada", "bo")
        table = served_table(agents=agents)
        result = await table.debate("Where?", rounds=1, options=CITIES)
        async with client_of(table) as web:
            session = (await web.get(f"/api/sessions/{result.session_id}")).json()
        readings = {entry["agentId"]: entry["reading"] for entry in found(session, "reading")}
        assert readings["ada"]["value"] == "Porto"
        assert readings["bo"]["askedAgain"] is True


def found(value: Any, name: str) -> list[dict[str, Any]]:
    """Return all objects within a value that have a member."""
    if isinstance(value, list):
        return [one for item in value for one in found(item, name)]
    if not isinstance(value, dict):
        return []
    own = [value] if value.get(name) else []
    return own + [one for item in value.values() for one in found(item, name)]


class TestNeighboursOfCases:
    """Situations like those of real reports, each with other data."""

    async def test_texts_with_the_same_start_and_different_numbers_do_not_agree(self) -> None:
        opening = "To find how many eggs are left, we add up the baskets of the week, one day after the other. " * 3
        replies = {
            name: [f"{opening}The answer is {count}."] * 2 for name, count in (("ada", 12), ("bo", 15), ("cy", 21))
        }
        result, _ = await debated(replies, "How many eggs are left?", analyzer="basic")
        assert result.consensus is not None
        assert result.consensus.agreement_level < 1
        assert [response.bottom_line for response in result.rounds[0].responses] == ["12", "15", "21"]

    @pytest.mark.parametrize("written", ["C", "(c)", "Braga", "C. Braga", "Option C", "c) braga", "**Braga**"])
    async def test_each_clear_spelling_of_a_labelled_option_is_a_vote(self, written: str) -> None:
        one = json.dumps(said("I explain it below.", choice=written))
        result, model = await debated(
            {"ada": [one], "bo": [one], "cy": [json.dumps(said("x", choice="A) Lisbon"))]}, options=LABELLED
        )
        assert (result.answer, model.calls) == ("C) Braga", 3)

    async def test_pointing_back_never_makes_an_answer_of_its_words(self) -> None:
        for text in ("I maintain my position.", "Unchanged.", "Je maintiens ma réponse.", "変更なし。"):
            says = {"ada": ["Lisbon", text], "bo": ["Porto", text], "cy": ["Faro", text]}
            table = rt.Roundtable(scripted_agents(says), storage="memory://", analyzer="basic")
            async with table:
                result = await table.debate("Where shall we meet?", rounds=2)
            assert result.consensus is not None
            assert result.consensus.agreement_level < 1, text
            assert result.answer != text
