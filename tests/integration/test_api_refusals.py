"""What cannot work is refused before anybody is asked and before anything is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration.engine_kit import CountingModel, seated, table_of

from roundtable import AgentConfig, Roundtable
from roundtable.errors import ConfigurationError
from roundtable.exits import MaxRounds
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing.storage_samples import nested
from roundtable.types import ContextResult, ProviderConfig

ADA = AgentConfig(id="ada", name="Ada", provider="scripted")


class Unprofiled(ScriptedModel):
    """A chat model whose author forgot the profile."""

    def __getattribute__(self, name: str) -> Any:
        return None if name == "profile" else super().__getattribute__(name)


REFUSED = [
    pytest.param({"topic": ""}, "topic", id="empty topic"),
    pytest.param({"topic": " \n\t "}, "not white space", id="blank topic"),
    pytest.param({"topic": "x" * 10_001}, "at most 10000 characters", id="long topic"),
    pytest.param({"topic": None}, "topic", id="no topic"),
    pytest.param({"rounds": 0}, "rounds must be from 1 to 10, not 0", id="no rounds"),
    pytest.param({"rounds": 11}, "rounds must be from 1 to 10, not 11", id="many rounds"),
    pytest.param({"rounds": 1_000_000}, "rounds must be from 1 to 10", id="a million rounds"),
    pytest.param({"rounds": 2.5}, "rounds", id="half a round"),
    pytest.param({"rounds": "3"}, "rounds must be a whole number, not '3'", id="a text as rounds"),
    pytest.param({"rounds": True}, "rounds must be a whole number, not True", id="a truth as rounds"),
    pytest.param({"mode": None}, "mode must be the name of a mode, or a mode, not None", id="no mode"),
    pytest.param({"decide": 3}, "decide must be a text, not 3", id="a number as rule"),
    pytest.param({"options": [1, 2]}, "each item of options must be a text, not 1", id="numbers as options"),
    pytest.param({"options": 7}, "options must be a list", id="a number as options"),
    pytest.param({"deadline_s": "5"}, "deadline_s must be a number of seconds, not '5'", id="a text as time"),
    pytest.param({"metadata": 3}, "metadata must be a mapping", id="a number as notes"),
    pytest.param({"agents": 5}, "agents must be a list", id="a number as agents"),
    pytest.param({"focus_question": 5}, "focus_question", id="a number as focus"),
    pytest.param({"perspectives": [""]}, "perspectives.0.name", id="a perspective without a name"),
    pytest.param({"mode": "collaborativ"}, "Did you mean 'collaborative'", id="misspelt mode"),
    pytest.param({"mode": "court"}, "unknown mode 'court'.*Known: collaborative", id="unknown mode"),
    pytest.param({"decide": "pluralty"}, "Did you mean 'plurality'", id="misspelt rule"),
    pytest.param({"decide": "supermajority(1.5)"}, "q of the rule 'supermajority' must", id="a rule's bad share"),
    pytest.param({"decide": "supermajority(q=2)"}, "q of the rule 'supermajority' must", id="a rule's bad named share"),
    pytest.param({"decide": "supermajority(x=2)"}, "has no parameter 'x'", id="a rule's unknown parameter"),
    pytest.param({"deadline_s": 0}, "deadline_s must be above 0, not 0", id="no time"),
    pytest.param({"deadline_s": -1.5}, "deadline_s must be above 0, not -1.5", id="negative time"),
    pytest.param({"deadline_s": float("nan")}, "deadline_s must be above 0, not nan", id="no number of seconds"),
    pytest.param({"options": []}, "at least two, all different", id="no options"),
    pytest.param({"options": ["Tea"]}, "at least two, all different", id="one option"),
    pytest.param({"options": ["Tea", "Tea "]}, "at least two, all different", id="the same option twice"),
    pytest.param({"options": "Tea"}, "must be a list", id="a text as options"),
    pytest.param({"options": ["Tea", " "]}, "a text that is not blank, not ' '", id="a blank option"),
    pytest.param({"agents": []}, "at least one entry", id="no agents"),
    pytest.param({"agents": "scripted"}, "must be a list", id="a text as agents"),
    pytest.param({"agents": [ADA, ADA]}, "several agents have the same id: 'ada'", id="duplicate ids"),
    pytest.param({"agents": [42]}, "not int", id="a number as agent"),
    pytest.param({"agents": [ScriptedModel]}, "not the class ScriptedModel", id="a class as agent"),
    pytest.param({"agents": [Unprofiled(["Tea"])]}, "Unprofiled must be a ModelProfile, not None", id="no profile"),
    pytest.param({"agents": [":model"]}, "does not name a model", id="no provider"),
    pytest.param({"agents": ["antropic:claude"]}, "unknown provider 'antropic'", id="unknown provider"),
    pytest.param({"agents": ["opnai-chat"]}, "Did you mean 'openai-chat'", id="misspelt provider"),
    pytest.param({"agents": ["openai-chat:gpt"]}, "'openai-chat' needs an API key", id="missing key"),
    pytest.param({"agents": ["compatible:llama"]}, "'compatible' needs the address", id="missing address"),
    pytest.param({"exit_when": 3}, "exit_when must be an exit", id="a number as exit"),
    pytest.param({"exit_when": MaxRounds}, "exit_when must be an exit", id="a class as exit"),
    pytest.param({"metadata": {"x": float("nan")}}, "metadata", id="notes that are no JSON"),
    pytest.param({"metadata": {"x": object()}}, "metadata", id="notes that are objects"),
    pytest.param({"metadata": {"x": nested(64)}}, "metadata is nested more than 64 levels deep", id="deep notes"),
    pytest.param({"metadata": {"x": nested(900)}}, "metadata is nested more than 64 levels", id="bottomless notes"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED)
async def test_a_debate_that_cannot_work_is_refused_before_any_call(asked: dict[str, Any], message: str) -> None:
    model, storage = CountingModel("Tea"), MemoryStorage()
    table = Roundtable(seated(model, "ada", "bo"), storage=storage, settings=Settings())
    with pytest.raises(ConfigurationError, match=message) as caught:
        await table.debate(**({"topic": "Tea?"} | asked))
    assert len(caught.value.message) < 600
    assert model.begun == []
    assert await table.sessions() == ()


@pytest.mark.parametrize("asked", [{"agents": ["openai-chat:gpt"]}, {"rounds": 11}, {"mode": "x"}, {"options": []}])
async def test_a_refusal_says_what_to_do(asked: dict[str, Any]) -> None:
    table = Roundtable(seated(CountingModel("Tea"), "ada"), storage="memory://", settings=Settings())
    with pytest.raises(ConfigurationError) as caught:
        await table.debate("Tea?", **asked)
    assert caught.value.hint


async def test_the_environment_can_change_the_number_of_rounds() -> None:
    settings = Settings.from_env({"ROUNDTABLE_MAX_ROUNDS": "2"})
    table = Roundtable(seated(CountingModel("Tea"), "ada"), storage="memory://", settings=settings)
    with pytest.raises(ConfigurationError, match="rounds must be from 1 to 2, not 3"):
        await table.debate("Tea?")
    result = await table.debate("Tea?", rounds=2)
    with pytest.raises(ConfigurationError, match="rounds must be from 1 to 2, not 3"):
        await table.extend(result.session_id, rounds=3)


@pytest.mark.parametrize("rounds", [0, -1, 11])
async def test_an_extension_by_no_or_too_many_rounds_is_refused(rounds: int) -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match="rounds must be from 1 to 10"):
        await table.extend(
            result.session_id, rounds=rounds, context_results=[ContextResult(request_id="r", success=True)]
        )
    assert (await table.session(result.session_id)).to_json() == result.to_json()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param({"focus_question": 5}, "focus_question must be a text, not 5", id="a number as focus"),
        pytest.param({"focus_question": "\ud800"}, "focus_question must be a text", id="half a letter as focus"),
        pytest.param({"context_results": "x"}, "context_results must be a list of ContextResult", id="a text"),
        pytest.param({"context_results": [5]}, "context_results must be a list of ContextResult", id="a number"),
    ],
)
async def test_an_extension_that_cannot_be_stored_is_refused_first(more: dict[str, Any], message: str) -> None:
    storage = MemoryStorage()
    table = Roundtable(seated(CountingModel("Tea"), "ada"), storage=storage)
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match=message):
        await table.extend(result.session_id, rounds=1, **more)
    if "context_results" in more:
        with pytest.raises(ConfigurationError, match=message):
            await table.resume(result.session_id, **more)
        with pytest.raises(ConfigurationError, match=message):
            await table.fork(result.session_id, at_round=0, **more)
    assert (await table.session(result.session_id)).to_json() == result.to_json()


@pytest.mark.parametrize("session_id", ["\ud800x", "", 5])
async def test_an_id_that_cannot_be_stored_is_refused_first(session_id: Any) -> None:
    model = CountingModel("Tea")
    table = Roundtable(seated(model, "ada"), storage="memory://")
    with pytest.raises(ConfigurationError, match="session_id must be a text"):
        await table.debate_once(session_id, "Tea?", rounds=1)
    assert not model.begun


@pytest.mark.parametrize("deadline_s", [0, -1, float("nan")])
async def test_an_invalid_deadline_is_refused_on_resume(deadline_s: float) -> None:
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    table = Roundtable(agents, storage=storage)
    prepared = await table._debates.prepare("Tea?")
    with pytest.raises(ConfigurationError, match="deadline_s must be above 0"):
        await table.resume(prepared.session_id, deadline_s=deadline_s)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param({"storage": "nowhere"}, "'nowhere' is not a storage address", id="no scheme"),
        pytest.param({"storage": "me@nowhere"}, "'nowhere' is not a storage address", id="no scheme, a name"),
        pytest.param(
            {"storage": "redis://x"},
            "unknown storage 'redis'.*Known: memory, postgres, postgresql, sqlite",
            id="unknown scheme",
        ),
        pytest.param({"concurrency": 0}, "concurrency must be at least 1", id="no calls"),
        pytest.param({"concurrency": "x"}, "concurrency must be a whole number, not 'x'", id="a text as calls"),
        pytest.param({"timeout_s": "1"}, "timeout_s must be a number of seconds, not '1'", id="a text as time"),
        pytest.param({"tenant": 1}, "tenant must be a text", id="a number as tenant"),
        pytest.param({"seed": "x"}, "seed", id="a text as seed"),
        pytest.param({"timeout_s": -1}, "timeout_s must be", id="negative time"),
        pytest.param({"quorum": 0}, "quorum", id="no quorum"),
        pytest.param({"quorum": True}, "quorum must be a whole number, not True", id="a truth as quorum"),
        pytest.param({"tenant": ""}, "tenant must be a text that is not empty", id="no tenant"),
        pytest.param({"tenant": "\ud800"}, "tenant must be a text", id="half a letter as tenant"),
        pytest.param({"seats": 5}, "seats must be a mapping of names", id="a number as seats"),
        pytest.param({"settings": 5}, "settings must be Settings", id="a number as settings"),
        pytest.param({"storage": 5}, "storage must be an address such as .*, or a storage, not 5", id="no storage"),
        pytest.param({"providers": 5}, "providers must be a mapping", id="a number as providers"),
        pytest.param(
            {"providers": {"opnai": ProviderConfig()}},
            "unknown provider 'opnai'. Did you mean 'openai'",
            id="misspelt name of a provider's settings",
        ),
        pytest.param(
            {"providers": {"anthropic": 5}}, "must be a ProviderConfig, not 5", id="a number as configuration"
        ),
        pytest.param({"quorum": 3}, "a quorum of 3 cannot be met by 1 agent", id="quorum out of reach"),
    ],
)
async def test_a_table_that_cannot_work_says_so_at_its_first_use(more: dict[str, Any], message: str) -> None:
    model = ScriptedModel([])
    with pytest.raises(ConfigurationError, match=message):
        await Roundtable([model], **({"storage": "memory://"} | more)).debate("Tea?")
    assert model.calls == 0


@pytest.mark.parametrize("storage", ["memory://", "sqlite:///a.db"])
@pytest.mark.parametrize("method", ["session", "resume", "extend", "delete", "export", "pause", "stop", "synthesize"])
async def test_a_result_given_instead_of_its_id_is_refused_with_a_hint(
    storage: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Roundtable(seated(CountingModel("Tea"), "ada"), storage=storage) as table:
        result = await table.debate("Tea?", rounds=1)
        for wrong in (result, None, 5):
            with pytest.raises(ConfigurationError, match=r"a text, not"):
                await getattr(table, method)(wrong)
            with pytest.raises(ConfigurationError, match="session_id must be a text"):
                table.watch(wrong)  # type: ignore[arg-type]
            with pytest.raises(ConfigurationError, match="a text, not"):
                await table.fork(wrong, at_round=0)  # type: ignore[arg-type]


async def test_a_topic_of_the_maximum_length_is_accepted() -> None:
    result = await table_of(CountingModel("Tea"), "ada").debate("x" * 10_000, rounds=1)
    assert result.status == "completed"
