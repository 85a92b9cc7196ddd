"""What a chat model declares and can do, by itself or through the models that it wraps.

Other packages ask here, and never look for the classes of wrappers. So models of third parties that wrap others are
treated like ours; see `roundtable.protocols.WrapsModels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeGuard

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.model_facts import ModelFacts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from roundtable.core.capabilities import LimitsCalls, PricesCalls, WrapsModels
    from roundtable.core.errors import RoundtableError
    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.chat import ChatRequest
    from roundtable.core.types.model_facts import RetryNotice

__all__ = [
    "WrappedModel",
    "announcing",
    "close_stream",
    "facts_of",
    "is_recorded",
    "is_replayed",
    "is_wrapper",
    "make_ready",
    "meters_of",
    "notify_timeout",
    "refused_at",
    "rewrapped",
    "trouble_of",
    "with_one_try",
]

_NO_FACTS: Final = ModelFacts()
_ATTRIBUTES: Final[dict[str, type | tuple[type, ...]]] = {
    "kind": str,
    "endpoint": str,
    "account": str,
    "requests_per_minute": (int, float),
    "calls_at_once": int,
    "price_share": Decimal,
    "cost_limit_usd": (int, float),
    "patience_s": (int, float),
    "keeps_deadline": bool,
}
"""Attributes of models that declare no facts, with their types."""


class WrappedModel:
    """A model that has the attributes of its inner model; subclasses add `complete` and `stream`.

    Args:
        inner: The wrapped model.
    """

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.inner.provider

    @property
    def model(self) -> str:
        """Id of the model that answers requests without a model id."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty if there is none."""
        return facts_of(self.inner).endpoint

    @property
    def profile(self) -> ModelProfile:
        """Facts about the model on which prompts depend."""
        return self.inner.profile

    @property
    def inner_models(self) -> tuple[ChatModel, ...]:
        """The wrapped model."""
        return (self.inner,)

    def is_replayed(self, request: ChatRequest) -> bool:
        """Check whether a call is answered from a recording; see `is_replayed`."""
        return is_replayed(self.inner, request)

    def is_recorded(self, request: ChatRequest) -> bool:
        """Check whether a recording contains a call; see `is_recorded`."""
        return is_recorded(self.inner, request)

    def deadline_missed(self, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
        """Report to the inner model that a call ended at its deadline; see `notify_timeout`."""
        notify_timeout(self.inner, request, error, shown)

    async def prepare(self) -> None:
        """Download or load what the model needs.

        Raises:
            RoundtableError: The model is unavailable.
        """
        await make_ready(self.inner)

    async def aclose(self) -> None:
        """Close the model; idempotent."""
        await self.inner.aclose()


# The functions below run for each call, on every layer of wrapped models, and an isinstance check of a protocol takes
# 20 times as long as getattr.


def facts_of(model: object) -> ModelFacts:
    """Return the facts of a model.

    A model declares them in `facts`. Without that, a model that wraps others has the facts of the first one, and other
    models have those of their attributes with the names of the facts, such as `endpoint`; an attribute with a value
    that makes no sense is ignored.

    Example:
        >>> class Plain:
        ...     endpoint, calls_at_once = "https://api.acme.example", "many"
        >>> facts_of(Plain()).endpoint, facts_of(Plain()).calls_at_once
        ('https://api.acme.example', None)
    """
    facts: object = getattr(model, "facts", None)
    if isinstance(facts, ModelFacts):
        return facts
    if hasattr(model, "inner_models") and (inner := _inner_models_of(model)):
        inherited = facts_of(inner[0])
        # The wrapper's own code may wait, too.
        return replace(inherited, keeps_deadline=False) if inherited.keeps_deadline else inherited
    found: dict[str, object] = {}
    for name, kinds in _ATTRIBUTES.items():
        value: object = getattr(model, name, None)
        if value is not None and isinstance(value, kinds):
            found[name] = value
    return _checked(found) if found else _NO_FACTS


def _checked(found: dict[str, object]) -> ModelFacts:
    try:
        return ModelFacts(**found)  # type: ignore[arg-type]  # the types were checked
    except ConfigurationError:
        if len(found) == 1:
            return _NO_FACTS
    valid = {name: value for name, value in found.items() if _checked({name: value}) is not _NO_FACTS}
    return ModelFacts(**valid)  # type: ignore[arg-type]  # as above


def _inner_models_of(model: object) -> Sequence[ChatModel]:
    models: object = getattr(model, "inner_models", ())
    return models if isinstance(models, Sequence) and not isinstance(models, str) else ()


def is_wrapper(model: object) -> TypeGuard[WrapsModels]:
    """Check whether a model wraps others that can be replaced, so that each of them is treated by itself."""
    return callable(getattr(model, "with_inner_models", None)) and bool(_inner_models_of(model))


def rewrapped(model: WrapsModels, inner_models: Iterable[ChatModel]) -> ChatModel:
    """Return a copy of a wrapper with these inner models.

    Raises:
        ConfigurationError: The wrapper does not return a model.
    """
    made: ChatModel = model.with_inner_models(tuple(inner_models))
    if not callable(getattr(made, "complete", None)):
        raise ConfigurationError(
            f"with_inner_models of {type(model).__name__} returned {made!r}, which is not a model",
            hint="Return a copy of the model that calls the given models.",
        )
    return made


def announcing(
    model: ChatModel,
    before: Callable[[], Awaitable[None]],
    on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None,
) -> ChatModel | None:
    """Return a model that runs callbacks before each try and with each retry; see `AnnouncesCalls`.

    Returns:
        The model; `None` if it, or one of the models that it wraps, cannot run them.
    """
    asking: Callable[..., ChatModel] | None = getattr(model, "asking", None)
    if asking is not None:
        return asking(before, on_retry)
    if not is_wrapper(model):
        return None
    told = [announcing(inner, before, on_retry) for inner in model.inner_models]
    ready = [inner for inner in told if inner is not None]
    return rewrapped(model, ready) if len(ready) == len(told) else None


def with_one_try(model: ChatModel, timeout_s: float, guard: Callable[[ChatModel], LimitsCalls]) -> ChatModel:
    """Return a model for a test call; see `LimitsCalls.without_retries`.

    Args:
        model: The model. If it wraps others, each of them makes one try.
        timeout_s: Seconds for each try.
        guard: Gives the method `without_retries` to a model without it.
    """
    if _limits_calls(model):
        return model.without_retries(timeout_s)
    if is_wrapper(model):
        return rewrapped(model, [with_one_try(inner, timeout_s, guard) for inner in model.inner_models])
    return guard(model).without_retries(timeout_s)


def trouble_of(model: object) -> str | None:
    """Return why calls of a model fail now; `None` if calls may succeed, at least for one model that it wraps."""
    if _limits_calls(model):
        return model.trouble
    troubles = [trouble_of(inner) for inner in _inner_models_of(model)]
    return None if not troubles or None in troubles else troubles[0]


def refused_at(model: object) -> float:
    """Return when the key of a model was last refused, the latest of those that it wraps; 0 if that never happened.

    The time is that of the gateway clock's `monotonic`.
    """
    if _limits_calls(model):
        return model.refused_at
    return max(map(refused_at, _inner_models_of(model)), default=0.0)


def meters_of(model: object, tries: int = 1) -> Iterator[tuple[PricesCalls, int]]:
    """Yield the priced models inside a model, each with the number of times that a call may be tried.

    Args:
        model: The model.
        tries: Times that the model itself may be called.
    """
    if _prices_calls(model):
        yield model, tries
        return
    own_tries = model.most_tries if _limits_calls(model) else 1
    for inner in _inner_models_of(model):
        yield from meters_of(inner, tries * own_tries)


def _limits_calls(model: object) -> TypeGuard[LimitsCalls]:
    return callable(getattr(model, "without_retries", None))


def _prices_calls(model: object) -> TypeGuard[PricesCalls]:
    return callable(getattr(model, "worst_cost", None))


def is_replayed(model: object, request: ChatRequest) -> bool:
    """Check whether a model answers a call from a recording, without reaching a provider."""
    check: Callable[[ChatRequest], bool] | None = getattr(model, "is_replayed", None)
    return check is not None and check(request)


def is_recorded(model: object, request: ChatRequest) -> bool:
    """Check whether a recording contains a call, so that the call was allowed when it was recorded."""
    check: Callable[[ChatRequest], bool] | None = getattr(model, "is_recorded", None)
    return check is not None and check(request)


async def make_ready(model: object) -> None:
    """Prepare a model, if it has a method `prepare`; this happens before the time of any call starts.

    A wrapper without this method has its inner models prepared.

    Raises:
        RoundtableError: The model is unavailable.
    """
    prepare: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    if prepare is not None:
        await prepare()
        return
    for inner in _inner_models_of(model):
        await make_ready(inner)


def notify_timeout(model: object, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
    """Report to a model that records its calls that one of them ended at the gateway's deadline.

    The model itself only sees a cancellation, the same as when the caller cancels the call.

    Args:
        model: The model; if it has no method `deadline_missed`, nothing happens.
        request: The call.
        error: Error with which the call ended.
        shown: Pieces of text that the stream passed on before that.
    """
    notify: Callable[[ChatRequest, RoundtableError, Sequence[str]], None] | None = getattr(
        model, "deadline_missed", None
    )
    if notify is not None:
        notify(request, error, shown)


async def close_stream(pieces: object) -> None:
    """Close a stream that has a method `aclose`. Not every iterator has one, but generators must be closed."""
    close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
