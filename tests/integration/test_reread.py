"""A reread session has the answers of another one as the present rules read them, and leaves that one as it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from integration.engine_kit import lawful, log_of, said
from reading_kit import Reply, made_up_replies

import roundtable as rt
from roundtable.core.record.chain import chain_events, first_hash
from roundtable.core.types.teams import Team, TeamMember
from roundtable.engine.reread import read_again, reread_session
from roundtable.errors import ConfigurationError, SessionConflict, SessionNotFound
from roundtable.providers.scripted import ScriptedModel
from roundtable.reading import READER_VERSION
from roundtable.record import Fold, store_whole
from roundtable.testing import scripted_agents
from roundtable.types import AgentComplete, AgentResponse, DurableEvent, SessionRecord, Turn

CITIES: Final = ("A) Lisbon", "B) Porto")
AT_ONCE: Final = 10
"""Agents of one debate."""
PROSE: Final = "Lisbon is larger and has more trains, yet rents decide here. " * 4 + "So I'd go with (B)."


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'sessions.db'}"


def agents_of(replies: dict[str, Any]) -> list[rt.BaseAgent]:
    return [
        rt.BaseAgent(
            rt.AgentConfig(id=name, name=name.title(), provider="scripted"),
            ScriptedModel(texts if isinstance(texts, list) else [texts]),
        )
        for name, texts in replies.items()
    ]


def without_reading(turn: Turn, **answer: Any) -> Turn:
    """Return a turn as version 0.2.0 stored it."""
    old = turn.answer.model_copy(update={"reading": None, **answer})
    return turn.model_copy(update={"result": turn.result.model_copy(update={"answer": old})})


async def store_old(
    table: rt.Roundtable, session_id: str, answers: dict[str, dict[str, Any]], warnings: dict[str, tuple[str, ...]]
) -> str:
    """Store a copy of a session without readings, with other parts of some answers; return its id."""
    storage = table._wiring.storage
    record, events = await storage.read(session_id)

    def old(event: DurableEvent) -> DurableEvent:
        event = event.model_copy(update={"session_id": "old"})
        if not isinstance(event, AgentComplete) or not isinstance(event.turn.answer, AgentResponse):
            return event
        turn = without_reading(event.turn, **answers.get(event.turn.agent_id, {}))
        notes = warnings.get(turn.agent_id, turn.result.warnings)
        turn = turn.model_copy(update={"result": turn.result.model_copy(update={"warnings": notes})})
        return event.model_copy(update={"turn": turn})

    record = record.model_copy(update={"id": "old"})
    await store_whole(storage, record, tuple(chain_events(first_hash(record), 0, [old(event) for event in events])))
    return "old"


def positions(result: rt.DebateResult) -> dict[str, AgentResponse]:
    return {response.agent_id: response for response in result.rounds[-1].responses}


def facts(answer: AgentResponse) -> tuple[object, ...]:
    """Return what an answer says; where a short reply became the option itself, other characters are read."""
    reading = answer.reading
    assert reading is not None
    return answer.position, answer.choice, answer.bottom_line, reading.model_copy(update={"span": None})


async def test_sessions_of_earlier_versions_get_readings(place: str) -> None:
    replies = {
        "ada": said("Porto is cheaper.", choice="B) Porto"),
        "bo": said("Lisbon has an airport.", choice="A) Lisbon"),
        "cy": said("Both are far.", choice="A) Lisbon"),
    }
    async with rt.Roundtable(agents_of(replies), storage=place) as table:
        told = await table.debate("Which city?", rounds=1, options=CITIES)
        # Version 0.2.0 took no choice from prose: the position had its first 200 characters, the reasoning the whole.
        prose = {"choice": None, "position": PROSE[:200], "reasoning": PROSE}
        old = await store_old(table, told.session_id, {"cy": prose}, {"cy": ("the answer was prose, taken as it is",)})
        before = await log_of(table._wiring.storage, old)
        again = await table.reread(old)

        assert (told.answer, again.answer) == ("A) Lisbon", "B) Porto")
        assert {name: answer.choice for name, answer in positions(again).items()} == {
            "ada": "B) Porto",
            "bo": "A) Lisbon",
            "cy": "B) Porto",
        }
        reading = positions(again)["cy"].reading
        assert reading is not None
        assert (reading.rule, reading.place, reading.version) == ("choose", "reply", READER_VERSION)
        assert all(answer.reading is not None for answer in positions(again).values())
        assert again.consensus is not None
        assert again.consensus.clusters[0].agent_ids == ("ada", "cy")

        assert await log_of(table._wiring.storage, old) == before
        assert (again.usage.calls, again.status, again.session_id) == (0, "completed", again.session_id)
        assert (await table.verify(again.session_id)).verdict == "intact"
        fold = lawful(*await table._wiring.storage.read(again.session_id))
        origin = fold.record.forked_from
        assert origin is not None
        assert (origin.session_id, origin.at_round, origin.reread) == (old, 1, READER_VERSION)
        assert fold.record.prompt_version == told_record(await table._wiring.storage.read(old)).prompt_version


def told_record(stored: tuple[SessionRecord, tuple[DurableEvent, ...]]) -> SessionRecord:
    return stored[0]


async def test_a_session_of_this_version_keeps_its_figures(place: str) -> None:
    replies = {
        "ada": ["The answer is Porto.", said("Porto", compared={"you": "same"})],
        "bo": [said("Porto is cheaper.", bottom_line="Porto"), said("Faro", bottom_line="Faro")],
        "cy": [said("Lisbon"), "I agree with Bo."],
    }
    async with rt.Roundtable(agents_of(replies), storage=place, analyzer="declared") as table:
        told = await table.debate("Which city?", rounds=2)
        again = await table.reread(told.session_id)
        for held, read in zip(told.rounds, again.rounds, strict=True):
            assert read.responses == held.responses
            assert (read.consensus, read.decision, read.usage) == (held.consensus, held.decision, held.usage)
        assert (again.answer, again.exit, again.independent_agreement) == (
            told.answer,
            told.exit,
            told.independent_agreement,
        )
        assert (await table.reread(again.session_id)).answer == told.answer


async def test_a_reread_session_can_be_extended(place: str) -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage=place) as table:
        told = await table.debate("Tea?", rounds=1)
        again = await table.reread(told.session_id)
        longer = await table.extend(again.session_id, rounds=1)
        assert (len(longer.rounds), longer.usage.calls, longer.status) == (2, 2, "completed")


def by_options(replies: Iterable[Reply]) -> dict[tuple[str, ...], list[Reply]]:
    groups: dict[tuple[str, ...], list[Reply]] = defaultdict(list)
    for reply in replies:
        groups[reply.options if reply.kind == "choice" else ()].append(reply)
    return groups


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_answers_stored_by_this_version_are_read_in_the_same_way_again() -> None:
    for options, replies in by_options(made_up_replies()).items():
        for start in range(0, len(replies), AT_ONCE):
            group = replies[start : start + AT_ONCE]
            texts = {f"a{number}": [reply.text] * 2 for number, reply in enumerate(group)}
            agents = agents_of({**texts, "last": said(options[0] if options else "By the river")})
            async with rt.Roundtable(agents, storage="memory://", analyzer="declared") as table:
                told = await table.debate("Which?", rounds=1, options=options or None)
                again = await table.reread(told.session_id)
                for read, held in zip(again.rounds[0].responses, told.rounds[0].responses, strict=True):
                    assert facts(read) == facts(held)


async def test_a_choice_outside_the_options_is_not_replaced() -> None:
    replies = {"ada": said("Porto is cheaper.", choice="B) Porto"), "bo": said("B", choice="A) Lisbon")}
    async with rt.Roundtable(agents_of(replies), storage="memory://") as table:
        told = await table.debate("Which city?", rounds=1, options=CITIES)
        old = await store_old(
            table,
            told.session_id,
            {"bo": {"choice": None}},
            {"bo": ("the choice 'Madrid' is none of the options",)},
        )
        again = await table.reread(old)
        assert (positions(again)["bo"].choice, positions(again)["bo"].reading) == (None, None)


async def test_answers_to_closed_questions_and_references_keep_their_stored_readings() -> None:
    replies = {
        "ada": [said("Porto is cheaper.", choice="B) Porto"), "No change."],
        "bo": [[said("Both are fine.", choice="Both"), "A"], said("Lisbon", choice="A")],
    }
    flat = {
        name: [text for item in texts for text in (item if isinstance(item, list) else [item])]
        for name, texts in replies.items()
    }
    async with rt.Roundtable(agents_of(flat), storage="memory://") as table:
        told = await table.debate("Which city?", rounds=2, options=CITIES)
        first = {response.agent_id: response for response in told.rounds[0].responses}
        assert first["bo"].choice == "A) Lisbon"
        assert positions(told)["ada"].choice == "B) Porto"
        again = await table.reread(told.session_id)
        for read, held in zip(again.rounds, told.rounds, strict=True):
            assert list(map(facts, read.responses)) == list(map(facts, held.responses))


async def test_an_answer_that_now_points_to_another_agent_does_not_keep_the_stored_source() -> None:
    replies = {"ada": [said("Porto", bottom_line="Porto"), "No change."], "bo": [said("Faro"), said("Faro")]}
    async with rt.Roundtable(agents_of(replies), storage="memory://", analyzer="declared") as table:
        told = await table.debate("Where?", rounds=2)
    turn, answer = told.rounds[1].turns[0], positions(told)["ada"]
    assert turn.outcome == "answered"
    assert (answer.bottom_line, answer.reading and answer.reading.points_to) == ("Porto", "you")
    source = answer.reading and answer.reading.source
    assert source is not None
    earlier = {source: told.rounds[0].responses[0]}
    for text, line in (("No change.", "Porto"), ("I agree with Bo.", None)):
        changed = answer.model_copy(update={"position": text, "reasoning": ""})
        again = read_again(
            turn.model_copy(update={"result": turn.result.model_copy(update={"answer": changed})}), None, earlier
        )
        assert isinstance(again.answer, AgentResponse)
        assert (again.answer.bottom_line, again.answer.is_unread) == (line, line is None)


async def test_a_vote_on_the_answers_is_not_counted_again() -> None:
    vote = {"ranking": ["A", "B"], "reasoning": "It is near."}
    replies = {
        "ada": [said("By the river.", bottom_line="By the river"), vote],
        "bo": [said("In the hills.", bottom_line="In the hills"), vote],
    }
    async with rt.Roundtable(agents_of(replies), storage="memory://", analyzer="declared") as table:
        told = await table.debate("Where?", rounds=1, vote=True)
        old = await store_old(table, told.session_id, {"ada": {"bottom_line": "In the hills"}}, {})
        again = await table.reread(old)
        assert told.decision is not None
        assert again.decision == told.decision


async def test_rounds_that_a_model_measured_keep_its_reading_if_their_answers_stay(place: str) -> None:
    replies = {
        "ada": [said("Porto", bottom_line="Porto"), said("Lisbon", bottom_line="Lisbon")],
        "bo": [said("Faro", bottom_line="Faro"), said("The capital", bottom_line="The capital")],
    }
    groups = ScriptedModel(
        [{"agreementLevel": 0.0, "groups": [["A1"], ["A2"]]}, {"agreementLevel": 1.0, "groups": [["A1", "A2"]]}]
    )
    async with rt.Roundtable(agents_of(replies), storage=place, analyzer="ai", seats={"analyzer": groups}) as table:
        told = await table.debate("Where?", rounds=2)
        record, events = await table._wiring.storage.read(told.session_id)
        first = next(event for event in events if isinstance(event, AgentComplete) and event.turn.agent_id == "ada")
        changed = without_reading(first.turn, position="The answer is Faro.", bottom_line=None)
        again, read = await reread_session(
            record,
            [event.model_copy(update={"turn": changed}) if event is first else event for event in events],
            "again",
            groupthink=True,
            rules=None,
            now=record.created_at,
        )
        rounds = Fold(again, read).to_record().rounds
        assert [held.consensus.method for held in told.rounds if held.consensus] == ["ai", "ai"]
        assert [held.consensus.method for held in rounds if held.consensus] == ["declared", "ai"]
        assert rounds[0].decision is not None
        assert rounds[0].decision.winner == "Faro"
        assert rounds[1].consensus == told.rounds[1].consensus
        assert rounds[1].decision == told.rounds[1].decision


@pytest.mark.parametrize("analyzer", ["basic", "semantic", "stance"])
async def test_a_round_is_measured_again_by_the_method_that_measured_it(analyzer: str) -> None:
    async with rt.Roundtable(
        scripted_agents({"ada": "Porto", "bo": "Porto"}), storage="memory://", analyzer=analyzer
    ) as table:
        told = await table.debate("Where?", rounds=1)
        old = await store_old(table, told.session_id, {"ada": {"position": "The answer is Lisbon."}}, {})
        again = await table.reread(old)
        assert positions(again)["ada"].bottom_line == "Lisbon"
        assert told.consensus is not None
        assert again.consensus is not None
        assert again.consensus.method == told.consensus.method
        assert again.consensus != told.consensus


async def test_the_decision_of_judges_stays() -> None:
    judge = ScriptedModel([{"choice": "tea", "reasoning": "It keeps."}])
    agents = scripted_agents(
        {"ada": {"position": "Tea", "choice": "tea"}, "bo": {"position": "Coffee", "choice": "coffee"}}
    )
    async with rt.Roundtable(agents, storage="memory://", seats={"judge": judge}) as table:
        told = await table.debate("What shall we drink?", rounds=1, options=["tea", "coffee"], decide="judge")
        old = await store_old(table, told.session_id, {"ada": {"position": "The answer is coffee."}}, {})
        again = await table.reread(old)
        assert positions(again)["ada"].is_unread
        assert (again.answer, again.decision) == (told.answer, told.decision)


async def test_answers_that_point_back_stay_unread_if_the_shown_answers_were_not_stored() -> None:
    replies = {"ada": [said("Porto", bottom_line="Porto"), said("Porto.")], "bo": [said("Porto"), said("Porto")]}
    async with rt.Roundtable(agents_of(replies), storage="memory://", analyzer="declared") as table:
        told = await table.debate("Where?", rounds=2)
        prose = {"position": "No change.", "reasoning": "", "bottom_line": None}
        notes = {"ada": ("the answer was prose, taken as it is",)}
        again = await table.reread(await store_old(table, told.session_id, {"ada": prose}, notes))
        first, last = (held.responses[0].reading for held in again.rounds)
        assert first is not None
        assert last is not None
        assert (first.certainty, first.rule) == ("certain", "whole")  # nothing was shown in the first round
        assert (last.certainty, last.points_to) == ("unread", "you")
        assert positions(again)["ada"].is_unread


async def test_a_conversation_of_a_team_is_not_read_again() -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as table:
        told = await table.debate("Tea?", rounds=1)
        record, events = await table._wiring.storage.read(told.session_id)
        team = record.model_copy(
            update={"config": record.config.model_copy(update={"team": Team(members=(TeamMember(agent="ada"),))})}
        )
        with pytest.raises(ConfigurationError, match="only the answers of debates can be read again"):
            await reread_session(team, events, "again", groupthink=True, rules=None, now=record.created_at)


async def test_only_completed_debates_are_read_again() -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        with pytest.raises(SessionNotFound):
            await table.reread("unknown")
        handle = await table.start("Tea?", rounds=2, step=True)
        await handle.result()
        with pytest.raises(SessionConflict, match="only completed debates can be read again"):
            await table.reread(handle.session_id)
