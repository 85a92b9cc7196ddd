"""Running one stage: outcomes in order, errors as data, errors of storing as themselves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import anyio
import pytest
from integration.engine_kit import CountingModel, late, said, seated

from roundtable.agents import BaseAgent
from roundtable.core.stages import TurnCancelled, error_from_info, error_info, restrict_view, run_stage
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APIRateLimitError,
    ConfigurationError,
    PluginError,
    RoundtableError,
    StorageError,
    error_kinds,
)
from roundtable.modes import CollaborativeMode
from roundtable.protocols import TurnListener
from roundtable.types import (
    AgentHealth,
    AgentInfo,
    AgentResponse,
    Answer,
    AnyTurn,
    ApprovalAnswer,
    BallotAnswer,
    ChatRequest,
    DebateContext,
    FailedTurn,
    RankingAnswer,
    ScoresAnswer,
    Seat,
    Stage,
    TextAnswer,
    ToolCall,
    ToolCallRecord,
    Turn,
    TurnKey,
    TurnResult,
    TurnSpec,
    Usage,
    Visible,
)

pytestmark = pytest.mark.both_loops


class Speaker:
    """An agent written by somebody else: the protocol and nothing more."""

    def __init__(self, name: str, result: object) -> None:
        self.id, self.name, self._result = name, name.title(), result
        self.saw: list[DebateContext] = []

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        self.saw.append(context)
        if listener is not None:
            await listener.before_call()
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result  # type: ignore[return-value]  # what a careless author would give

    async def health_check(self) -> AgentHealth:
        return AgentHealth(healthy=True)

    def get_info(self) -> AgentInfo:
        return AgentInfo(id=self.id, name=self.name, provider="foreign", model="m")


def position(text: str, agent: str = "ada") -> TurnResult:
    return TurnResult(answer=AgentResponse(agent_id=agent, agent_name=agent.title(), position=text))


def view(*names: str) -> DebateContext:
    seats = tuple(Seat(id=name, name=name.title()) for name in names)
    return DebateContext(session_id="s", topic="Tea?", mode="collaborative", agents=seats)


def stage(*agents: str) -> Stage:
    turns = tuple(TurnSpec(slot=slot, agent=agent, task="Speak.") for slot, agent in enumerate(agents))
    return Stage(name="speech", turns=turns)


class Hooks:
    """Hears a stage; raises where it is told to."""

    def __init__(
        self, *, halt: frozenset[int] = frozenset(), settle: Exception | None = None, start: Exception | None = None
    ) -> None:
        self.settled_turns: list[AnyTurn] = []
        self.began: list[tuple[int, int]] = []
        self._halt, self._settle, self._start = halt, settle, start

    async def started(self, spec: TurnSpec, attempt: int) -> TurnListener | None:
        self.began.append((spec.slot, attempt))
        if spec.slot in self._halt:
            raise TurnCancelled
        if self._start is not None:
            raise self._start
        return None

    async def settled(self, turn: AnyTurn) -> None:
        await anyio.lowlevel.checkpoint()
        if self._settle is not None:
            raise self._settle
        self.settled_turns.append(turn)


async def test_outcomes_come_in_the_order_of_the_plan_whichever_agent_ends_first() -> None:
    names = ("ada", "bo", "cy")
    waits = {"ada": 0.6, "bo": 0.3, "cy": 0.0}
    agents = seated(CountingModel(lambda request: late(waits[request.metadata["agent"]], "Tea")), *names)
    hooks = Hooks()
    done = await run_stage(stage(*names), {agent.id: agent for agent in agents}, view(*names), hooks=hooks)
    assert [turn.agent_id for turn in done] == ["ada", "bo", "cy"]
    assert [turn.agent_id for turn in hooks.settled_turns] == ["cy", "bo", "ada"]
    assert [turn.slot for turn in done] == [0, 1, 2]


async def test_errors_become_data_and_those_of_other_libraries_are_wrapped() -> None:
    ours = APIAuthError("no key", provider="acme")
    ours.usage = Usage(calls=2)
    agents = {
        "ada": Speaker("ada", ours),
        "bo": Speaker("bo", KeyError("x")),
        "cy": Speaker("cy", position("Tea", "cy")),
    }
    one, two, three = await run_stage(stage("ada", "bo", "cy"), agents, view("ada", "bo", "cy"))
    assert isinstance(one, FailedTurn)
    assert (one.error.code, one.error.provider, one.usage.calls) == ("API_AUTH_FAILED", "acme", 2)
    assert isinstance(two, FailedTurn)
    assert (two.error.name, two.error.message) == ("AgentError", "agent 'bo' raised KeyError: 'x'")
    assert isinstance(three, Turn)


@pytest.mark.parametrize(
    ("junk", "kind"),
    [
        pytest.param(None, "NoneType", id="nothing"),
        pytest.param("Tea", "str", id="text"),
        pytest.param(
            AgentResponse(agent_id="ada", agent_name="Ada", position="Tea"), "AgentResponse", id="bare answer"
        ),
        pytest.param(TurnResult(answer=BallotAnswer(choice="Tea")), "ballot", id="another kind"),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_a_failed_turn_not_a_broken_debate(junk: object, kind: str) -> None:
    (turn,) = await run_stage(stage("ada"), {"ada": Speaker("ada", junk)}, view("ada"))
    assert isinstance(turn, FailedTurn)
    assert turn.error.message == f"agent 'ada' returned {kind!r}, but the turn requires 'position'"


async def test_an_answer_cannot_be_given_in_another_agents_name() -> None:
    (turn,) = await run_stage(stage("ada"), {"ada": Speaker("ada", position("Tea", "bo"))}, view("ada"))
    assert isinstance(turn, Turn)
    assert isinstance(turn.answer, AgentResponse)
    assert (turn.answer.agent_id, turn.answer.agent_name, turn.answer.position) == ("ada", "Ada", "Tea")


@pytest.mark.parametrize("details", [{"x": float("nan")}, {"x": object()}, {"x": b"\xff"}])
def test_an_error_whose_details_are_not_json_can_still_be_stored(details: dict[str, object]) -> None:
    info = error_info(AgentError("no", details=details))  # type: ignore[arg-type]  # a foreign error may hold anything
    assert (info.message, info.code, info.details) == ("no", "AGENT_ERROR", None)
    assert type(info).from_json(info.to_json()) == info


@pytest.mark.parametrize("error", [StorageError("the disk is full"), OSError("no space")])
async def test_a_storage_error_ends_the_stage_and_is_raised_unchanged(error: Exception) -> None:
    names = ("ada", "bo", "cy")
    model = CountingModel(lambda request: late(0 if request.metadata["agent"] == "bo" else 30, "Tea"))
    agents = {agent.id: agent for agent in seated(model, *names)}
    with anyio.fail_after(5), pytest.raises(type(error)) as caught:
        await run_stage(stage(*names), agents, view(*names), hooks=Hooks(settle=error))
    assert caught.value is error
    assert model.under_way == 0


async def test_an_error_at_the_start_of_a_turn_ends_the_stage_and_blames_no_agent() -> None:
    hooks = Hooks(start=RoundtableError("not now"))
    with pytest.raises(RoundtableError, match="not now"):
        await run_stage(stage("ada"), {"ada": Speaker("ada", position("Tea"))}, view("ada"), hooks=hooks)
    assert hooks.settled_turns == []


class Deaf:
    """A listener that fails at each thing it hears."""

    wants_pieces = True

    async def before_call(self) -> None:
        raise StorageError("full")

    async def chunk(self, text: str) -> None:
        raise StorageError("full")

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        raise StorageError("full")

    async def tool_called(self, step: int, call: ToolCall) -> None:
        raise StorageError("full")

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        raise StorageError("full")


_HEARD: dict[str, Callable[[TurnListener], Awaitable[None]]] = {
    "before_call": lambda recorder: recorder.before_call(),
    "chunk": lambda recorder: recorder.chunk("Te"),
    "retrying": lambda recorder: recorder.retrying(2, 0.5, RoundtableError("slow")),
    "tool_called": lambda recorder: recorder.tool_called(1, ToolCall(id="c1", name="price")),
    "tool_answered": lambda recorder: recorder.tool_answered(1, "c1", ToolCallRecord(tool_name="price")),
}


@pytest.mark.parametrize("timeout_s", [None, 5.0])
@pytest.mark.parametrize("heard", _HEARD)
async def test_an_error_of_a_listener_ends_the_stage_even_if_the_agent_swallows_it(
    heard: str, timeout_s: float | None
) -> None:
    class Swallowing(Speaker):
        async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
            assert listener is not None
            with contextlib.suppress(StorageError):
                await _HEARD[heard](listener)
            return await super().take_turn(context)

    class Listening(Hooks):
        async def started(self, spec: TurnSpec, attempt: int) -> TurnListener | None:
            return Deaf()

    hooks = Listening()
    ada = Swallowing("ada", position("Tea"))
    with pytest.raises(StorageError, match="full"):
        await run_stage(stage("ada"), {"ada": ada}, view("ada"), hooks=hooks, turn_timeout_s=timeout_s)
    assert hooks.settled_turns == []


async def test_a_halted_turn_has_no_outcome() -> None:
    agents = {name: Speaker(name, position("Tea", name)) for name in ("ada", "bo", "cy")}
    hooks = Hooks(halt=frozenset({0, 2}))
    done = await run_stage(stage("ada", "bo", "cy"), agents, view("ada", "bo", "cy"), hooks=hooks)
    assert [turn.agent_id for turn in done] == ["bo"]
    assert [turn.agent_id for turn in hooks.settled_turns] == ["bo"]
    assert agents["ada"].saw == []


async def test_only_the_requested_slots_are_run_with_their_number_of_try() -> None:
    agents = {name: Speaker(name, position("Tea", name)) for name in ("ada", "bo", "cy")}
    hooks = Hooks()
    done = await run_stage(stage("ada", "bo", "cy"), agents, view("ada"), hooks=hooks, attempts={2: 1, 1: 3})
    assert [(turn.slot, turn.attempt) for turn in done] == [(1, 3), (2, 1)]
    assert sorted(hooks.began) == [(1, 3), (2, 1)]


async def test_a_missing_agent_is_reported_before_any_agent_is_asked() -> None:
    ada = Speaker("ada", position("Tea"))
    with pytest.raises(ConfigurationError, match="names agents that are not in the debate: bo, cy"):
        await run_stage(stage("ada", "cy", "bo"), {"ada": ada}, view("ada"))
    assert ada.saw == []


async def test_cancelling_a_stage_cancels_its_calls() -> None:
    model = CountingModel(late(30, "Tea"))
    agents = {agent.id: agent for agent in seated(model, "ada", "bo")}
    with anyio.move_on_after(0.05) as scope:
        await run_stage(stage("ada", "bo"), agents, view("ada", "bo"))
    assert scope.cancelled_caught
    assert (len(model.begun), model.under_way) == (2, 0)


class Aborting(Speaker):
    """Speaks through a client that gives up a request of its own, which ends in a cancellation."""

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        kept: BaseException | None = None
        with anyio.CancelScope() as scope:
            scope.cancel()
            try:
                await anyio.lowlevel.checkpoint()
            except anyio.get_cancelled_exc_class() as error:
                kept = error
                raise
        assert kept is not None
        raise kept


@pytest.mark.parametrize("timeout_s", [None, 5.0])
async def test_an_unexpected_cancellation_is_a_failed_turn(timeout_s: float | None) -> None:
    aborted = Aborting("ada", None)
    foreign = Speaker("bo", asyncio.CancelledError())
    agents = {"ada": aborted, "bo": foreign, "cy": Speaker("cy", position("Tea", "cy"))}
    names = ("ada", "bo", "cy")
    with anyio.fail_after(5):
        one, two, three = await run_stage(stage(*names), agents, view(*names), turn_timeout_s=timeout_s)
    assert isinstance(one, FailedTurn)
    assert one.error.message.startswith("agent 'ada' raised Cancelled")
    assert isinstance(two, FailedTurn)
    assert two.error.message.startswith("agent 'bo' raised CancelledError")
    assert isinstance(three, Turn)


async def test_a_model_whose_client_aborts_fails_its_turn_and_is_charged() -> None:
    def reply(request: ChatRequest) -> str:
        raise asyncio.CancelledError

    (ada,) = seated(CountingModel(reply), "ada")
    (turn,) = await run_stage(stage("ada"), {"ada": ada}, view("ada"))
    assert isinstance(turn, FailedTurn)
    assert turn.error.message.startswith("agent 'ada' raised CancelledError")


async def test_the_time_of_a_turn_comes_from_the_clock() -> None:
    class Clock:
        ticks = iter((10.0, 12.5))

        def monotonic(self) -> float:
            return next(self.ticks)

        def now(self) -> object:
            from datetime import UTC, datetime

            return datetime(2030, 1, 1, tzinfo=UTC)

    speaker = {"ada": Speaker("ada", position("Tea"))}
    (turn,) = await run_stage(stage("ada"), speaker, view("ada"), clock=Clock())  # type: ignore[arg-type]
    assert turn.duration_s == 2.5
    assert turn.timestamp.year == 2030


async def earlier() -> DebateContext:
    names = ("ada", "bo")
    agents: dict[str, BaseAgent] = {agent.id: agent for agent in seated(CountingModel("Tea"), *names)}
    plan = CollaborativeMode().next_stage(view(*names))
    assert isinstance(plan, Stage)
    said_before = await run_stage(plan, agents, view(*names))
    return view(*names).model_copy(update={"transcript": said_before, "current_round": 2})


async def test_a_turn_sees_the_answers_of_its_plan_under_the_planned_names() -> None:
    whole = await earlier()
    spec = TurnSpec(
        slot=0,
        agent="ada",
        task="Speak.",
        sees=(
            Visible(turn=TurnKey(1, "positions", 1), shown_as="Participant 2"),
            Visible(turn=TurnKey(1, "positions", 9), shown_as="Nobody"),
        ),
    )
    seen = restrict_view(whole, spec)
    assert [response.agent_name for response in seen.previous_responses] == ["Participant 2"]
    assert [turn.slot for turn in seen.transcript] == [1]
    assert seen.turn == spec
    nothing = restrict_view(whole, TurnSpec(slot=0, agent="ada", task="Speak."))
    assert (nothing.previous_responses, nothing.transcript) == ((), ())


async def test_an_answer_is_independent_only_if_nothing_was_shown() -> None:
    whole = await earlier()
    spec = TurnSpec(slot=0, agent="ada", sees=(Visible(turn=TurnKey(1, "positions", 0), shown_as="Ada"),))
    agents = {"ada": Speaker("ada", position("Tea"))}
    (blind,) = await run_stage(stage("ada"), agents, whole)
    (seeing,) = await run_stage(Stage(name="speech", turns=(spec,)), agents, whole)
    assert isinstance(blind, Turn)
    assert isinstance(seeing, Turn)
    assert (blind.independent, seeing.independent) == (True, False)


async def test_a_mode_runs_a_round_without_an_engine() -> None:
    model = CountingModel(lambda request: said(request.metadata["agent"]))
    agents = seated(model, "ada", "bo")
    context = DebateContext(session_id="s", topic="Tea?", mode="collaborative")
    given = await CollaborativeMode().execute_round(agents, context)
    assert [response.position for response in given] == ["ada", "bo"]


@pytest.mark.parametrize("kind", error_kinds(), ids=lambda kind: kind.__name__)
def test_a_stored_error_is_restored_with_its_class(kind: type[RoundtableError]) -> None:
    error = kind("It failed.", cause=OSError("disk"))
    again = error_from_info(error_info(error))
    assert type(again) is kind
    assert again.to_dict() == error.to_dict()


def test_facts_of_a_stored_error_are_restored() -> None:
    error = APIRateLimitError(
        "Slow.", code="X", provider="p", retryable=False, hint="Wait.", request_id="r", retry_after_s=2.0,
        details={"a": 1},
    )  # fmt: skip
    assert error_from_info(error_info(error)).to_dict() == error.to_dict()
    broken = PluginError(plugin="acme", stage="import")
    assert error_from_info(error_info(broken)).to_dict() == broken.to_dict()


def test_a_stored_error_of_an_unknown_class_gets_the_class_of_its_code() -> None:
    class Throttled(APIRateLimitError):
        """A plugin's own."""

    assert type(error_from_info(error_info(Throttled()))) is APIRateLimitError
    strange = error_info(RoundtableError(code="ACME_7"))
    assert type(error_from_info(strange)) is RoundtableError
    assert error_from_info(strange).code == "ACME_7"


MOTIONS = {"A": "Lisbon", "B": "Porto", "C": "Faro"}


@pytest.mark.parametrize(
    ("answer", "stored", "warnings"),
    [
        (
            RankingAnswer(ranking=(("B", "X"), ("B",), ("A",)), same=(("A", "B"), ("B", "C"), ("C", "Z"))),
            RankingAnswer(ranking=(("Porto",), ("Lisbon",)), same=(("Lisbon", "Porto"),)),
            (
                "'X' is not a motion; dropped",
                "'Porto' is named twice; its first place counts",
                "in the groups that say the same: 'Porto' is named twice; its first place counts",
                "in the groups that say the same: 'Faro' is named twice; its first place counts",
                "in the groups that say the same: 'Z' is not a motion; dropped",
            ),
        ),
        (BallotAnswer(choice="C"), BallotAnswer(choice="Faro"), ()),
        (BallotAnswer(choice="Faro"), BallotAnswer(), ("'Faro' is not a motion; dropped",)),
        (BallotAnswer(), BallotAnswer(), ()),
        (ApprovalAnswer(approved=("A", "C")), ApprovalAnswer(approved=("Lisbon", "Faro")), ()),
        (ApprovalAnswer(), ApprovalAnswer(), ()),
        (
            ScoresAnswer(scores={"A": 1.0, "D": 2.0}),
            ScoresAnswer(scores={"Lisbon": 1.0}),
            ("'D' is not a motion; dropped",),
        ),
        (TextAnswer(text="A"), TextAnswer(text="A"), ()),
    ],
)
async def test_a_vote_is_stored_by_names_however_it_was_cast(
    answer: Answer, stored: Answer, warnings: tuple[str, ...]
) -> None:
    spec = TurnSpec(slot=0, agent="ada", answer=answer.kind, options=tuple(MOTIONS), motions=MOTIONS)
    stage = Stage(name="vote", turns=(spec,))
    (turn,) = await run_stage(stage, {"ada": Speaker("ada", TurnResult(answer=answer))}, view("ada"))
    assert isinstance(turn, Turn)
    assert (turn.answer, turn.result.warnings) == (stored, warnings)
