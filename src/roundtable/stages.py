"""Running one stage: every turn at once, each ending in an answer or in a failure that is data.

Knows only the `Agent` protocol. The engine uses the same function and adds storing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict, TypeGuard

import anyio

from roundtable._clock import SystemClock
from roundtable._ears import Ears, Halt
from roundtable._foreign import encodable, error_text
from roundtable.errors import (
    AgentError,
    APITimeoutError,
    BudgetExceeded,
    CassetteMiss,
    ConfigurationError,
    RoundtableError,
    error_kinds,
)
from roundtable.types import AgentResponse, ErrorInfo, FailedTurn, Turn, TurnResult, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from roundtable.protocols import Agent, Clock, TurnListener
    from roundtable.types import AnyTurn, DebateContext, Stage, TurnKey, TurnSpec

__all__ = [
    "Halt",
    "StageHooks",
    "TurnShaper",
    "error_from_info",
    "error_info",
    "is_fault",
    "is_stray",
    "narrow",
    "run_stage",
    "shaper_of",
    "visible_responses",
]


_MESSAGE_CHARS = 500


class StageHooks(Protocol):
    """What a caller of `run_stage` may add: hearing and storing turns."""

    async def started(self, spec: TurnSpec, attempt: int) -> TurnListener | None:
        """A turn begins; give what should hear it. `Halt` keeps it from beginning, any other error ends the stage."""

    async def settled(self, turn: AnyTurn) -> None:
        """A turn ended. An error raised here ends the whole stage and is raised by `run_stage`."""


class TurnShaper(Protocol):
    """What a mode may change about a turn, besides planning it; pure."""

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Change what an agent gets to see, already cut down to what its turn may see."""

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Look at a position before it is stored: mark it, never put words into it."""


def is_stray(error: BaseException) -> bool:
    """Tell whether an error is a cancellation that nobody asked this task for.

    A client library that gives up a request of its own raises one, and it must not pass for the end of the task.
    """
    # Late on purpose: asyncio is slow to load, and an error can only be its own where it is there already.
    import asyncio  # noqa: TID251  (only its own task knows whether it was cancelled)

    ours = anyio.get_cancelled_exc_class()
    if not isinstance(error, (ours, asyncio.CancelledError)) or anyio.current_effective_deadline() == -math.inf:
        return False
    task = asyncio.current_task() if ours is asyncio.CancelledError else None
    return task is None or not task.cancelling()


def is_fault(error: BaseException) -> bool:
    """Tell whether an error of foreign code is a fault of that code: no cancellation of the task, and no Ctrl-C."""
    return isinstance(error, Exception) or is_stray(error)


def shaper_of(mode: object) -> TurnShaper | None:
    """Give a mode as what shapes its turns; `None` where it has no such hooks."""
    return mode if _shapes(mode) else None


def _shapes(mode: object) -> TypeGuard[TurnShaper]:
    return callable(getattr(mode, "transform_context", None)) and callable(getattr(mode, "validate_response", None))


def visible_responses(view: DebateContext, spec: TurnSpec) -> tuple[AgentResponse, ...]:
    """Give the positions a turn may see, in the order and under the names its spec states."""
    return _shown({turn.key: turn for turn in view.transcript}, spec)


def _shown(by_key: Mapping[TurnKey, AnyTurn], spec: TurnSpec) -> tuple[AgentResponse, ...]:
    shown: list[AgentResponse] = []
    for visible in spec.sees:
        turn = by_key.get(visible.turn)
        if turn is not None and turn.outcome == "answered" and isinstance(turn.answer, AgentResponse):
            answer = turn.answer
            same = answer.agent_name == visible.shown_as
            shown.append(answer if same else answer.model_copy(update={"agent_name": visible.shown_as}))
    return tuple(shown)


def narrow(view: DebateContext, spec: TurnSpec) -> DebateContext:
    """Cut the full view down to what one turn may see."""
    by_key = {turn.key: turn for turn in view.transcript}
    seen: set[TurnKey] = {visible.turn for visible in spec.sees}
    return view.model_copy(
        update={
            "turn": spec,
            "previous_responses": _shown(by_key, spec),
            "transcript": tuple(turn for key, turn in by_key.items() if key in seen),
        }
    )


async def run_stage(
    stage: Stage,
    agents: Mapping[str, Agent],
    view: DebateContext,
    *,
    hooks: StageHooks | None = None,
    attempts: Mapping[int, int] | None = None,
    clock: Clock | None = None,
    turn_timeout_s: float | None = None,
    shaper: TurnShaper | None = None,
) -> tuple[AnyTurn, ...]:
    """Take all turns of a stage at once.

    Args:
        stage: The stage.
        agents: Agents by id.
        view: The mode's view; each turn sees only its own part of it.
        hooks: Hears and stores turns.
        attempts: Slots to run, with the number of the try; all slots, first try, when left out.
        clock: Where durations come from.
        turn_timeout_s: Seconds each turn has for all its calls; one that takes longer fails with `APITimeoutError`.
        shaper: The mode's hooks on what agents see and on what they answered.

    Returns:
        Outcomes in slot order; a halted turn has none.

    Raises:
        ConfigurationError: A turn asks for an agent that is not there.
        Exception: What `hooks` or a listener of theirs raised; unlike an agent's error, it ends the stage.
    """
    clock = clock or SystemClock()
    todo = {spec.slot: 1 for spec in stage.turns} if attempts is None else dict(attempts)
    specs = [spec for spec in stage.turns if spec.slot in todo]
    missing = sorted({spec.agent for spec in specs} - set(agents))
    if missing:
        msg = f"stage {stage.name!r} asks for agents that are not at the table: {', '.join(missing)}"
        raise ConfigurationError(msg)
    outcomes: dict[int, AnyTurn] = {}
    broken: list[Exception] = []

    async def run(spec: TurnSpec) -> None:
        try:
            order = _Order(spec, stage.name, todo[spec.slot], agents[spec.agent], turn_timeout_s, shaper)
            outcome = await _heard(order, view, hooks, clock)
            if outcome is not None:
                outcomes[spec.slot] = outcome
        except Exception as error:  # noqa: BLE001  (kept and raised below, so that nobody meets an exception group)
            broken.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(run, spec)
    if broken:
        raise broken[0]
    return tuple(outcomes[slot] for slot in sorted(outcomes))


class _Order(NamedTuple):
    spec: TurnSpec
    stage: str
    attempt: int
    agent: Agent
    timeout_s: float | None
    shaper: TurnShaper | None


async def _heard(order: _Order, view: DebateContext, hooks: StageHooks | None, clock: Clock) -> AnyTurn | None:
    """Take a turn that is heard and settled; what hooks and their listeners raise is raised."""
    try:
        listener = None if hooks is None else await hooks.started(order.spec, order.attempt)
    except Halt:
        return None
    ears = None if listener is None else Ears(listener)
    outcome = await _take(order, view, ears, clock)
    if ears is not None:
        ears.check()
    if outcome is not None and hooks is not None:
        await hooks.settled(outcome)
    return outcome


async def _take(order: _Order, view: DebateContext, ears: Ears | None, clock: Clock) -> AnyTurn | None:
    spec, agent = order.spec, order.agent
    began = clock.monotonic()
    failure: RoundtableError
    try:
        context = _transformed(narrow(view, spec), order)
        result = _checked(await _timed(order, context, ears), spec, agent)
        result = _shaped(result, context, order.shaper)
    except Halt:
        return None
    except CassetteMiss:
        # Offline, a debate that went on without the answer would be another one and look like this one.
        raise
    except BudgetExceeded as error:
        if not _has_spent(error):
            # Nobody was asked, so nobody failed: the turn stays open for whoever goes on with a larger budget.
            return None
        failure = error
    except RoundtableError as error:
        failure = error
    except BaseException as error:  # an agent is foreign code; its error becomes data
        if not is_fault(error):
            raise
        text = error_text(error)[:_MESSAGE_CHARS]
        failure = AgentError(f"agent {agent.id!r} raised {type(error).__name__}: {text}", cause=error)
    else:
        return Turn(**_place(order, view, began, clock), result=result, independent=not spec.sees)
    usage = failure.usage if isinstance(failure.usage, Usage) else Usage()
    return FailedTurn(**_place(order, view, began, clock), error=error_info(failure), usage=usage)


def _transformed(context: DebateContext, order: _Order) -> DebateContext:
    """Let the mode change what the agent gets to see."""
    if order.shaper is None:
        return context
    try:
        return order.shaper.transform_context(context, order.agent)
    except Exception as error:
        raise _hook_failed("transform_context", error) from error


def _hook_failed(hook: str, error: Exception) -> AgentError:
    """Say that a turn failed by the fault of its mode, and not of its agent."""
    text = error_text(error)[:_MESSAGE_CHARS]
    return AgentError(f"{hook} of the mode raised {type(error).__name__}: {text}", code="MODE_HOOK", cause=error)


def _shaped(result: TurnResult, context: DebateContext, shaper: TurnShaper | None) -> TurnResult:
    """Let the mode mark a position; a side taken against the one that was given is told to whoever reads the turn."""
    if shaper is None or not isinstance(result.answer, AgentResponse):
        return result
    try:
        answer = shaper.validate_response(result.answer, context)
    except Exception as error:
        failure = _hook_failed("validate_response", error)
        failure.usage = result.usage  # the answer was paid for
        raise failure from error
    breach = answer.role_violation
    if breach is None and answer is result.answer:
        return result
    told = result.warnings
    if breach is not None:
        told += (f"the stance is {breach.actual or 'missing'}, where {breach.expected} was assigned",)
    return result.model_copy(update={"answer": answer, "warnings": told})


async def _timed(order: _Order, view: DebateContext, ears: Ears | None) -> TurnResult:
    if order.timeout_s is None:
        return await order.agent.take_turn(view, ears)
    with anyio.move_on_after(order.timeout_s):
        return await order.agent.take_turn(view, ears)
    late = APITimeoutError(
        f"agent {order.agent.id!r} did not end its turn within {order.timeout_s:g} s",
        hint="Raise `turn_timeout_s`, or ask for shorter answers and fewer tools.",
    )
    if ears is not None and ears.calls:
        # What the calls consumed went with the turn that was cut off; that they were made is known.
        late.usage = Usage(calls=ears.calls, unreported_calls=ears.calls)
    raise late


def _has_spent(error: BudgetExceeded) -> bool:
    return isinstance(error.usage, Usage) and error.usage != Usage()


class _Place(TypedDict):
    round: int
    stage: str
    slot: int
    attempt: int
    agent_id: str
    agent_name: str
    role: str
    duration_s: float
    timestamp: datetime


def _place(order: _Order, view: DebateContext, began: float, clock: Clock) -> _Place:
    """Say where and when a turn that just ended was taken, and by whom."""
    return {
        "round": view.current_round,
        "stage": order.stage,
        "slot": order.spec.slot,
        "attempt": order.attempt,
        "agent_id": order.agent.id,
        "agent_name": order.agent.name,
        "role": order.spec.role,
        "duration_s": max(0.0, clock.monotonic() - began),
        "timestamp": clock.now(),
    }


def _checked(result: object, spec: TurnSpec, agent: Agent) -> TurnResult:
    """Take what an agent gave only if it is what the turn asks for; whose it is, the turn says, not the answer."""
    kind = result.answer.kind if isinstance(result, TurnResult) else type(result).__name__
    if not isinstance(result, TurnResult) or kind != spec.answer:
        msg = f"agent {agent.id!r} gave {kind!r} where {spec.answer!r} was asked for"
        raise AgentError(msg, hint="take_turn returns a TurnResult that holds an answer of the kind the turn states.")
    answer = result.answer
    if isinstance(answer, AgentResponse) and (answer.agent_id, answer.agent_name) != (agent.id, agent.name):
        named = answer.model_copy(update={"agent_id": agent.id, "agent_name": agent.name})
        return result.model_copy(update={"answer": named})
    return result


def error_info(failure: RoundtableError) -> ErrorInfo:
    """Give an error as the value that is stored."""
    try:
        return ErrorInfo.model_validate(failure.to_dict())
    except Exception:  # noqa: BLE001  (an error may be a plugin's: details beyond JSON, a message that is no text, ...)
        return ErrorInfo(
            name=type(failure).__name__,
            message=failure.message if isinstance(failure.message, str) else encodable(error_text(failure)),
            code=failure.code if isinstance(failure.code, str) else failure.default_code,
            retryable=failure.retryable is True,
        )


def error_from_info(info: ErrorInfo) -> RoundtableError:
    """Give a stored error as one that can be caught; its wrapped error comes back as text.

    A class the library does not have, such as a plugin's, becomes the documented one of the same code.

    Example:
        >>> error_from_info(ErrorInfo(name="Throttled", message="Slower.", code="API_RATE_LIMIT"))
        APIRateLimitError('Slower.')
    """
    kinds = error_kinds()
    same_name = (kind for kind in kinds if kind.__name__ == info.name)
    kind = next(same_name, next((kind for kind in kinds if kind.default_code == info.code), RoundtableError))
    error = kind(info.message)
    # The constructors of some kinds take their facts apart; here they are whole already.
    RoundtableError.__init__(
        error,
        info.message,
        code=info.code,
        provider=info.provider,
        retryable=info.retryable,
        cause=None if info.cause is None else RuntimeError(info.cause),
        hint=info.hint,
        request_id=info.request_id,
        retry_after_s=info.retry_after_s,
        details=info.details,
    )
    return error
