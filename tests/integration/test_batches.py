"""Calls in batches, on the batch APIs of three vendors: at half the price, and never paid twice."""

from __future__ import annotations

import json
import sqlite3
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.batch_kit import MODELS, Batch, BatchServer

import roundtable as rt
from roundtable.agents import BaseAgent
from roundtable.core.base.attempts import CURRENT_ATTEMPT, TurnAttempt
from roundtable.core.stages import error_info
from roundtable.errors import (
    APIAuthError,
    APINetworkError,
    APITimeoutError,
    ConfigurationError,
    QuorumLost,
    RoundtableError,
)
from roundtable.providers import chat_model
from roundtable.testing import ScriptedModel
from roundtable.testing.servers import http_reply
from roundtable.types import AgentConfig, BatchOptions, ChatRequest, FailedTurn, Message

VENDORS = tuple(MODELS)
pytestmark = pytest.mark.anyio


def asked(number: int = 0, *, nonce: str = "0123456789abcdef", **facts: str) -> ChatRequest:
    """Return a call of a debate."""
    content = f"Question {number}.\nBEGIN QUOTE {nonce} (Ada)\n| Tea\nEND QUOTE {nonce}"
    where = {"session": "s", "agent": f"a{number}", "round": "1", "stage": "positions", "slot": str(number), **facts}
    return ChatRequest(messages=(Message(role="user", content=content),), metadata=where)


def model_of(server: BatchServer, folder: Path, **options: Any) -> Any:
    chosen = {"collect_s": 0.1, "poll_s": 0.05, "wait_s": 20.0, "journal": str(folder / "batches.db"), **options}
    config = rt.ProviderConfig(base_url=server.url, api_key="secret-key", batch=BatchOptions(**chosen))
    return chat_model(f"{server.vendor}:{MODELS[server.vendor]}", config=config)


async def all_of(model: Any, *requests: ChatRequest) -> list[Any]:
    """Make calls at the same time; return their answers and errors."""
    outcomes: list[Any] = [None] * len(requests)

    async def call(index: int) -> None:
        try:
            outcomes[index] = (await model.complete(requests[index])).text
        except RoundtableError as error:
            outcomes[index] = error

    try:
        async with anyio.create_task_group() as group:
            for index in range(len(requests)):
                group.start_soon(call, index)
    finally:
        with anyio.CancelScope(shield=True):
            await model.aclose()
    return outcomes


def by_question(body: dict[str, Any]) -> str:
    """Answer with the number of the question."""
    return json.dumps(body).split("Question ")[1].split(".")[0]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_calls_made_at_the_same_time_are_one_batch(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, by_question) as server:
        answers = await all_of(model_of(server, tmp_path), *map(asked, range(5)))
    assert answers == ["0", "1", "2", "3", "4"]
    assert server.submits == [5]
    assert b"secret-key" not in (tmp_path / "batches.db").read_bytes()


async def test_calls_beyond_the_maximum_go_into_the_next_batch(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question) as server:
        answers = await all_of(model_of(server, tmp_path, most_calls=2), *map(asked, range(5)))
    assert answers == ["0", "1", "2", "3", "4"]
    assert sorted(server.submits) == [1, 2, 2]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_calls_after_a_crash_get_the_answers_of_the_same_batch(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, by_question, looks=4) as server:
        with anyio.move_on_after(0.4):
            await all_of(model_of(server, tmp_path, poll_s=5.0), asked(1), asked(2))
        assert server.submits == [2]
        again = [asked(number, nonce=f"{number:016x}") for number in (1, 2)]
        assert await all_of(model_of(server, tmp_path), *again) == ["1", "2"]
        # And once more, as after a crash between the answer and its storing.
        assert await all_of(model_of(server, tmp_path), *again) == ["1", "2"]
    assert server.submits == [2]


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_whose_id_was_lost_is_found(vendor: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("roundtable.providers.batches.model._LOST_AFTER_S", 0.5)
    with BatchServer(vendor, by_question, loses_ids=1, looks=0) as server:
        (lost,) = await all_of(model_of(server, tmp_path), asked(1))
        assert isinstance(lost, APINetworkError)
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_that_a_proxy_gave_up_on_may_have_arrived(vendor: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("roundtable.providers.batches.model._LOST_AFTER_S", 0.5)
    with BatchServer(vendor, by_question, gateway_errors=1, looks=0) as server:
        (lost,) = await all_of(model_of(server, tmp_path), asked(1))
        assert isinstance(lost, APITimeoutError)
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


@pytest.mark.slow
async def test_a_batch_is_found_behind_newer_ones(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("roundtable.providers.batches.model._LOST_AFTER_S", 0.5)
    with BatchServer("openai", by_question, loses_ids=1, looks=0, listed=2) as server:
        await all_of(model_of(server, tmp_path), asked(1))
        for number in range(2, 7):
            await all_of(model_of(server, tmp_path), asked(number))
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1] * 6


async def test_a_failed_batch_is_reported_to_all_its_calls_and_submitted_again(tmp_path: Path) -> None:
    with BatchServer("openai", by_question, fails=2) as server:
        errors = await all_of(model_of(server, tmp_path), *map(asked, range(6)))
        assert all("Enqueued token limit reached" in str(error) for error in errors)
        assert server.batches[0].looks == 1  # one look for all
        # Answers of the same turn that an earlier batch gave are not rejected, so they are not paid for again.
        turn = {"round": 1, "stage": "main", "slot": 0, "agent_id": "bo", "timestamp": datetime.now(UTC)}
        assert not any(FailedTurn(**turn, error=error_info(error)).rejects_answer for error in errors)
        server.fails = 0
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [6, 1]


async def test_answers_that_were_cut_in_transit_are_downloaded_again(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, cuts=1) as server:
        assert await all_of(model_of(server, tmp_path), asked(1), asked(2)) == ["1", "2"]
        server.cuts = 3
        answers = await all_of(model_of(server, tmp_path), asked(3), asked(4))
        answered, silent = sorted(answers, key=lambda answer: not isinstance(answer, str))
        assert answered in {"3", "4"}
        assert "without an answer to this call" in str(silent)
    assert server.submits == [2, 2]


@pytest.mark.slow
async def test_answers_of_many_megabytes_are_read(tmp_path: Path) -> None:
    with BatchServer("anthropic", lambda _: "x" * 12_000_000) as server:
        answers = await all_of(model_of(server, tmp_path), *map(asked, range(3)))
    assert [len(answer) for answer in answers] == [12_000_000] * 3


async def test_without_a_connection_a_call_fails_at_once_and_is_submitted_later(tmp_path: Path) -> None:
    with BatchServer("anthropic") as gone:
        model = model_of(gone, tmp_path)
    with anyio.fail_after(10):
        (error,) = await all_of(model, asked(1))
    assert isinstance(error, APINetworkError)
    with BatchServer("anthropic", by_question) as server:
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
        assert server.submits == [1]


async def test_a_file_that_was_rejected_starts_no_batch(tmp_path: Path) -> None:
    with BatchServer("openai", by_question) as server:
        server.server.queue(http_reply(b"<html>502</html>", status=502))
        (error,) = await all_of(model_of(server, tmp_path), asked(1))
        assert isinstance(error, APINetworkError)
        with anyio.fail_after(10):
            assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


@pytest.mark.parametrize("vendor", ["openai", "google", "anthropic"])
async def test_calls_of_two_models_are_two_batches(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, by_question) as server:
        model = model_of(server, tmp_path)
        other = asked(2).model_copy(update={"model": "another-model"})
        assert await all_of(model, asked(1), other) == ["1", "2"]
    assert server.submits == [1, 1]


async def test_a_batch_that_never_arrived_is_submitted_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("roundtable.providers.batches.model._LOST_AFTER_S", 0.5)
    with BatchServer("openai", by_question, loses_ids=1) as server:
        await all_of(model_of(server, tmp_path), asked(1))
        server.batches.clear()
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
async def test_only_the_unanswered_calls_of_an_expired_batch_are_submitted_again(vendor: str, tmp_path: Path) -> None:
    late = {"2"}

    def fate(body: dict[str, Any]) -> str | None:
        return None if by_question(body) in late else by_question(body)

    with BatchServer(vendor, fate) as server:
        first = await all_of(model_of(server, tmp_path), asked(1), asked(2))
        assert first[0] == "1"
        assert isinstance(first[1], APITimeoutError)
        assert first[1].retryable
        late.clear()
        assert await all_of(model_of(server, tmp_path), asked(1), asked(2)) == ["1", "2"]
    assert server.submits == [2, 1]
    assert [*server.batches[1].calls.values()] == [server.batches[0].calls[key] for key in server.batches[1].calls]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_call_in_a_batch_raises_the_same_error_as_a_single_call(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, lambda _: 400) as server:
        (error,) = await all_of(model_of(server, tmp_path), asked())
    assert isinstance(error, RoundtableError)
    assert not error.retryable
    assert error.provider == vendor


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_that_is_refused_fails_all_its_calls_and_is_forgotten(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, by_question, refuses=1) as server:
        model = model_of(server, tmp_path)
        errors = await all_of(model, asked(1), asked(2))
        assert [type(error) for error in errors] == [type(errors[0])] * 2
        assert "too many batches" in str(errors[0])
        assert await all_of(model_of(server, tmp_path), asked(1), asked(2)) == ["1", "2"]
    assert server.submits == [2]


async def test_a_server_that_is_down_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, fails_looks=2) as server:
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


async def test_if_the_first_call_is_cancelled_the_next_one_submits_the_others(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question) as server:
        model = model_of(server, tmp_path, collect_s=0.3)
        answers: list[str] = []

        async def call(number: int) -> None:
            answers.append((await model.complete(asked(number))).text)

        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def first() -> None:
                with scope:
                    await call(0)

            group.start_soon(first)
            await anyio.sleep(0.1)
            group.start_soon(call, 1)
            group.start_soon(call, 2)
            await anyio.sleep(0.1)
            scope.cancel()
        await model.aclose()
    assert sorted(answers) == ["1", "2"]
    assert server.submits == [2]


async def test_a_call_that_waits_too_long_gets_an_error_and_can_be_repeated(tmp_path: Path) -> None:
    with BatchServer("google", by_question, looks=10**6) as server:
        (error,) = await all_of(model_of(server, tmp_path, wait_s=0.6), asked(1))
        assert isinstance(error, APITimeoutError)
        assert "has not ended within 0.6 s" in str(error)
        assert not error.retryable
        server.looks = 0
        assert await all_of(model_of(server, tmp_path), asked(1)) == ["1"]
    assert server.submits == [1]


async def test_repeated_samples_of_one_prompt_are_different_calls_inside_and_outside_of_debates(tmp_path: Path) -> None:
    with BatchServer("openai-chat", by_question) as server:
        free = ChatRequest(messages=(Message(role="user", content="Question 7."),))
        assert await all_of(model_of(server, tmp_path), asked(1), asked(1), free, free) == ["1", "1", "7", "7"]
        assert server.submits == [4]
        assert await all_of(model_of(server, tmp_path), asked(1), asked(1)) == ["1", "1"]
        assert server.submits == [4]


def step(number: int) -> ChatRequest:
    """Return the call of one step of a turn."""
    return asked(number, agent="ada", slot="0")


@pytest.mark.slow
async def test_a_turn_that_waited_too_long_begins_again_with_the_answers_that_it_had(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, looks=1) as server:
        model = model_of(server, tmp_path, wait_s=1.0)
        CURRENT_ATTEMPT.set(TurnAttempt())
        assert (await model.complete(step(1))).text == "1"
        server.looks = 10**6
        with pytest.raises(APITimeoutError, match="has not ended"):
            await model.complete(step(2))
        server.looks = 1
        CURRENT_ATTEMPT.set(TurnAttempt())
        assert [(await model.complete(step(number))).text for number in (1, 2)] == ["1", "2"]
        await model.aclose()
    assert server.submits == [1, 1]


async def test_a_turn_that_failed_because_of_its_answer_gets_a_new_answer(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question) as server:
        model = model_of(server, tmp_path)
        for rejections in (0, 1):
            CURRENT_ATTEMPT.set(TurnAttempt(rejections))
            assert (await model.complete(step(1))).text == "1"
        await model.aclose()
    assert server.submits == [1, 1]


async def test_a_wrong_key_fails_at_once(tmp_path: Path) -> None:
    with BatchServer("anthropic") as server:
        server.server.queue(
            *[_refusal()] * 2,
        )
        (error,) = await all_of(model_of(server, tmp_path), asked(1))
    assert isinstance(error, APIAuthError)
    assert "secret-key" not in str(error)


def _refusal() -> Any:
    from integration.batch_kit import sent

    return sent({"type": "error", "error": {"type": "authentication_error", "message": "secret-key?"}}, 401)


async def test_a_debate_in_batches_costs_half_and_has_one_batch_a_round(tmp_path: Path) -> None:
    def position(_: dict[str, Any]) -> str:
        return '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'

    name = f"openai-chat:{MODELS['openai-chat']}"
    prices = {name: {"input": 10, "output": 100}}
    with BatchServer("openai-chat", position) as server:
        options = BatchOptions(collect_s=0.2, poll_s=0.05, wait_s=20, journal=str(tmp_path / "b.db"))
        plain = rt.ProviderConfig(base_url=server.url, api_key="secret-key")
        config = rt.ProviderConfig(base_url=server.url, api_key="secret-key", batch=options)
        shared: dict[str, Any] = {"storage": "memory://", "analyzer": "declared", "prices": prices, "timeout_s": 0.1}
        async with rt.Roundtable([name] * 10, providers={"openai-chat": plain}, **shared) as table:
            full = table.estimate("Tea or coffee?", rounds=2)
        async with rt.Roundtable([name] * 10, providers={"openai-chat": config}, **shared) as table:
            half = table.estimate("Tea or coffee?", rounds=2)
            result = await table.debate("Tea or coffee?", rounds=2)
    assert result.answer == "Tea"
    assert server.submits == [10, 10]
    assert half.cost_usd == pytest.approx(full.cost_usd / 2)
    assert result.usage.cost_usd == pytest.approx(20 * (100 * 10 + 10 * 100) / 1e6 / 2)
    assert result.usage.saved_usd == pytest.approx(result.usage.cost_usd)


async def test_a_debate_whose_batch_takes_too_long_says_what_to_change(tmp_path: Path) -> None:
    with BatchServer("anthropic", looks=10**6) as server:
        options = BatchOptions(collect_s=0.1, poll_s=0.05, wait_s=0.5, journal=str(tmp_path / "b.db"))
        config = rt.ProviderConfig(base_url=server.url, api_key="secret-key", batch=options)
        async with rt.Roundtable(
            [f"anthropic:{MODELS['anthropic']}"], providers={"anthropic": config}, storage="memory://"
        ) as table:
            with pytest.raises(RoundtableError, match="has not ended within"):
                await table.debate("Tea or coffee?", rounds=1)


@pytest.mark.parametrize(
    ("provider", "batch", "problem"),
    [
        ("perplexity", True, "calls of the provider 'perplexity' cannot be made in batches"),
        ("claude-cli", True, "calls of the provider 'claude-cli' cannot be made in batches"),
        ("anthropic", BatchOptions(wait_s=float("inf")), "wait_s of batch of .* must be above 0"),
        ("anthropic", "yes", "batch of providers\\['anthropic'\\] must be True, False or BatchOptions"),
        ("anthropic", BatchOptions(wait_s=0), "wait_s of batch of providers\\['anthropic'\\] must be above 0"),
        ("anthropic", BatchOptions(most_calls=0), "most_calls of batch of .* must be from 1 to 50000"),
        ("anthropic", BatchOptions(most_calls=50_001), "most_calls of batch of .* must be from 1 to 50000"),
        ("anthropic", BatchOptions(journal=""), "journal of batch of .* must be the name of a file"),
    ],
)
async def test_wrong_options_are_refused(provider: str, batch: Any, problem: str) -> None:
    config = rt.ProviderConfig(api_key="k", batch=batch)
    with pytest.raises(ConfigurationError, match=problem):
        rt.Roundtable([f"{provider}:m"], providers={provider: config}, storage="memory://").estimate("Tea?")


def table_of(batch: Any) -> rt.Roundtable:
    config = rt.ProviderConfig(api_key="k", batch=batch)
    return rt.Roundtable(["anthropic:m"], providers={"anthropic": config}, storage="memory://")


async def test_hints_name_the_field_that_is_wrong() -> None:
    wrong: Any = "3"
    for batch, hint in (
        (BatchOptions(collect_s=wrong), "Give a number of seconds as collect_s."),
        (wrong, "Give True, False or BatchOptions as batch."),
    ):
        with pytest.raises(ConfigurationError) as caught:
            table_of(batch).estimate("Tea?")
        assert caught.value.hint == hint


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_that_the_vendor_has_forgotten_is_submitted_again_once(vendor: str, tmp_path: Path) -> None:
    with BatchServer(vendor, by_question, looks=10**6) as server:
        with anyio.move_on_after(0.5):
            await all_of(model_of(server, tmp_path, poll_s=5.0), asked(1), asked(2))
        assert server.submits == [2]
        server.gone, server.looks = (server.batches[0].id,), 1
        assert await all_of(model_of(server, tmp_path), asked(1), asked(2)) == ["1", "2"]
        assert server.submits == [2, 2]


async def test_a_batch_that_vanishes_at_once_is_not_submitted_for_ever(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, gone=("b0", "b1")) as server:
        (error,) = await all_of(model_of(server, tmp_path), asked(1))
    assert isinstance(error, RoundtableError)
    assert server.submits == [1]


async def test_a_vendor_without_a_list_of_batches_is_not_asked_for_ever(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("roundtable.providers.batches.model._LOST_AFTER_S", 0.5)
    with BatchServer("anthropic", by_question, loses_ids=1, looks=0, has_list=False) as server:
        await all_of(model_of(server, tmp_path), asked(1))
        (error,) = await all_of(model_of(server, tmp_path, wait_s=5.0), asked(1))
        assert isinstance(error, RoundtableError)
        assert "not found" in error.message
        assert server.submits == [1]


async def test_a_batch_of_another_key_is_not_submitted_again(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, looks=10**6) as server:
        with anyio.move_on_after(0.5):
            await all_of(model_of(server, tmp_path, poll_s=5.0), asked(1))
        (row,) = rows(tmp_path, "UPDATE accounts SET account = 'of another key' RETURNING account")
        assert row == ("of another key",)
        server.gone = ("b0",)
        (error,) = await all_of(model_of(server, tmp_path), asked(1))
        assert isinstance(error, RoundtableError)
        assert server.submits == [1]


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query to a journal."""
    with sqlite3.connect(folder / "batches.db") as database:
        return database.execute(query).fetchall()


async def test_an_answer_that_arrived_counts_although_the_journal_breaks(tmp_path: Path) -> None:
    with BatchServer("anthropic", by_question, looks=3) as server:
        model = model_of(server, tmp_path)
        outcomes: list[Any] = []
        async with anyio.create_task_group() as group:
            group.start_soon(collect, model, outcomes)
            with anyio.fail_after(20):
                while not any(batch.looks for batch in server.batches):  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.01)
            rows(tmp_path, "DROP TABLE waiting")
            rows(tmp_path, "CREATE VIEW waiting AS SELECT 1 AS call_key")
    assert outcomes == [["1"]]


async def collect(model: Any, outcomes: list[Any]) -> None:
    outcomes.append(await all_of(model, asked(1)))


NAME = f"anthropic:{MODELS['anthropic']}"
WAITING = BatchOptions(collect_s=0.1, poll_s=0.05, wait_s=20)


def position(_: dict[str, Any]) -> str:
    return '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'


class House:
    """Tables of one server and one storage; the journal is the default one."""

    def __init__(self, server: BatchServer, folder: Path) -> None:
        self.server = server
        self.storage = f"sqlite:///{folder / 'debates.db'}"

    def config(self, batch: Any) -> rt.ProviderConfig:
        return rt.ProviderConfig(base_url=self.server.url, api_key="secret-key", batch=batch)

    def table(self, batch: Any, agents: Any = (NAME,), tools: Any = ()) -> rt.Roundtable:
        return rt.Roundtable(
            list(agents),
            providers={"anthropic": self.config(batch)},
            storage=self.storage,
            analyzer="declared",
            tools=list(tools),
        )

    async def leave(self, table: rt.Roundtable) -> str:
        """Leave a debate while its call waits in a batch; return its session."""
        async with table:
            handle = await table.start("Tea or coffee?", rounds=1)
            with anyio.fail_after(20):
                while not any(batch.looks for batch in self.server.batches):  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.05)
            await table.pause(handle.session_id, running="cancel")
            await handle.wait()
        return handle.session_id


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder whose journal is the default one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


async def test_a_session_whose_calls_wait_in_a_batch_is_not_paid_again_by_accident(home: Path) -> None:
    with BatchServer("anthropic", position, looks=10**6) as server:
        house = House(server, home)
        session_id = await house.leave(house.table(WAITING))
        async with house.table(batch=False) as without:
            with pytest.raises(ConfigurationError, match=r"1 call of session .* was sent as a batch") as caught:
                await without.resume(session_id)
            assert "--batch anthropic" in (caught.value.hint or "")
        server.looks = 1
        async with house.table(WAITING) as again:
            result = await again.resume(session_id)
        assert result.answer == "Tea"
        assert (server.submits, server.direct) == ([1], 0)
        async with house.table(batch=False) as later:  # nothing waits any more
            assert (await later.extend(session_id, rounds=1)).status == "completed"
        assert server.direct > 0


@pytest.mark.both_loops
@pytest.mark.parametrize("cut", ["in a tool", "in the call after it"])
async def test_a_turn_that_a_pause_cut_is_not_paid_again_in_the_same_process(home: Path, cut: str) -> None:
    holds, arrived = True, anyio.Event()

    @rt.tool
    async def population() -> int:
        """Return the population."""
        if holds and cut == "in a tool":
            arrived.set()
            await anyio.sleep_forever()
        return 68

    class Slow(BatchServer):
        def ended(self, batch: Batch) -> bool:
            return not (holds and "tool_result" in json.dumps(batch.calls)) and super().ended(batch)

    def fate(body: dict[str, Any]) -> str:
        return position(body) if "tool_result" in json.dumps(body) else "CALL population"

    with Slow("anthropic", fate) as server:
        async with House(server, home).table(WAITING, tools=[population]) as table:
            handle = await table.start("Tea or coffee?", rounds=1)
            with anyio.fail_after(20):
                while not (arrived.is_set() or any(batch.looks for batch in server.batches[1:])):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            await table.pause(handle.session_id, running="cancel")
            await handle.wait()
            holds = False
            assert (await table.resume(handle.session_id)).answer == "Tea"
    assert server.submits == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the same process", "in another process"])
@pytest.mark.parametrize("cut", ["nothing", "in a tool", "in the call after it"])
async def test_a_rejected_answer_is_never_used_again_and_its_successor_is_paid_once(
    home: Path, cut: str, elsewhere: bool
) -> None:
    holds, arrived = False, anyio.Event()

    @rt.tool(cached=False)
    async def population() -> int:
        """Return the population."""
        if holds and cut == "in a tool":
            arrived.set()
            await anyio.sleep_forever()
        return 68

    class Slow(BatchServer):
        def ended(self, batch: Batch) -> bool:
            is_held = holds and cut == "in the call after it" and "tool_result" in json.dumps(batch.calls)
            return not is_held and super().ended(batch)

    def fate(body: dict[str, Any]) -> str:
        if "could not be used" in json.dumps(body):
            return "<think>Hm.</think>"
        if "tool_result" not in json.dumps(body):
            return "CALL population"
        is_of_first_attempt = any(body in batch.calls.values() for batch in server.batches[:3])
        return "<think>Hm.</think>" if is_of_first_attempt else position(body)

    with Slow("anthropic", fate) as server:
        house = House(server, home)
        async with AsyncExitStack() as stack:
            table = await stack.enter_async_context(house.table(WAITING, tools=[population]))
            with pytest.raises(QuorumLost):
                await table.debate("Tea or coffee?", rounds=1)
            assert server.submits == [1, 1, 1]
            (session,) = await table.sessions()
            if cut != "nothing":
                holds = True
                await cut_off(table, session.id, server, arrived)
                holds = False
            if elsewhere:
                table = await stack.enter_async_context(house.table(WAITING, tools=[population]))
            assert (await table.resume(session.id)).answer == "Tea"
    assert server.submits == [1, 1, 1, 1, 1]


async def cut_off(table: rt.Roundtable, session_id: str, server: BatchServer, arrived: anyio.Event) -> None:
    """Resume a session, and pause it while a tool runs, or the call after it waits."""
    async with anyio.create_task_group() as group:
        group.start_soon(table.resume, session_id)
        with anyio.fail_after(20):
            while not (arrived.is_set() or any(batch.looks for batch in server.batches[4:])):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        await table.pause(session_id, running="cancel")


async def test_an_interrupted_debate_still_waits_for_its_batch_after_another_one_got_its_answer(home: Path) -> None:
    with BatchServer("anthropic", position, looks=10**6) as server:
        house = House(server, home)
        async with house.table(WAITING) as table:
            left, stays = [await table.start(topic, rounds=1) for topic in ("Tea?", "Milk?")]
            with anyio.fail_after(20):
                while not any(batch.looks for batch in server.batches):  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.05)
            assert server.submits == [2]
            await table.pause(left.session_id, running="cancel")
            await left.wait()
            server.looks = 1
            await stays.wait()
        async with house.table(batch=False) as without:
            with pytest.raises(ConfigurationError, match="was sent as a batch"):
                await without.resume(left.session_id)


async def test_an_agent_with_a_custom_model_in_batches_is_resumed(home: Path) -> None:
    with BatchServer("anthropic", position, looks=10**6) as server:
        house = House(server, home)

        models: list[Any] = []

        def own() -> BaseAgent:
            seat = AgentConfig(id="ada", name="Ada", provider="anthropic", model=MODELS["anthropic"])
            models.append(chat_model(NAME, config=house.config(WAITING)))
            return BaseAgent(seat, models[-1])

        session_id = await house.leave(house.table(batch=False, agents=[own()]))
        server.looks = 1
        async with house.table(batch=False, agents=[own()]) as again:
            assert (await again.resume(session_id)).answer == "Tea"
        for model in models:  # a table does not close what it was given
            await model.aclose()
        assert (server.submits, server.direct) == ([1], 0)


async def test_paying_again_is_accepted_once_and_logged(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    with BatchServer("anthropic", position, looks=10**6) as server:
        house = House(server, home)
        session_id = await house.leave(house.table(WAITING))
        async with house.table(batch=False) as table:
            result = await table.resume(session_id, on_change="adopt")
            assert (result.answer, server.direct) == ("Tea", 1)
            assert "may be paid for again" in caplog.text
            await table.extend(session_id, rounds=1)


async def test_a_completed_round_waits_for_no_batch(home: Path) -> None:
    with BatchServer("anthropic", position, looks=10**6) as server:
        house = House(server, home)
        late = BatchOptions(collect_s=0.1, poll_s=0.05, wait_s=0.5)
        # Of two agents, the one whose batch takes too long fails its turn.
        scripted = ScriptedModel(lambda _: {"position": "Tea"})
        async with house.table(late, agents=[NAME, scripted]) as table:
            session_id = (await table.debate("Tea or coffee?", rounds=1)).session_id
        async with house.table(batch=False, agents=[NAME, scripted]) as table:
            assert (await table.extend(session_id, rounds=1)).status == "completed"


async def test_a_broken_journal_has_no_effect_without_batches(home: Path) -> None:
    (home / "roundtable").mkdir()
    (home / "roundtable" / "batches.db").write_text("no database at all")
    with BatchServer("anthropic", position) as server:
        house = House(server, home)
        async with house.table(batch=False) as table:
            handle = await table.start("Tea or coffee?", rounds=2, step=True)
            await handle.wait()
            assert (await table.resume(handle.session_id)).status == "completed"


async def test_a_journal_that_cannot_be_written_ends_a_debate_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with BatchServer("anthropic") as server:
        options = BatchOptions(journal=str(tmp_path / "file" / "b.db"))
        config = rt.ProviderConfig(base_url=server.url, api_key="secret-key", batch=options)
        name = f"anthropic:{MODELS['anthropic']}"
        async with rt.Roundtable([name], providers={"anthropic": config}, storage="memory://") as table:
            with pytest.raises(ConfigurationError, match=r"the journal of batches .* cannot be used"):
                await table.debate("Tea?", rounds=1)
            assert (await table.sessions()) == ()


async def test_a_journal_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with BatchServer("anthropic") as server:
        model = model_of(server, tmp_path, journal=str(tmp_path / "file" / "b.db"))
        (error,) = await all_of(model, asked(1))
    assert isinstance(error, ConfigurationError)
    assert server.submits == []
