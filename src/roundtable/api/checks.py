"""Whether what a caller wrote is of the kind that is wanted; said before anything else is done with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.scoring import casefold
from roundtable.types import Budget, ProviderConfig

if TYPE_CHECKING:
    from roundtable.protocols import Observer
    from roundtable.types import Event

__all__ = [
    "check_budget",
    "check_deadline",
    "check_flag",
    "check_list",
    "check_mapping",
    "check_mode_given",
    "check_name",
    "check_options",
    "check_providers",
    "check_rounds",
    "check_seconds",
    "check_storage",
    "check_text",
    "check_whole",
    "observing",
]


def check_text(what: str, given: object) -> None:
    """Refuse what is no text."""
    if not isinstance(given, str):
        raise _wrong(what, "a text", given)


def check_name(what: str, given: object) -> None:
    """Refuse what is no text, or an empty one."""
    check_text(what, given)
    if not given:
        raise _wrong(what, "a text that is not empty", given)


def check_storage(given: object) -> None:
    """Refuse what is neither an address nor looks like a storage."""
    if given is not None and not isinstance(given, str) and not (hasattr(given, "append") and hasattr(given, "lease")):
        raise _wrong("storage", "an address such as 'memory://', or a storage", given)


def check_providers(given: object) -> None:
    """Refuse what does not map names of providers to configurations."""
    check_mapping("providers", given)
    for name, config in (given or {}).items() if isinstance(given, Mapping) else ():
        if not isinstance(config, ProviderConfig):
            raise _wrong(f"providers[{name!r}]", "a ProviderConfig", config)


def check_mode_given(given: object) -> None:
    """Refuse what is neither the name of a mode nor looks like a mode."""
    if not isinstance(given, str) and not hasattr(given, "next_stage"):
        raise _wrong("mode", "the name of a mode, or a mode", given)


def check_mapping(what: str, given: object) -> None:
    """Refuse what maps no names to values."""
    if given is not None and not isinstance(given, Mapping):
        raise _wrong(what, "a mapping of names to values", given)


def check_list(what: str, given: object, wanted: str = "a list") -> None:
    """Refuse what is no list; a text is none."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise _wrong(what, wanted, given)


def check_flag(what: str, given: object) -> None:
    """Refuse what is neither true nor false; `None` leaves it open."""
    if given is not None and not isinstance(given, bool):
        raise _wrong(what, "True, False or None", given)


def check_whole(what: str, given: object) -> None:
    """Refuse what is no whole number; `True` is none."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise _wrong(what, "a whole number", given)


def check_seconds(what: str, given: object) -> None:
    """Refuse what is no number of seconds; `None` stands for no limit."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int | float)):
        raise _wrong(what, "a number of seconds", given)


def check_rounds(rounds: int, most: int) -> None:
    """Refuse a number of rounds out of reach."""
    check_whole("rounds", rounds)
    if not 1 <= rounds <= most:
        msg = f"rounds must lie in 1 to {most}, not {rounds}"
        raise ConfigurationError(msg, hint="ROUNDTABLE_MAX_ROUNDS moves the upper end.")


def check_deadline(deadline_s: float | None, what: str = "deadline_s") -> None:
    """Refuse a deadline that lies in no future."""
    check_seconds(what, deadline_s)
    if deadline_s is not None and not deadline_s > 0:
        msg = f"{what} must be above 0, not {deadline_s}"
        raise ConfigurationError(msg)


def check_budget(budget: object) -> None:
    """Refuse what is no budget."""
    if budget is not None and not isinstance(budget, Budget):
        raise _wrong("budget", "a Budget, such as Budget(max_cost_usd=0.5)", budget)


def check_options(options: Sequence[str] | None) -> None:
    """Refuse options that cannot be told apart."""
    if options is None:
        return
    check_list("options", options)
    for option in options:
        check_text("every one of options", option)
    if len({casefold(option) for option in options}) < max(2, len(options)):
        msg = f"options must be a list of at least two, all different, not {str(options)[:200]}"
        raise ConfigurationError(msg, hint="Leave options out to let the agents find their own positions.")


def observing(given: Observer | Callable[[Event], None]) -> Callable[[Event], None]:
    """Give the function of an observer; refuse what could not hear an event."""
    hears = getattr(given, "notify", given)
    if isinstance(given, type) or not callable(hears) or inspect.iscoroutinefunction(hears):
        raise _wrong("every one of observers", "a plain function of one event, or an object with `notify`", given)
    return hears


def _wrong(what: str, wanted: str, given: object) -> ConfigurationError:
    shown = repr(given)[:80]
    msg = f"{what} must be {wanted}, not {shown} ({type(given).__name__})"
    return ConfigurationError(msg, hint=f"Give {wanted} as {what.rsplit(' ', 1)[-1]}.")
