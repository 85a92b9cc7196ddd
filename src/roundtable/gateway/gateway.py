"""The gateway that every model call passes: admission, breaker, retries, deadline, uniform errors and usage."""

from __future__ import annotations

import logging
import math
import random
from collections import Counter, deque
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import anyio

from roundtable.core.base.clock import SystemClock
from roundtable.core.base.eventloop import PerLoop
from roundtable.core.base.waits import SHOWN_S, Wait, report_wait
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import Breaker
from roundtable.gateway.breaker import CircuitBreaker
from roundtable.gateway.default_rates import default_rate_of
from roundtable.gateway.guarded import CallRules, GuardedModel
from roundtable.gateway.retry import RetryRule
from roundtable.gateway.state import EndpointKey, EndpointState, Rates, RetryBudget
from roundtable.http.guard_public import masked_url
from roundtable.vendors import known_provider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from roundtable.core.protocols import ChatModel, SleepingClock
    from roundtable.core.types.agents import RetryPolicy
    from roundtable.core.types.chat import ModelCall
    from roundtable.core.types.events import WaitReason
    from roundtable.core.types.providers import ProviderLookup

__all__ = ["Gateway"]

_log: logging.Logger = logging.getLogger("roundtable.gateway")


class Gateway:
    """Guards models of any origin: HTTP, local or from a plugin.

    Models guarded by one gateway share its limits. The rules for a call:

    - It waits until fewer than `concurrency` calls with the same provider, address, model and key are in progress, and
      until the rates of the provider allow it. The rates are the configured ones. By default, a vendor's own address
      has a default rate, all other servers have none, and limits in response headers always win over that. A call that
      would wait more than 60 seconds for the rates fails at once.
    - While the breaker of its endpoint (provider, address and model) is open, it is refused with `CircuitOpen`. After
      the provider refused its key, calls with this key are refused with `APIAuthError` for 15 minutes.
    - The retry rule decides about retries. The call keeps its slot between tries. Retries are paid from a budget that
      all calls of the provider share; when this budget is used up, failures are final.
    - It ends with `APITimeoutError` at its total deadline. The time starts with the admission, and includes tries and
      waits.
    - It raises only `RoundtableError`s. An exception of another library becomes an `AgentError` with that exception as
      its cause, and an exception group is never raised. Cancellation and other `BaseException`s pass unchanged.
    - It reports usage that is never negative and counts at least one call. The usage of failed tries is added to the
      answer's usage, or is in `usage` of the error.

    The breaker counts each call once, when it ends, and opens when half of at least 20 calls of the last 60 seconds
    failed; see `roundtable.types.Breaker`. How failures count:

    | | retried | counts for the breaker | costs budget |
    |---|---|---|---|
    | rate limit (429) | yes | no | 5 |
    | network or server error (409, 425, 500 and above) | yes | yes | 5 |
    | time-out (408, 504, no answer in time) | yes, while there is time | yes | 10 |
    | useless answer (not JSON, empty) | once | yes | 5 |
    | refusal (400, 401, 403, 404, 413, 422), used-up quota | no | no | |
    | cancelled by the caller, a turn's or a debate's deadline | no | no | |

    A provider's header `x-should-retry` has priority over the first column.

    Args:
        concurrency: Most calls that are in progress at the same time per provider, address, model and key, in each
            event loop.
        timeout_s: Total deadline of a call in seconds; `None` leaves the deadline to the model.
        retry: Retry rule for models that are guarded without their own policy.
        clock: Source of the time; also sleeps before retries.
        seed: Makes the random part of waits repeatable.
        providers: What is known about providers; only the built-in ones are known by default.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import ChatRequest
        >>> model = Gateway(concurrency=2, timeout_s=5).guard(ScriptedModel(["Yes."]))
        >>> anyio.run(model.complete, ChatRequest(model="", messages=())).text
        'Yes.'
    """

    def __init__(
        self,
        *,
        concurrency: int = 8,
        timeout_s: float | None = None,
        retry: RetryRule | None = None,
        clock: SleepingClock | None = None,
        seed: int | None = None,
        providers: ProviderLookup = known_provider,
    ) -> None:
        if concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {concurrency!r}")
        self.concurrency = concurrency
        self.timeout_s: float | None = _check_positive("timeout_s", timeout_s)
        self.retry: RetryRule = retry or RetryRule()
        self.clock: SleepingClock = clock or SystemClock()
        self.random: random.Random = random.Random(seed)
        self.provider: Final = providers
        """Function that returns what is known about a provider."""
        self._endpoint_states: dict[EndpointKey, EndpointState] = {}
        self._breakers: dict[tuple[str, str, str], CircuitBreaker] = {}
        self._budgets: dict[tuple[str, str, str], RetryBudget] = {}
        self.waits: Counter[tuple[str, WaitReason]] = Counter()
        """Number of waits of more than a second, by endpoint (`provider:model at address`) and reason."""
        self._parts = 1
        self._has_shared = False
        self.call_listeners: tuple[Callable[[ModelCall], None], ...] = ()
        """Functions that receive a report of each try of each call when the try is over."""
        self._limiters: PerLoop[dict[EndpointKey, _Slots]] = PerLoop(dict)
        self._provider_limits: dict[str, int] = {}
        self._provider_limiters: PerLoop[dict[str, _Slots]] = PerLoop(dict)

    def guard(
        self,
        model: ChatModel,
        *,
        inside: Callable[[ChatModel], ChatModel] | None = None,
        timeout_s: float | None = None,
        retry: RetryPolicy | None = None,
        requests_per_minute: float | Literal["auto"] | None = "auto",
        tokens_per_minute: float | None = None,
        breaker: Breaker | Literal["auto"] | None = "auto",
    ) -> GuardedModel:
        """Wrap a model; a model that this gateway already guards is returned unchanged, unless `retry` is set.

        If another gateway guards the model, the model moves to this gateway with its deadline and its retry policy, so
        that no call is retried in two places.

        Args:
            model: The model.
            inside: Wraps the model below the gateway, such as with a meter; also applied to a guarded model.
            timeout_s: Total deadline of its calls in seconds; the gateway's deadline when left out.
            retry: Retry policy; the gateway's rule when left out.
            requests_per_minute: Calls per minute, above 0; each try counts. `"auto"` uses the default rate of the
                model's provider, if there is one and the model is not on this machine, until response headers state the
                limit. `None` sets no limit.
            tokens_per_minute: Tokens per minute that the provider allows; no limit when left out.
            breaker: When too many failures stop further calls; `"auto"` is `Breaker()`, and `None` never stops them.
                The first call to a provider, address and model sets this for all its callers.
        """
        if isinstance(model, GuardedModel):
            model = model if inside is None else model.over(inside)
            guarded = model if model.gateway is self else GuardedModel(self, model.inner, model.guard)
            return guarded if retry is None else guarded.with_retry(retry)
        requests = default_rate_of(model) if requests_per_minute == "auto" else requests_per_minute
        rates = Rates(
            requests_per_minute=_check_rate("requests_per_minute", requests),
            learns=requests_per_minute == "auto",
            tokens_per_minute=_check_rate("tokens_per_minute", tokens_per_minute),
        )
        guard = CallRules(
            timeout_s=self.timeout_s if timeout_s is None else _check_positive("timeout_s", timeout_s),
            rule=self.retry if retry is None else RetryRule.of(retry),
            rates=rates,
            breaker=Breaker() if breaker == "auto" else breaker,
        )
        return GuardedModel(self, model if inside is None else inside(model), guard)

    @property
    def endpoint_states(self) -> tuple[EndpointState, ...]:
        """State of each endpoint (provider, address, model and key) that has been called."""
        return tuple(self._endpoint_states.values())

    def reset_breakers(self) -> None:
        """Close all breakers and forget their failures, such as after a provider is back or a quota was raised."""
        for state in self.endpoint_states:
            state.reset()

    def note_wait(self, endpoint_state: EndpointState, wait: Wait) -> None:
        """Count and report a wait of more than a second; the log has the first one of each endpoint and reason."""
        label, key = endpoint_state.breaker.label, endpoint_state.key
        self.waits[label, wait.reason] += 1
        if self.waits[label, wait.reason] == 1:
            length = "" if wait.remaining_s is None else f" {wait.remaining_s:.0f} s"
            _log.info(
                "%s: a call waits%s for %s; later waits like this are not logged",
                label,
                length,
                wait.detail,
                extra={"provider": key.provider, "model": key.model, "reason": wait.reason},
            )
        report_wait(wait)

    def share_rates(self, parts: int) -> None:
        """Share the rates of all endpoints with other processes: from now on, this process uses an equal part.

        Args:
            parts: Number of processes, including this one.
        """
        if parts != self._parts:
            self._parts, self._has_shared = parts, True
            for state in self.endpoint_states:
                state.share(parts)

    def limit_providers(self, limits: Mapping[str, int]) -> None:
        """Limit the calls in progress with each provider, over all its models and keys, from now on.

        Calls that wait are admitted as soon as a raised or removed limit allows that. A lowered limit does not end any
        calls. If a model calls another model of the same provider, both calls count; with a limit of 1, the inner call
        waits until the outer call has reached its deadline.

        Args:
            limits: Most calls in progress at the same time by name of the provider, in each event loop; at least 1. A
                provider without an entry has no such limit.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.types import ChatResponse, ModelProfile
            >>> class Slow:
            ...     provider, model, profile = "slow", "m", ModelProfile()
            ...     at_once = most = 0
            ...
            ...     async def complete(self, request):
            ...         self.at_once += 1
            ...         self.most = max(self.most, self.at_once)
            ...         await anyio.sleep(0.01)
            ...         self.at_once -= 1
            ...         return ChatResponse(text="Tea", model="m")
            ...
            ...     async def aclose(self):
            ...         pass
            >>> def most_at_once(limits):
            ...     model = Slow()
            ...     table = Roundtable([model] * 3, storage="memory://", analyzer="basic")
            ...     table.gateway.limit_providers(limits)
            ...     anyio.run(lambda: table.debate("Tea or coffee?", rounds=1, options=["Tea", "Coffee"]))
            ...     return model.most
            >>> most_at_once({}), most_at_once({"slow": 1})
            (3, 1)
        """
        self._provider_limits = dict(limits)
        self._provider_limiters.for_each(self._adopt_provider_limits)

    def _adopt_provider_limits(self, limiters: Mapping[str, _Slots]) -> None:
        for provider, limiter in limiters.items():
            limiter.resize(self._provider_limits.get(provider, math.inf))

    def endpoint_state(self, model: GuardedModel, name: str = "") -> EndpointState:
        """Return the state that all calls to an endpoint share; the first call sets its rates and its breaker.

        Args:
            model: The model, which this gateway guards.
            name: Model id of the request; the model's own if empty.
        """
        facts, rules = model.facts, model.guard
        key = EndpointKey(model.inner.provider, facts.endpoint, name or model.inner.model, facts.account)
        state = self._endpoint_states.get(key)
        if state is None:
            budget = self._budgets.setdefault((key.provider, key.endpoint, key.account), RetryBudget())
            breaker = self._breakers.get(key[:3])
            if breaker is None:
                label = f"{key.provider}:{key.model}" + (f" at {masked_url(key.endpoint)}" if key.endpoint else "")
                breaker = CircuitBreaker.of(rules.breaker, label, clock=self.clock)
                breaker = self._breakers.setdefault(key[:3], breaker)
            made = EndpointState(
                key,
                rules.rates,
                breaker,
                budget,
                clock=self.clock,
                parts=self._parts,
                calls_at_once=facts.calls_at_once,
            )
            state = self._endpoint_states.setdefault(key, made)
        return state

    @asynccontextmanager
    async def admitted(self, endpoint_state: EndpointState) -> AsyncGenerator[None]:
        """Wait for a free slot among the calls in progress, and keep the slot while the block is open."""
        held: list[_Slots] = []
        try:
            for limiter in self._limiters_of(endpoint_state):
                await limiter.take(partial(self._note_slot, endpoint_state, limiter))
                held.append(limiter)
            yield
        finally:
            for limiter in held:
                limiter.put_back()

    def _note_slot(self, endpoint_state: EndpointState, limiter: _Slots) -> None:
        calls = counted(int(limiter.most), "call")
        self.note_wait(endpoint_state, Wait("slot", f"a free slot, with {calls} at once"))

    def _limiters_of(self, endpoint_state: EndpointState) -> tuple[_Slots, ...]:
        """Return the limiters for calls to an endpoint: its own, and the one of its provider if there is one."""
        limiters, key = self._limiters.get(), endpoint_state.key
        limiter = limiters.get(key)
        if limiter is None:
            limiter = limiters[key] = _Slots(endpoint_state.calls_at_once or self.concurrency)
        if self._has_shared:
            limiter.resize(endpoint_state.slots(endpoint_state.calls_at_once or self.concurrency))
        provider_most = self._provider_limits.get(key.provider)
        if provider_most is None:
            return (limiter,)
        provider_limiter = self._provider_limiters.get().setdefault(key.provider, _Slots(provider_most))
        provider_limiter.resize(provider_most)
        return limiter, provider_limiter


class _Slots:
    """Slots for calls in progress; their number may change while calls wait for a slot.

    The limiter of anyio 4.11 is not suitable: if its number is raised while more calls run than the old number, it
    admits too many calls.

    Args:
        most: Number of slots.
    """

    def __init__(self, most: float) -> None:
        self.most: float = most
        """Number of slots; `resize` changes it."""
        self._taken = 0
        self._waiting: deque[anyio.Event] = deque()

    def resize(self, most: float) -> None:
        """Change the number of slots; calls in progress keep their slots."""
        if most != self.most:
            self.most = most
            self._admit()

    async def take(self, on_wait: Callable[[], None]) -> None:
        """Take a slot; wait until one is free and no other call has waited for longer.

        Args:
            on_wait: Called when the wait has taken more than a second.
        """
        if self._taken < self.most:
            self._taken += 1
            return
        turn = anyio.Event()
        self._waiting.append(turn)
        try:
            with anyio.move_on_after(SHOWN_S):
                await turn.wait()
            if not turn.is_set():
                on_wait()
                await turn.wait()
        except BaseException:
            if turn.is_set():
                self.put_back()
            else:
                self._waiting.remove(turn)
            raise

    def put_back(self) -> None:
        """Put a slot back; the call that has waited longest gets it."""
        self._taken -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._taken < self.most:
            self._taken += 1
            self._waiting.popleft().set()


def _check_rate(parameter: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        alternative = " or 'auto'" if parameter == "requests_per_minute" else ""
        raise ConfigurationError(
            f"{parameter} must be a number above 0{alternative}, not {value!r}",
            hint="Set the number that the provider allows for your key per minute; None sets no limit.",
        )
    return float(value)


def _check_positive(parameter: str, value: float | None) -> float | None:
    if value is not None and not value > 0:
        unit = " of seconds" if parameter.endswith("_s") else ""
        raise ConfigurationError(f"{parameter} must be a positive number{unit}, not {value!r}")
    return value
