"""Teams: a goal, rounds of work with tools, a summary; told as seed 004 tells it."""

from __future__ import annotations

from typing import Literal

import anyio
import pytest
from integration.engine_kit import FailingStorage, eventually

import roundtable as rt
from roundtable import sync
from roundtable.api import AgentProfile, load_profiles
from roundtable.errors import AgentError, APINetworkError, ConfigurationError, QuorumLost, StorageError
from roundtable.providers import Delay
from roundtable.storage import MemoryStorage
from roundtable.testing import RecordingObserver, ScriptedModel
from roundtable.types import AgentInfo, ModelProfile

pytestmark = pytest.mark.anyio

PLAN = {"goal": "Find cold prospects.", "strategy": "Count, then rank.", "successCriteria": ["Names are given"]}
CALL = {"toolCalls": [{"name": "count", "args": {"industry": "Healthcare"}}]}
DEAD = AgentError("the model is gone")


def tally(industry: str) -> int:
    """Count accounts of an industry."""
    return len(industry)


class Connects:
    async def aclose(self) -> None:
        raise NotImplementedError


@rt.tool
def count(industry: str) -> int:
    """Count accounts."""
    return len(industry)


def model(chunks: int = 2, **says: object) -> ScriptedModel:
    script = {"initiator": PLAN, "summarizer": "Call Acme.", "ada": "Acme is cold.", "bo": "Acme first.", **says}
    return ScriptedModel(script, chunks=chunks, profile=ModelProfile(streams=True))


def table(spoken: ScriptedModel, **options: object) -> rt.Roundtable:
    return rt.Roundtable([spoken], storage=options.pop("storage", "memory://"), tools=[count], **options)


async def held(spoken: ScriptedModel, agents: object = None, **options: object) -> tuple[list[object], object]:
    """Return all events of a conversation, and its result."""
    agents = agents or [AgentProfile("ada", tools=["count"]), AgentProfile("bo")]
    async with (
        table(spoken) as at,
        at.stream_conversation(agents=agents, messages="Whom do we call?", **options) as events,
    ):
        told = [event async for event in events]
        return told, events.result


async def test_the_sixteen_events_have_the_order_and_fields_of_seed_004() -> None:
    spoken = model(initiator=[CALL, PLAN], ada=[CALL, "Acme is cold.", "Still cold."])
    initiator = AgentProfile("initiator", tools=["count"])
    told, result = await held(spoken, initiator=initiator, rounds=2)
    work = ["agent_start", "agent_response_chunk", "agent_response_chunk", "agent_complete"]
    tools = ["agent_tool_call", "agent_tool_result"]
    assert [event.type for event in told] == [
        "conversation_start",
        "initiator_start",
        "initiator_tool_call",
        "initiator_complete",
        *("round_start", work[0], *tools, *work[1:], *work, "round_complete"),
        *("round_start", *work, *work, "round_complete"),
        *("summarizer_start", "summarizer_chunk", "summarizer_chunk"),
        "conversation_complete",
    ]
    wire = {event.type: event.to_wire()["data"] for event in reversed(told)}
    assert all({"sessionId", "timestamp"} <= set(data) for data in wire.values())
    assert wire["conversation_start"]["agents"] == ["ada", "bo"]
    assert wire["conversation_start"]["rounds"] == 2
    assert wire["initiator_start"]["agent"] == "initiator"
    assert wire["initiator_tool_call"]["toolCall"]["name"] == "count"
    assert {name: wire["initiator_complete"][name] for name in PLAN} == PLAN
    assert wire["round_start"]["goal"] == PLAN["goal"]
    assert wire["agent_start"]["maxSteps"] == 4
    assert wire["agent_tool_call"]["step"] == 1
    assert wire["agent_tool_result"]["toolCallId"] == wire["agent_tool_call"]["toolCall"]["id"]
    done = wire["agent_complete"]
    assert (done["agent"], done["response"], done["steps"], done["finishReason"]) == ("ada", "Acme is cold.", 2, "stop")
    assert done["toolCalls"][0]["toolName"] == "count"
    assert [one["agent"] for one in wire["round_complete"]["results"]] == ["ada", "bo"]
    assert {"agent", "response", "toolCalls", "steps"} <= set(wire["round_complete"]["results"][0])
    end = wire["conversation_complete"]
    assert (end["summary"], end["totalRounds"], end["totalAgents"]) == ("Call Acme.", 2, 2)
    assert end["executionTime"] >= 0
    assert (result.status, result.answer, result.answer_source) == ("completed", "Call Acme.", "synthesis")
    assert (result.team.goal, result.team.strategy) == (PLAN["goal"], PLAN["strategy"])
    assert [one.response for one in result.team.rounds[1]] == ["Still cold.", "Acme first."]
    assert {agent.agent_id: agent.answered for agent in result.roster.agents}["ada"] == 2
    assert "Acme" in result.to_markdown()
    assert result.to_html()
    assert result.to_text()
    assert rt.DebateResult.model_validate_json(result.model_dump_json()) == result


async def test_sequential_agents_see_earlier_reports_and_parallel_agents_do_not() -> None:
    for order, seen in (("sequential", True), ("parallel", False)):
        spoken = model()
        await held(spoken, rounds=1, order=order)
        asked = {request.metadata["agent"]: request.messages[-1].content for request in spoken.requests}
        assert ("Acme is cold." in asked["bo"]) is seen
        assert "Acme first." in asked["summarizer"]
        assert "Find cold prospects." in asked["ada"]


async def test_tools_are_offered_to_their_owners_and_steps_have_a_limit() -> None:
    spoken = model(ada=[CALL, "It is done."])
    _, result = await held(spoken, [AgentProfile("ada", tools=["count"], max_steps=2), AgentProfile("bo")], rounds=1)
    offered = {
        request.metadata["agent"]: [tool.name for tool in request.tools] for request in reversed(spoken.requests)
    }
    assert offered == {"initiator": [], "ada": ["count"], "bo": [], "summarizer": []}
    assert result.team.rounds[0][0].steps == 2


async def test_a_profile_can_have_functions_and_models() -> None:
    def weigh(item: str) -> int:
        """Weigh an item."""
        return len(item)

    own = ScriptedModel({"*": "By my own model."}, model="own")
    profiles = [AgentProfile("ada", tools=[weigh, "count"], model=own, instructions="You weigh.")]
    spoken = model()
    _, result = await held(spoken, profiles, rounds=1)
    assert [tool.name for tool in own.requests[0].tools] == ["weigh", "count"]
    assert own.requests[0].messages[0].content.startswith("You weigh.")
    assert result.team.rounds[0][0].response == "By my own model."


async def test_a_failed_agent_is_skipped_and_reported_as_missing() -> None:
    told, result = await held(model(ada=DEAD), rounds=1)
    error = next(event for event in told if event.type == "agent_error")
    assert (error.agent, error.action) == ("ada", "skip")
    assert (result.status, result.answer) == ("completed", "Call Acme.")
    assert not result.roster.complete


async def test_an_agent_can_retry_once() -> None:
    profiles = [AgentProfile("ada", on_error="retry"), AgentProfile("bo", on_error="retry")]
    spoken = model(ada=[DEAD, "Now it works."], bo=DEAD)
    told, result = await held(spoken, profiles, rounds=1)
    errors = [(event.agent, event.action) for event in told if event.type == "agent_error"]
    assert errors == [("ada", "retry"), ("bo", "retry"), ("bo", "skip")]
    assert [one.response for one in result.team.rounds[0]] == ["Now it works."]


async def test_an_agent_can_end_the_conversation_which_can_then_be_resumed() -> None:
    spoken = model(ada=[DEAD, "Now it works."])
    at = table(spoken)
    with pytest.raises(AgentError, match="cannot continue without it") as caught:
        await at.converse(agents=[AgentProfile("ada", on_error="abort")], messages="Go.", rounds=1)
    assert caught.value.code == "AGENT_EXECUTION_FAILED"
    partial = caught.value.partial
    assert (partial.status, partial.session_status, partial.team.goal) == ("partial", "error", PLAN["goal"])
    error = [event async for event in at.watch(partial.session_id)][-1]
    assert (error.type, error.agent, error.code) == ("error", "ada", "AGENT_EXECUTION_FAILED")
    assert (await at.resume(partial.session_id)).answer == "Call Acme."


@pytest.mark.parametrize("who", ["initiator", "summarizer"])
async def test_initiator_and_summarizer_fail_by_the_same_rules(who: str) -> None:
    told, result = await held(model(**{who: DEAD}), rounds=1)
    assert [event.agent for event in told if event.type == "agent_error"] == [who]
    assert result.status == "completed"
    if who == "initiator":
        assert (result.team.goal, result.team.strategy, result.answer) == ("Whom do we call?", None, "Call Acme.")
    else:
        assert (result.answer, result.answer_reason) == (None, "no summary of the team's reports was written")
        assert told[-1].summary == "ada: Acme is cold.\n\nbo: Acme first."
    again = {"on_error": "retry"}
    script = [DEAD, PLAN] if who == "initiator" else [DEAD, "Call Acme."]
    _, result = await held(model(**{who: script}), rounds=1, **{who: AgentProfile(who, **again)})
    assert result.answer == "Call Acme."


@pytest.mark.parametrize("who", ["initiator", "summarizer"])
async def test_a_conversation_that_ended_outside_its_rounds_continues_there(who: str) -> None:
    good = PLAN if who == "initiator" else "Call Acme."
    spoken = model(**{who: [DEAD, DEAD, good]})
    at = table(spoken)
    framing = {who: AgentProfile(who, on_error="abort")}
    with pytest.raises(AgentError) as caught:
        await at.converse(agents=[AgentProfile("ada")], messages="Go.", rounds=1, **framing)
    session_id = caught.value.session_id
    with pytest.raises(AgentError):
        await at.resume(session_id)
    result = await at.resume(session_id)
    assert (result.answer, result.team.goal) == ("Call Acme.", PLAN["goal"])
    assert len([one for one in spoken.requests if one.metadata["agent"] == "ada"]) == 1


async def test_a_retry_of_the_initiator_names_the_round_in_which_its_turn_is_stored() -> None:
    replies = [APINetworkError("cut"), PLAN]
    observer = RecordingObserver()
    async with table(model(initiator=replies), observers=[observer]) as at:
        result = await at.converse(agents=[AgentProfile("ada")], messages="Whom do we call?", rounds=1)
    assert [(event.stage, event.round) for event in observer.events if event.type == "retry"] == [("initiator", 1)]
    assert [turn.round for turn in result.rounds[0].turns if turn.stage == "initiator"] == [1]


@pytest.mark.parametrize("failing_append", range(1, 6))
async def test_a_turn_that_was_stored_despite_a_write_error_counts_once(failing_append: int) -> None:
    storage = FailingStorage(MemoryStorage(), after=failing_append, lost_answer=True)
    async with table(model(), storage=storage) as at:
        with pytest.raises(StorageError) as broken:
            await at.converse(agents=[AgentProfile("ada")], messages="Whom do we call?", rounds=1)
        storage.left = None
        session_id = broken.value.session_id
        assert session_id is not None
        result = await at.session(session_id)
        if result.session_status != "completed":
            result = await at.resume(session_id)
    assert (result.answer, result.usage.calls) == ("Call Acme.", 3)


async def test_a_round_without_answers_is_a_lost_quorum() -> None:
    with pytest.raises(QuorumLost, match="0 of 2"):
        await table(model(ada=DEAD, bo=DEAD)).converse(
            agents=[AgentProfile("ada"), AgentProfile("bo")], messages="Go.", rounds=1
        )


@pytest.mark.parametrize("order", ["sequential", "parallel"])
async def test_after_a_round_without_answers_every_member_is_asked_again(
    order: Literal["sequential", "parallel"],
) -> None:
    spoken = model(ada=[DEAD, "Acme is cold."], bo=[DEAD, "Acme first."])
    at = table(spoken)
    with pytest.raises(QuorumLost) as caught:
        await at.converse(agents=[AgentProfile("ada"), AgentProfile("bo")], messages="Go.", rounds=1, order=order)
    result = await at.resume(caught.value.session_id)
    assert [(one.agent, one.response) for one in result.team.rounds[0]] == [
        ("ada", "Acme is cold."),
        ("bo", "Acme first."),
    ]
    assert [turn.attempt for turn in result.rounds[0].turns if turn.agent_id in {"ada", "bo"}] == [2, 2]


async def test_a_failed_member_is_not_asked_again_if_others_reported_before_a_pause() -> None:
    at = table(model(bo=[DEAD, "Acme first."]))
    profiles = [AgentProfile("ada"), AgentProfile("bo"), AgentProfile("cy")]
    budget = rt.Budget(max_calls=3)
    result = await at.converse(agents=profiles, messages="Go.", rounds=1, order="sequential", budget=budget)
    assert result.session_status == "paused"
    result = await at.resume(result.session_id, budget=rt.Budget(max_calls=9))
    assert [turn.attempt for turn in result.rounds[0].turns if turn.agent_id == "bo"] == [1]


@pytest.mark.slow
async def test_a_conversation_that_takes_too_long_says_so_and_can_be_resumed() -> None:
    spoken = model(ada=[Delay(60, "late"), "in time"])
    at = table(spoken)
    result = await at.converse(agents=[AgentProfile("ada")], messages="Go.", rounds=1, timeout_s=1.0)
    assert (result.status, result.exit.reason, result.error.code) == ("partial", "deadline", "CONVERSATION_TIMEOUT")
    told = [event async for event in at.watch(result.session_id)]
    assert (told[-1].type, told[-1].recoverable) == ("error", True)
    assert (await at.resume(result.session_id)).answer == "Call Acme."


async def test_a_stop_ends_it_and_a_spent_budget_pauses_it() -> None:
    async with table(model(ada=Delay(30, "late"))) as at:
        handle = await at.start_conversation(agents=[AgentProfile("ada")], messages="Go.", rounds=1)
        async for event in handle.events():
            if event.type == "agent_start":
                await handle.stop()
        result = await handle.result()
        assert (result.session_status, result.exit.reason, result.status) == ("completed", "stopped", "partial")
    result = await table(model()).converse(
        agents=[AgentProfile("ada")], messages="Go.", rounds=5, budget=rt.Budget(max_calls=2)
    )
    assert (result.session_status, result.exit.reason) == ("paused", "budget")


async def test_another_table_continues_a_stored_team(tmp_path) -> None:
    place = f"sqlite:///{tmp_path / 'team.db'}"
    asked = model(ada=[CALL, Delay(60, "late")])
    profiles = [AgentProfile("ada", tools=["count"]), AgentProfile("bo")]
    async with table(asked, storage=place) as first:
        handle = await first.start_conversation(agents=profiles, messages="Go.", rounds=1)
        await eventually(lambda: asked.calls_for("ada") == 2)
        await handle.pause(running="cancel")
        result = await handle.result()
    spoken = model(ada=[CALL, "Counted."])
    second = table(spoken, storage=place)
    done = await second.resume(result.session_id)
    assert (done.answer, done.team.rounds[0][0].response) == ("Call Acme.", "Counted.")
    assert [request.metadata["agent"] for request in spoken.requests] == ["ada", "ada", "bo", "summarizer"]
    again = await second.session(result.session_id)
    assert again == done
    exported = await second.export(result.session_id, "json")
    await second.delete(result.session_id)
    assert (await second.session(await second.import_(exported))).answer == "Call Acme."
    with pytest.raises(ConfigurationError, match="only debates can be forked"):
        await second.fork(result.session_id, at_round=1)
    more = await second.extend(result.session_id, rounds=1)
    assert (len(more.team.rounds), more.answer) == (2, "Call Acme.")
    await second.aclose()


async def test_the_conversation_before_the_request_is_shown_as_quotations() -> None:
    spoken = model()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "How can I help?", "timestamp": "2024-01-15T10:00:00Z"},
        {"role": "user", "content": "Whom do we call?"},
    ]
    result = await table(spoken).converse(agents=[AgentProfile("ada")], messages=messages, rounds=1)
    assert result.topic == "Whom do we call?"
    system, user = (message.content for message in spoken.requests[0].messages)
    assert "Be brief." in user
    assert "Be brief." not in system
    assert "How can I help?" in user
    assert "ada: no tools" in user


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"agents": ["nobody"]}, "AGENT_NOT_FOUND", "unknown agent 'nobody'; known profiles: scout"),
        ({"agents": []}, "VALIDATION_ERROR", "1 to 5"),
        ({"agents": "scout"}, "VALIDATION_ERROR", "1 to 5"),
        ({"agents": ["scout"] * 6}, "VALIDATION_ERROR", "1 to 5"),
        ({"agents": ["scout", "scout"]}, "VALIDATION_ERROR", "different names.*scout"),
        ({"agents": [7]}, "VALIDATION_ERROR", "not int"),
        ({"agents": [AgentProfile("initiator")]}, "VALIDATION_ERROR", "none of them 'initiator'"),
        ({"rounds": 11}, "MAX_ROUNDS_EXCEEDED", "at most 10"),
        ({"rounds": 0}, "VALIDATION_ERROR", "whole number from 1"),
        ({"rounds": True}, "VALIDATION_ERROR", "whole number"),
        ({"messages": []}, "VALIDATION_ERROR", "at least one message of the user"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "VALIDATION_ERROR", "at least one message"),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, "VALIDATION_ERROR", r"messages\[0\].*role"),
        ({"messages": 7}, "VALIDATION_ERROR", "a text or a list"),
        ({"messages": "x" * 10_001}, "VALIDATION_ERROR", "10,000 characters"),
        ({"order": "random"}, "VALIDATION_ERROR", "'sequential' or 'parallel'"),
        ({"initiator": AgentProfile("chief")}, "VALIDATION_ERROR", "named 'initiator'"),
        ({"timeout_s": -1}, "CONFIGURATION_ERROR", "timeout_s"),
        ({"agents": [AgentProfile("ada", tools=["saw"])]}, "CONFIGURATION_ERROR", "saw"),
        ({"agents": [AgentProfile("ada", tools=[Connects()])]}, "CONFIGURATION_ERROR", "only a table can"),
        ({"agents": [AgentProfile("ada", model=7)]}, "CONFIGURATION_ERROR", "chat model, not int"),
        ({"agents": [AgentProfile("ada", model="nowhere:m")]}, "CONFIGURATION_ERROR", "nowhere"),
    ],
)
async def test_wrong_arguments_are_refused_before_any_agent_is_asked(given, code, words) -> None:
    spoken = model()
    at = table(spoken, profiles=[AgentProfile("scout")])
    with pytest.raises(ConfigurationError, match=words) as caught:
        await at.converse(**{"agents": ["scout"], "messages": "Go.", **given})
    assert (caught.value.code, spoken.requests) == (code, [])


async def test_a_team_needs_a_model_and_is_not_a_mode_of_a_debate() -> None:
    class Mute:
        id = name = provider = model = "mute"

        async def take_turn(self, context, listener=None):
            raise NotImplementedError

        def get_info(self):
            return AgentInfo(id="mute", name="mute", provider="mute", model="mute")

    with pytest.raises(ConfigurationError, match="has a chat model"):
        await rt.Roundtable([Mute()], storage="memory://").converse(agents=[AgentProfile("ada")], messages="Go.")
    with pytest.raises(ConfigurationError, match="'team'"):
        await table(model()).debate("Tea?", mode="team")


def test_profiles_come_from_files(tmp_path) -> None:
    toml = tmp_path / "team.toml"
    toml.write_text('[ada]\ninstructions = "You count."\ntools = ["count"]\nmax_steps = 3\n[bo]\non_error = "abort"\n')
    yaml = tmp_path / "team.yaml"
    yaml.write_text("ada:\n  instructions: You count.\n  tools: [count]\n  max_steps: 3\nbo:\n  on_error: abort\n")
    assert load_profiles(toml) == load_profiles(yaml)
    assert [profile.name for profile in load_profiles(toml)] == ["ada", "bo"]
    at = rt.Roundtable([model()], storage="memory://", profiles=[toml])
    assert at._wiring.catalog.profiles.names() == ("ada", "bo")
    for text, words in (
        ("", "contains no profiles"),
        ("ada = 1", "not a table with a profile"),
        ("[ada]\nage = 3", "unknown fields: age"),
        ("[ada", "cannot be read"),
        ("[ada]\nmax_steps = 0", "max_steps must be"),
        ('[ada]\ntools = "count"', "tools must be a list"),
        ('[ada]\non_error = "cry"', "on_error must be one of"),
        ("[ada]\ninstructions = 1", "instructions must be a string"),
        ('["a b"]', "the name must have 1 to 100"),
    ):
        toml.write_text(text)
        with pytest.raises(ConfigurationError, match=words):
            load_profiles(toml)
    yaml.write_text("ada: [")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_profiles(yaml)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_profiles(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match="an AgentProfile or a file, not int"):
        rt.Roundtable(profiles=[7], storage="memory://")._wiring  # noqa: B018


async def test_a_plugin_brings_profiles_with_their_tools() -> None:
    class Plugin:
        @rt.hookimpl
        def roundtable_register_profiles(self, registrar) -> None:
            registrar.add("counter", AgentProfile("counter", tools=["tally"]))

        @rt.hookimpl
        def roundtable_register_tools(self, registrar) -> None:
            registrar.add("tally", lambda: rt.tool(name="tally")(tally))

    spoken = model(counter="Counted.")
    at = rt.Roundtable([spoken], storage="memory://", plugins=[Plugin()])
    result = await at.converse(agents=["counter"], messages="Go.", rounds=1)
    assert result.team.rounds[0][0].response == "Counted."
    assert [tool.name for tool in spoken.requests[1].tools] == ["tally"]

    class Wrong:
        @rt.hookimpl
        def roundtable_register_profiles(self, registrar) -> None:
            registrar.add("counter", AgentProfile("other"))

    with pytest.raises(ConfigurationError, match="must be registered with an AgentProfile of this name"):
        rt.Roundtable([spoken], storage="memory://", plugins=[Wrong()])._wiring  # noqa: B018


async def test_leaving_the_stream_pauses_the_conversation() -> None:
    async with table(model(ada=Delay(60, "late"))) as at:
        async with at.stream_conversation(agents=[AgentProfile("ada")], messages="Go.", rounds=1) as events:
            async for event in events:
                if event.type == "round_start":
                    break
        assert (events.result.session_status, events.result.exit.reason) == ("paused", "cancelled")


def test_the_blocking_facade_has_the_same_conversations() -> None:
    with sync.Roundtable([model()], storage="memory://") as at:
        ask = {"agents": [AgentProfile("ada")], "messages": "Go.", "rounds": 1}
        assert at.converse(**ask).answer == "Call Acme."
        with at.stream_conversation(**ask) as events:
            assert [event.type for event in events][-1] == "conversation_complete"
        assert at.start_conversation(**ask).result().answer == "Call Acme."


def test_a_team_works_in_trio_too() -> None:
    result = anyio.run(held, model(), backend="trio")
    assert result[1].answer == "Call Acme."


def test_the_report_of_a_team_has_no_line_about_independent_agreement() -> None:
    with sync.Roundtable([ScriptedModel({"*": "Order tea."})], storage="memory://") as seated:
        result = seated.converse(agents=[AgentProfile("buyer", instructions="You buy.")], messages="Buy.", rounds=1)
    assert "Status: completed" in f"{result}"
    assert "Independent agreement" not in f"{result}"
