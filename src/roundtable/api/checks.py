"""Checks of the caller's arguments, made before anything else happens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from roundtable.core.base.functions import is_async
from roundtable.core.base.strict_json import TOO_DEEP, is_too_deep
from roundtable.core.base.text import encodable
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import BatchOptions, Breaker, ModelProfile, ProviderConfig, RetryPolicy
from roundtable.core.types.answers import ContextResult
from roundtable.core.types.budget import Budget

if TYPE_CHECKING:
    from roundtable.core.protocols import Observer
    from roundtable.core.types.attachments import Attachment
    from roundtable.core.types.chat import ModelCall
    from roundtable.core.types.events import Event

__all__ = [
    "call_function",
    "check_budget",
    "check_context_results",
    "check_deadline",
    "check_depth",
    "check_extension",
    "check_flag",
    "check_job_name",
    "check_list",
    "check_mapping",
    "check_mode_given",
    "check_name",
    "check_options",
    "check_progress",
    "check_providers",
    "check_rounds",
    "check_seconds",
    "check_seen",
    "check_settings",
    "check_storage",
    "check_text",
    "check_vote",
    "check_whole",
    "is_path_safe",
    "observer_function",
]

_MOST_BATCH_CALLS: Final = 50_000
"""Number of calls in one batch that the batch API of every vendor accepts."""

_TEXT_FIELDS: Final = ("api_key", "base_url", "kind", "light_model", "model", "profile", "proxy")
"""Fields of a `ProviderConfig` that are texts or `None`."""

_LONGEST_JOB_NAME: Final = 80
_JOB_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def check_text(label: str, value: object) -> None:
    """Check that a value is a text that can be encoded in UTF-8."""
    if not isinstance(value, str) or encodable(value) != value:
        raise _wrong_type(label, "a text", value)


def check_name(label: str, value: object) -> None:
    """Check that a value is a text that is not empty."""
    check_text(label, value)
    if not value:
        raise _wrong_type(label, "a text that is not empty", value)


def is_path_safe(session_id: str) -> bool:
    """Check whether an id can be a part of a path or an address; ids that the library creates are hexadecimal."""
    return session_id not in {".", ".."} and not set(session_id) & {"/", "\\", "\0"}


def check_job_name(name: object) -> None:
    """Check that a value is a valid name for a set of debates."""
    if not isinstance(name, str) or len(name) > _LONGEST_JOB_NAME or not _JOB_NAME.fullmatch(name):
        hint = f"Use 1 to {_LONGEST_JOB_NAME} letters (a-z), digits, hyphens and underscores, such as 'night-7'."
        raise ConfigurationError(f"{name!r} is not a valid name for a set of debates", hint=hint)


def check_storage(storage: object) -> None:
    """Check that a value is a storage address, or looks like a storage."""
    if (
        storage is not None
        and not isinstance(storage, str)
        and not (hasattr(storage, "append") and hasattr(storage, "lease"))
    ):
        raise _wrong_type("storage", "an address such as 'memory://', or a storage", storage)


def check_settings(settings: object) -> None:
    """Check that a value is a `Settings` object, or `None` for the settings of the environment."""
    from roundtable.settings import Settings  # imported when a table is first used, because it loads all vendors

    if settings is not None and not isinstance(settings, Settings):
        raise _wrong_type("settings", "Settings, such as Settings.from_env()", settings)


def check_providers(providers: object) -> None:
    """Check that a value maps names of providers to configurations."""
    check_mapping("providers", providers)
    for name, config in (providers or {}).items() if isinstance(providers, Mapping) else ():
        if not isinstance(config, ProviderConfig):
            raise _wrong_type(f"providers[{name!r}]", "a ProviderConfig", config)
        _check_fields(name, config)
        _check_body(name, config.extra_body)
        _check_batch(name, config.batch)
        for field in ("cache_prompts", "allow_plain_http", "trust_env"):
            if not isinstance(getattr(config, field), bool):
                raise _wrong_type(f"{field} of providers[{name!r}]", "True or False", getattr(config, field))


def _check_body(name: str, extra_body: object) -> None:
    """Check that fields for request bodies can be written as JSON."""
    label = f"extra_body of providers[{name!r}]"
    check_mapping(label, extra_body)
    try:
        json.dumps(extra_body, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{label} is not JSON: {error}", cause=error) from error


def _check_fields(name: str, config: ProviderConfig) -> None:
    """Check the types of the fields of a configuration that are texts, seconds or values of the library."""
    for field in _TEXT_FIELDS:
        if getattr(config, field) is not None:
            check_text(f"{field} of providers[{name!r}]", getattr(config, field))
    check_seconds(f"timeout_s of providers[{name!r}]", config.timeout_s)
    if config.retry is not None and not isinstance(config.retry, RetryPolicy):
        raise _wrong_type(f"retry of providers[{name!r}]", "a RetryPolicy or None", config.retry)
    if config.breaker is not None and not isinstance(config.breaker, Breaker):
        raise _wrong_type(f"breaker of providers[{name!r}]", "a Breaker or None", config.breaker)


def _check_batch(name: str, batch: object) -> None:
    """Check that a value sets whether and how calls are made in batches."""
    label = f"batch of providers[{name!r}]"
    if isinstance(batch, bool):
        return
    if not isinstance(batch, BatchOptions):
        raise _wrong_type(label, "True, False or BatchOptions", batch)
    for field in ("wait_s", "collect_s", "poll_s"):
        check_seconds(f"{field} of {label}", getattr(batch, field))
        if not 0 < getattr(batch, field) < inf:
            raise ConfigurationError(f"{field} of {label} must be above 0, not {getattr(batch, field)!r}")
    check_whole(f"most_calls of {label}", batch.most_calls)
    if not 1 <= batch.most_calls <= _MOST_BATCH_CALLS:
        msg = f"most_calls of {label} must be from 1 to {_MOST_BATCH_CALLS}, not {batch.most_calls!r}"
        raise ConfigurationError(msg)
    if batch.journal is not None and not (isinstance(batch.journal, str) and batch.journal.strip()):
        raise _wrong_type(f"journal of {label}", "the name of a file, or None", batch.journal)


def check_mode_given(mode: object) -> None:
    """Check that a value is the name of a mode, or looks like a mode."""
    if not isinstance(mode, str) and not hasattr(mode, "next_stage"):
        raise _wrong_type("mode", "the name of a mode, or a mode", mode)


def check_mapping(label: str, value: object) -> None:
    """Check that a value maps names to values, or is `None`."""
    if value is not None and not isinstance(value, Mapping):
        raise _wrong_type(label, "a mapping of names to values", value)


def check_depth(label: str, value: object) -> None:
    """Check that a value is nested at most 64 levels deep; a deeper one could be stored, but no longer read."""
    if is_too_deep(value):
        raise ConfigurationError(f"{label} is {TOO_DEEP}", hint=f"Give {label} with fewer levels.")


def check_list(label: str, value: object, wanted: str = "a list") -> None:
    """Check that a value is a list; a text does not count as a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _wrong_type(label, wanted, value)


def check_context_results(results: object) -> None:
    """Check that a value is a list of answers to requests for information."""
    wanted = "a list of ContextResult"
    check_list("context_results", results, wanted)
    if isinstance(results, Sequence) and not all(isinstance(result, ContextResult) for result in results):
        raise _wrong_type("context_results", wanted, results)


def check_extension(focus_question: object, context_results: object) -> None:
    """Check the arguments of a continuation: a text or `None`, and a list of answers to requests for information."""
    if focus_question is not None:
        check_text("focus_question", focus_question)
    check_context_results(context_results)


def check_flag(label: str, value: object) -> None:
    """Check that a value is true, false, or `None` for the default."""
    if value is not None and not isinstance(value, bool):
        raise _wrong_type(label, "True, False or None", value)


def check_vote(vote: object) -> None:
    """Check that a value sets whether and how often debaters vote."""
    if not isinstance(vote, bool) and vote != "every":
        raise _wrong_type("vote", "True, False or 'every'", vote)


def check_whole(label: str, value: object) -> None:
    """Check that a value is a whole number; `True` does not count as a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(label, "a whole number", value)


def check_progress(on_progress: object) -> None:
    """Check that a value is a function to which progress can be reported, or `None`."""
    if on_progress is not None and (not callable(on_progress) or is_async(on_progress)):
        raise ConfigurationError(f"on_progress must be a function that is not async, not {on_progress!r}")


def check_seconds(label: str, value: object) -> None:
    """Check that a value is a number of seconds, or `None` for no limit."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _wrong_type(label, "a number of seconds", value)


def check_rounds(rounds: int, most: int) -> None:
    """Check that a number of rounds is from 1 to `most`."""
    check_whole("rounds", rounds)
    if not 1 <= rounds <= most:
        msg = f"rounds must be from 1 to {most}, not {rounds}"
        raise ConfigurationError(msg, hint="Set ROUNDTABLE_MAX_ROUNDS to change the upper limit.")


def check_deadline(deadline_s: float | None, label: str = "deadline_s") -> None:
    """Check that a deadline is more than 0 seconds, or `None`."""
    check_seconds(label, deadline_s)
    if deadline_s is not None and not deadline_s > 0:
        msg = f"{label} must be above 0, not {deadline_s}"
        raise ConfigurationError(msg)


def check_budget(budget: object) -> None:
    """Check that a value is a budget, or `None`."""
    if budget is not None and not isinstance(budget, Budget):
        raise _wrong_type("budget", "a Budget, such as Budget(max_cost_usd=0.5)", budget)


def check_options(options: Sequence[str] | None) -> None:
    """Check that options are a list of at least two different texts, or `None`; white space around them is ignored."""
    if options is None:
        return
    check_list("options", options)
    for option in options:
        check_text("each item of options", option)
        if not option.strip():
            raise _wrong_type("each item of options", "a text that is not blank", option)
    if len({option.strip() for option in options}) < max(2, len(options)):
        msg = f"options must be a list of at least two, all different, not {str(options)[:200]}"
        raise ConfigurationError(msg, hint="Leave options out to let the agents find their own positions.")


def check_seen(attachments: Sequence[Attachment], agents: Iterable[object]) -> None:
    """Check that all agents can see the files of a question.

    An agent that is not a `BaseAgent` lists the kinds of files that it can see in its attribute `inputs`: `"image"`,
    `"pdf"` and `"text"`.

    Raises:
        ConfigurationError: An agent cannot see a file; `details` name such agents and the files.
    """
    blind: dict[str, list[str]] = {}
    for agent in agents if attachments else ():
        if unseen := [each.name for each in attachments if each.kind not in _inputs_of(agent)]:
            blind[str(getattr(agent, "id", agent))] = unseen
    if blind:
        names = "; ".join(f"{agent} cannot see {', '.join(files)}" for agent, files in blind.items())
        hint = (
            "Choose models that see images and PDF documents, or attach their text. For a model that the library does "
            "not know, such as a model on your own server, set ProviderConfig(inputs=('image', 'pdf'))."
        )
        msg = f"not every agent can see the attached files: {names}"
        raise ConfigurationError(
            msg, code="ATTACHMENT_UNSEEN", hint=hint, details={agent: [*files] for agent, files in blind.items()}
        )


def _inputs_of(agent: object) -> Collection[str]:
    profile = getattr(getattr(agent, "chat_model", None), "profile", None)
    if not isinstance(profile, ModelProfile):
        return getattr(agent, "inputs", ())
    # A compact prompt has no room for an attached text.
    return () if profile.prompt_style == "compact" else (*profile.inputs, "text")


def observer_function(observer: Observer | Callable[[Event], None]) -> Callable[[Event], None]:
    """Return the function of an observer.

    Raises:
        ConfigurationError: The observer is asynchronous, or is neither a function nor an object with `notify`.
    """
    notify = getattr(observer, "notify", observer)
    if isinstance(observer, type) or not callable(notify) or is_async(notify):
        raise _wrong_type(
            "each item of observers",
            "a function that takes one event and is not async, or an object whose `notify` is such a function",
            observer,
        )
    return notify


def call_function(observer: object) -> Callable[[ModelCall], None] | None:
    """Return the function of an observer that receives model calls; `None` if the observer has none.

    Raises:
        ConfigurationError: `notify_call` is asynchronous.
    """
    notify = getattr(observer, "notify_call", None)
    if notify is not None and (not callable(notify) or is_async(notify)):
        raise _wrong_type(
            "`notify_call` of an observer", "a function that takes one model call and is not async", notify
        )
    return notify


def _wrong_type(label: str, wanted: str, value: object) -> ConfigurationError:
    shown = repr(value)[:80]
    msg = f"{label} must be {wanted}, not {shown} ({type(value).__name__})"
    # The hint calls a field of a provider's configuration by the field's own name.
    argument = label.partition(" of ")[0] if " of providers[" in label else label.rsplit(" ", 1)[-1]
    is_item = label.startswith("each item of ")
    hint = f"Check the items of the list that you pass as {argument}." if is_item else f"Give {wanted} as {argument}."
    return ConfigurationError(msg, hint=hint)
