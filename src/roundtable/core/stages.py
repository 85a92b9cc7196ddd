"""Run all turns of one stage at the same time; each ends in an answer, or in a failure that is stored as data.

This module knows agents only by the `Agent` protocol. The engine calls `run_stage` with hooks that store the turns.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypedDict, TypeGuard, assert_never

import anyio

from roundtable.core.base.attempts import CURRENT_ATTEMPT, TurnAttempt
from roundtable.core.base.clock import SystemClock
from roundtable.core.base.scale import scale_problem
from roundtable.core.base.text import encodable, error_text
from roundtable.core.base.waits import ON_WAIT
from roundtable.core.capabilities import FollowsApprovals
from roundtable.core.errors import (
    AgentError,
    APITimeoutError,
    BudgetExceeded,
    CassetteMiss,
    ConfigurationError,
    ParseError,
    RoundtableError,
    error_kinds,
)
from roundtable.core.types.answers import (
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)
from roundtable.core.types.chat import NO_USAGE, Usage
from roundtable.core.types.debate import ErrorInfo, FailedTurn, Turn, TurnResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping
    from datetime import datetime

    from roundtable.core.protocols import Agent, Clock, TurnListener
    from roundtable.core.types.answers import ToolCallRecord, TurnKey
    from roundtable.core.types.chat import ToolCall
    from roundtable.core.types.debate import AnyTurn, DebateContext
    from roundtable.core.types.plan import Stage, TurnSpec

__all__ = [
    "HALTED",
    "CountingListener",
    "StageHooks",
    "TurnCancelled",
    "TurnShaper",
    "as_shaper",
    "error_from_info",
    "error_info",
    "is_fault",
    "is_foreign_cancellation",
    "restrict_view",
    "run_stage",
    "visible_responses",
]

logger: logging.Logger = logging.getLogger("roundtable.stages")

HALTED: Final = "AGENT_HALTED"
"""Code of the error of a turn that was asked to stop after a paid call; the turn is taken again on resume."""
_MESSAGE_CHARS = 500


class TurnCancelled(Exception):
    """Raised by a listener to prevent a model call; the turn ends without an outcome."""


class CountingListener:
    """Forwards to a listener, counts model calls, and keeps the listener's error, even if the agent catches it."""

    def __init__(self, listener: TurnListener) -> None:
        self._listener = listener
        self.calls: int = 0
        self.failure: Exception | None = None

    def check(self) -> None:
        """Raise the error that the listener raised, if any."""
        if self.failure is not None:
            raise self.failure

    @property
    def wants_pieces(self) -> bool:
        """See `TurnListener`."""
        return self._listener.wants_pieces

    async def before_call(self) -> None:
        """See `TurnListener`."""
        await self._forward(self._listener.before_call())
        self.calls += 1

    async def chunk(self, text: str) -> None:
        """See `TurnListener`."""
        await self._forward(self._listener.chunk(text))

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """See `TurnListener`."""
        await self._forward(self._listener.retrying(attempt, delay_s, error))

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """See `TurnListener`."""
        await self._forward(self._listener.tool_called(step, call))

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """See `TurnListener`."""
        await self._forward(self._listener.tool_answered(step, call_id, record))

    async def approval_requested(self, step: int, call: ToolCall) -> None:
        """See `FollowsApprovals`."""
        if isinstance(self._listener, FollowsApprovals):
            await self._forward(self._listener.approval_requested(step, call))

    async def approval_decided(self, step: int, call: ToolCall, *, allowed: bool, reason: str | None) -> None:
        """See `FollowsApprovals`."""
        if isinstance(self._listener, FollowsApprovals):
            await self._forward(self._listener.approval_decided(step, call, allowed=allowed, reason=reason))

    async def _forward(self, notification: Awaitable[None]) -> None:
        try:
            await notification
        except TurnCancelled:
            raise
        except Exception as error:
            self.failure = error
            raise


class StageHooks(Protocol):
    """What a caller of `run_stage` may add, to follow and store turns."""

    async def started(self, spec: TurnSpec, attempt: int) -> TurnListener | None:
        """Return the listener of a starting turn. `TurnCancelled` prevents the turn; other errors end the stage.

        If the listener has a method `waiting`, it gets each wait of more than a second.
        """

    async def settled(self, turn: AnyTurn) -> None:
        """A turn ended. An error raised here ends the whole stage and is raised by `run_stage`."""


class TurnShaper(Protocol):
    """Optional part of a mode: pure functions that change the context and the answer of a turn."""

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Change what an agent sees; the context given already contains only what the turn may see."""

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Check a position before it is stored; the position may be marked, but its text must not change."""


def is_foreign_cancellation(error: BaseException) -> bool:
    """Check whether an error is a cancellation that was not requested for this task.

    A client library that cancels one of its own requests raises such an error, which must not end the task.
    """
    # Imported here on purpose: asyncio is slow to load, and it is already loaded wherever one of its errors can occur.
    import asyncio  # noqa: TID251  (only an asyncio task knows whether it was cancelled)

    backend_error = anyio.get_cancelled_exc_class()
    if (
        not isinstance(error, (backend_error, asyncio.CancelledError))
        or anyio.current_effective_deadline() == -math.inf
    ):
        return False
    task = asyncio.current_task() if backend_error is asyncio.CancelledError else None
    return task is None or not task.cancelling()


def is_fault(error: BaseException) -> bool:
    """Check whether an error of foreign code is that code's own fault, not a cancellation of the task or Ctrl-C."""
    return isinstance(error, Exception) or is_foreign_cancellation(error)


def as_shaper(mode: object) -> TurnShaper | None:
    """Return a mode as `TurnShaper`; `None` if it lacks these hooks."""
    return mode if _is_shaper(mode) else None


def _is_shaper(mode: object) -> TypeGuard[TurnShaper]:
    return callable(getattr(mode, "transform_context", None)) and callable(getattr(mode, "validate_response", None))


def visible_responses(view: DebateContext, spec: TurnSpec) -> tuple[AgentResponse, ...]:
    """Return the positions that a turn may see, in the order and with the names that its spec states."""
    return _select_visible({turn.key: turn for turn in view.transcript}, spec)


def _select_visible(by_key: Mapping[TurnKey, AnyTurn], spec: TurnSpec) -> tuple[AgentResponse, ...]:
    responses: list[AgentResponse] = []
    for visible in spec.sees:
        turn = by_key.get(visible.turn)
        if turn is None or turn.outcome != "answered":
            continue
        if isinstance(answer := turn.answer, AgentResponse):
            is_own_name = answer.agent_name == visible.shown_as
            responses.append(answer if is_own_name else answer.model_copy(update={"agent_name": visible.shown_as}))
    return tuple(responses)


def restrict_view(
    view: DebateContext, spec: TurnSpec, stage: str = "", by_key: Mapping[TurnKey, AnyTurn] | None = None
) -> DebateContext:
    """Reduce the full view to what one turn of a stage may see; `by_key` maps the view's turns by key, if known."""
    by_key = {turn.key: turn for turn in view.transcript} if by_key is None else by_key
    visible_keys: set[TurnKey] = {visible.turn for visible in spec.sees}
    return view.model_copy(
        update={
            "turn": spec,
            "stage": stage,
            "previous_responses": _select_visible(by_key, spec),
            "transcript": tuple(turn for key, turn in by_key.items() if key in visible_keys),
        }
    )


async def run_stage(
    stage: Stage,
    agents: Mapping[str, Agent],
    view: DebateContext,
    *,
    hooks: StageHooks | None = None,
    attempts: Mapping[int, int] | None = None,
    rejections: Mapping[int, int] | None = None,
    clock: Clock | None = None,
    turn_timeout_s: float | None = None,
    shaper: TurnShaper | None = None,
) -> tuple[AnyTurn, ...]:
    """Take all turns of a stage at once.

    Args:
        stage: The stage.
        agents: Agents by id.
        view: The mode's view of the debate; each turn sees only the part that its spec allows.
        hooks: Follows and stores turns.
        attempts: Slots to run, each with the number of its attempt; all slots at attempt 1 when left out.
        rejections: By slot, how many earlier attempts failed because of an answer; see `FailedTurn.rejects_answer`.
        clock: Source of durations.
        turn_timeout_s: Seconds that each turn has for all its calls; a turn that takes longer fails with
            `APITimeoutError`.
        shaper: The mode's hooks that change what agents see and what they answered.

    Returns:
        Outcomes in slot order; a cancelled turn has no outcome.

    Raises:
        ConfigurationError: A turn needs an agent that is not in `agents`.
        Exception: An error of `hooks` or of one of their listeners; unlike an agent's error, it ends the stage.
        KeyboardInterrupt: An agent, or a function that it calls, was interrupted.
        SystemExit: An agent, or a function that it calls, ends the program.
    """
    clock = clock or SystemClock()
    attempt_by_slot = {spec.slot: 1 for spec in stage.turns} if attempts is None else dict(attempts)
    specs = [spec for spec in stage.turns if spec.slot in attempt_by_slot]
    missing = sorted({spec.agent for spec in specs} - set(agents))
    if missing:
        msg = f"stage {stage.name!r} names agents that are not in the debate: {', '.join(missing)}"
        raise ConfigurationError(msg)
    outcomes: dict[int, AnyTurn] = {}
    errors: list[Exception | KeyboardInterrupt | SystemExit] = []
    by_key = {turn.key: turn for turn in view.transcript}

    async def run(spec: TurnSpec) -> None:
        # Each turn is a task, with its own context.
        CURRENT_ATTEMPT.set(TurnAttempt((rejections or {}).get(spec.slot, 0)))
        try:
            task = _TurnTask(
                spec, stage.name, attempt_by_slot[spec.slot], agents[spec.agent], turn_timeout_s, shaper, by_key
            )
            outcome = await _run_turn(task, view, hooks, clock)
            if outcome is not None:
                outcomes[spec.slot] = outcome
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (raised below, not in a group)
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(run, spec)
    if errors:
        raise errors[0]
    return tuple(outcomes[slot] for slot in sorted(outcomes))


class _TurnTask(NamedTuple):
    spec: TurnSpec
    stage: str
    attempt: int
    agent: Agent
    timeout_s: float | None
    shaper: TurnShaper | None
    by_key: Mapping[TurnKey, AnyTurn]


async def _run_turn(task: _TurnTask, view: DebateContext, hooks: StageHooks | None, clock: Clock) -> AnyTurn | None:
    """Take a turn and report it to the hooks; raise the errors of the hooks and their listeners."""
    try:
        listener = None if hooks is None else await hooks.started(task.spec, task.attempt)
    except TurnCancelled:
        return None
    counter = None if listener is None else CountingListener(listener)
    # Waits may be of calls that tools make, or of approvals, so they do not go through the agent.
    ON_WAIT.set(getattr(listener, "waiting", None))
    outcome = await _take_turn(task, view, counter, clock)
    if counter is not None:
        counter.check()
    if outcome is not None and hooks is not None:
        await hooks.settled(outcome)
    return outcome


async def _take_turn(
    task: _TurnTask, view: DebateContext, counter: CountingListener | None, clock: Clock
) -> AnyTurn | None:
    spec, agent = task.spec, task.agent
    start = clock.monotonic()
    failure: RoundtableError
    try:
        context = _transform_context(restrict_view(view, spec, task.stage, task.by_key), task)
        result = _name_motions(_check_result(await _call_agent(task, context, counter), spec, agent), spec)
        result = _validate_response(result, context, task.shaper)
    except TurnCancelled:
        return None
    except CassetteMiss:
        # Without the recorded answer, a replayed debate would continue differently, but look the same.
        raise
    except BudgetExceeded as error:
        if not _has_spent(error):
            # No model was called, so no agent failed: the turn stays open for a run with a larger budget.
            return None
        failure = error
    except RoundtableError as error:
        failure = error
    except BaseException as error:  # agents are foreign code; their errors become data
        if not is_fault(error):
            raise
        text = error_text(error)[:_MESSAGE_CHARS]
        failure = AgentError(f"agent {agent.id!r} raised {type(error).__name__}: {text}", cause=error)
    else:
        return Turn(**_turn_facts(task, view, start, clock), result=result, independent=not spec.sees)
    usage = failure.usage if isinstance(failure.usage, Usage) else NO_USAGE
    return FailedTurn(**_turn_facts(task, view, start, clock), error=error_info(failure), usage=usage)


def _transform_context(context: DebateContext, task: _TurnTask) -> DebateContext:
    """Pass the context through the mode's `transform_context`."""
    if task.shaper is None:
        return context
    try:
        return task.shaper.transform_context(context, task.agent)
    except Exception as error:
        raise _hook_error("transform_context", error) from error


def _hook_error(hook: str, error: Exception) -> AgentError:
    """Return the error of a turn that failed because of its mode, not its agent."""
    text = error_text(error)[:_MESSAGE_CHARS]
    return AgentError(f"{hook} of the mode raised {type(error).__name__}: {text}", code="MODE_HOOK", cause=error)


def _validate_response(result: TurnResult, context: DebateContext, shaper: TurnShaper | None) -> TurnResult:
    """Pass a position through the mode's `validate_response`; add a warning if the stance is not the assigned one."""
    if shaper is None or not isinstance(result.answer, AgentResponse):
        return result
    try:
        answer = shaper.validate_response(result.answer, context)
    except Exception as error:
        failure = _hook_error("validate_response", error)
        failure.usage = result.usage  # the answer was paid for
        raise failure from error
    breach = answer.role_violation
    if breach is None and answer is result.answer:
        return result
    warnings = result.warnings
    if breach is not None:
        warnings += (f"the stance is {breach.actual or 'missing'}, but {breach.expected} was assigned",)
    return result.model_copy(update={"answer": answer, "warnings": warnings})


async def _call_agent(task: _TurnTask, view: DebateContext, counter: CountingListener | None) -> TurnResult:
    if task.timeout_s is None:
        return await task.agent.take_turn(view, counter)
    with anyio.move_on_after(task.timeout_s):
        return await task.agent.take_turn(view, counter)
    error = APITimeoutError(
        f"agent {task.agent.id!r} did not end its turn within {task.timeout_s:g} s",
        hint="Raise `turn_timeout_s`, or ask for shorter answers and fewer tools.",
    )
    if counter is not None and counter.calls:
        # The usage of the calls was lost with the cancelled turn; only their number is known.
        error.usage = Usage(calls=counter.calls, unreported_calls=counter.calls)
    raise error


def _has_spent(error: BudgetExceeded) -> bool:
    return isinstance(error.usage, Usage) and error.usage != NO_USAGE


class _TurnFacts(TypedDict):
    round: int
    stage: str
    slot: int
    attempt: int
    agent_id: str
    agent_name: str
    provider: str | None
    model: str | None
    role: str
    decides: bool
    duration_s: float
    timestamp: datetime


def _turn_facts(task: _TurnTask, view: DebateContext, start: float, clock: Clock) -> _TurnFacts:
    """Return the position in the debate, the time and the agent of a turn that just ended."""
    provider, model = _provider_and_model(task.agent)
    return {
        "round": view.current_round,
        "stage": task.stage,
        "slot": task.spec.slot,
        "attempt": task.attempt,
        "agent_id": task.agent.id,
        "agent_name": task.agent.name,
        "provider": provider,
        "model": model,
        "role": task.spec.role,
        "decides": task.spec.counts == "decide",
        "duration_s": max(0.0, clock.monotonic() - start),
        "timestamp": clock.now(),
    }


def _provider_and_model(agent: Agent) -> tuple[str | None, str | None]:
    """Return the provider and model that an agent's `get_info` reports."""
    try:
        info = agent.get_info()
        return info.provider, info.model
    except Exception as error:  # noqa: BLE001  (agents are foreign code; a faulty get_info must not lose the turn)
        logger.debug("get_info of agent %r failed: %s", agent.id, error_text(error))
        return None, None


def _check_result(result: object, spec: TurnSpec, agent: Agent) -> TurnResult:
    """Return an agent's result if it fits the turn, with the id and name of the agent that took the turn."""
    kind = result.answer.kind if isinstance(result, TurnResult) else type(result).__name__
    if not isinstance(result, TurnResult) or kind != spec.answer:
        msg = f"agent {agent.id!r} returned {kind!r}, but the turn requires {spec.answer!r}"
        raise AgentError(msg, hint="take_turn must return a TurnResult with an answer of the required kind.")
    answer = result.answer
    problem = scale_problem(answer.scores.values(), *spec.scale) if isinstance(answer, ScoresAnswer) else ""
    if problem:
        failure = ParseError(f"agent {agent.id!r} gave no valid scores: {problem}")
        failure.usage = result.usage
        raise failure
    if isinstance(answer, AgentResponse) and (answer.agent_id, answer.agent_name) != (agent.id, agent.name):
        renamed = answer.model_copy(update={"agent_id": agent.id, "agent_name": agent.name})
        return result.model_copy(update={"answer": renamed})
    return result


def _name_motions(result: TurnResult, spec: TurnSpec) -> TurnResult:
    """Return a vote with the motions' names instead of the voter's letters, without unknown or repeated letters."""
    if not spec.motions:
        return result
    names, warnings = _MotionNames(spec.motions), [_in_names(text, spec.motions) for text in result.warnings]
    answer = result.answer
    match answer:
        case BallotAnswer():
            choice = None if answer.choice is None else next(iter(names.of([answer.choice])), None)
            answer = answer.model_copy(update={"choice": choice})
        case RankingAnswer():
            groups = tuple(filter(None, (names.of(group) for group in answer.ranking)))
            answer = answer.model_copy(update={"ranking": groups})
        case ApprovalAnswer():
            approved = None if answer.approved is None else names.of(answer.approved)
            answer = answer.model_copy(update={"approved": approved})
        case ScoresAnswer():
            scores = {spec.motions[label]: score for label, score in answer.scores.items() if names.of([label])}
            answer = answer.model_copy(update={"scores": scores})
        case AgentResponse() | PlanAnswer() | TextAnswer():
            return result
        case _:
            assert_never(answer)
    grouped = _MotionNames(spec.motions)
    same = tuple(group for group in map(grouped.of, answer.same) if len(group) > 1)
    warnings += [*names.warnings, *(f"in the groups that say the same: {warning}" for warning in grouped.warnings)]
    return result.model_copy(
        update={"answer": answer.model_copy(update={"same": same}), "warnings": tuple(dict.fromkeys(warnings))}
    )


def _in_names(warning: str, motions: Mapping[str, str]) -> str:
    """Return a warning; if it begins with a voter's letter, replace the letter by the name of the motion."""
    label, space, words = warning.partition(" ")
    name = motions.get(label.strip("'")) if space else None
    return warning if name is None else f"{name[:80]!r} {words}"


class _MotionNames:
    """Looks up the names of motions by letter; each letter counts only once.

    Args:
        motions: Name by letter.
    """

    def __init__(self, motions: Mapping[str, str]) -> None:
        self._left = dict(motions)
        self._all = motions
        self.warnings: list[str] = []

    def of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the motions with these letters."""
        names: list[str] = []
        for label in labels:
            name = self._left.pop(label, None)
            if name is not None:
                names.append(name)
            else:
                name = self._all.get(label)  # readers of the warning do not know the voter's letters
                problem = "is not a motion; dropped" if name is None else "is named twice; its first place counts"
                self.warnings.append(f"{(name or label)[:80]!r} {problem}")
        return tuple(names)


def error_info(failure: RoundtableError) -> ErrorInfo:
    """Convert an error to the value that is stored."""
    try:
        return ErrorInfo.model_validate(failure.to_dict())
    except Exception:  # noqa: BLE001  (a plugin's error may hold anything, such as details beyond JSON)
        return ErrorInfo(
            name=type(failure).__name__,
            message=failure.message if isinstance(failure.message, str) else encodable(error_text(failure)),
            code=failure.code if isinstance(failure.code, str) else failure.default_code,
            retryable=failure.retryable is True,
        )


def error_from_info(info: ErrorInfo) -> RoundtableError:
    """Convert a stored error to an exception; of its cause, only the text is restored.

    An error of an unknown class, such as a plugin's, becomes an error of the documented class with the same code.

    Example:
        >>> error_from_info(ErrorInfo(name="Throttled", message="Slower.", code="API_RATE_LIMIT"))
        APIRateLimitError('Slower.')
    """
    kinds = error_kinds()
    same_name = (kind for kind in kinds if kind.__name__ == info.name)
    kind = next(same_name, next((kind for kind in kinds if kind.default_code == info.code), RoundtableError))
    error = kind(info.message)
    # The constructors of some classes build `details` from their own arguments; here `details` is complete already.
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
