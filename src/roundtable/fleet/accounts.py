"""What a job has spent, and what is set aside for its running debates; shared by all workers of a fleet."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import anyio
from anyio import CancelScope
from pydantic import Field

from roundtable.core.errors import BudgetExceeded, ConfigurationError
from roundtable.core.types.base import Value
from roundtable.core.types.budget import Budget
from roundtable.core.types.chat import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.budget import Estimate

__all__ = ["JobAccount"]

_WAIT_S: Final = 0.5
_ROUNDING_USD: Final = 1e-9


class _Reserve(Value):
    """What is set aside for one debate."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    before: Usage = Usage()
    """What the session of the debate had consumed when this reserve was made."""
    deaths: int = 0
    """How many workers died while they ran the debate; a reserve that already exists was left by a dead worker."""


class _Account(Value):
    """The account of a job as it is stored."""

    spent: Usage = Usage(cost_usd=0.0)
    reserves: dict[str, _Reserve] = Field(default_factory=dict)

    def covers(self, wanted: _Reserve, budget: Budget) -> bool:
        """Check whether a budget covers the worst case of one more debate and those of all running debates."""
        reserves = [*self.reserves.values(), wanted]
        calls = self.spent.calls + sum(reserve.calls for reserve in reserves)
        tokens = self.spent.total_tokens + sum(reserve.tokens for reserve in reserves)
        cost = self.spent.known_cost_usd + sum(reserve.cost_usd or 0.0 for reserve in reserves)
        return (
            (budget.max_calls is None or calls <= budget.max_calls)
            and (budget.max_tokens is None or tokens <= budget.max_tokens)
            and (budget.max_cost_usd is None or cost <= budget.max_cost_usd + _ROUNDING_USD)
        )


class _Change:
    """A change of an account that waits to be written."""

    def __init__(self, apply: Callable[[_Account], _Account]) -> None:
        self.apply = apply
        self.after = _Account()
        """The account right after this change, once it is written."""
        self.error: Exception | None = None
        """Why the change could not be written."""


class JobAccount:
    """The account of one job.

    Every debate changes the account of its job twice. Changes that wait in this process at the same time are written
    together.

    Args:
        values: Where it is stored.
        key: Its key.
        budget: Limits for all debates of the job together.
        tenant: Tenant that owns it.
    """

    def __init__(self, values: KeyValue, key: str, budget: Budget | None, tenant: str) -> None:
        self._values = values
        self._key = key
        self.budget: Budget | None = budget
        """Limits for all debates of the job together."""
        self._tenant = tenant
        self._waiting: list[_Change] = []
        self._writing = anyio.Lock()

    async def spent(self) -> Usage:
        """Return what ended debates have consumed."""
        return _read(await self._values.get(self._key, tenant=self._tenant)).spent

    async def count_deaths(self, session_id: str) -> int:
        """Return how many workers have died while they ran a debate."""
        reserve = _read(await self._values.get(self._key, tenant=self._tenant)).reserves.get(session_id)
        return 0 if reserve is None else reserve.deaths + 1

    async def reserve(
        self, session_id: str, worst: Estimate | None, before: Usage, *, most_deaths: float = inf
    ) -> bool:
        """Set aside the worst case of a debate; wait while other running debates may still return a part of theirs.

        Args:
            session_id: Session of the debate.
            worst: Its worst case; `None` without a budget.
            before: What the session has consumed so far.
            most_deaths: Change nothing if more workers than this number died while they ran the debate.

        Returns:
            Whether the worst case was set aside; false only because of `most_deaths`.

        Raises:
            ConfigurationError: The budget is in dollars, and the price of a model is unknown.
            BudgetExceeded: The budget does not cover the worst case, and no other debate is running that could return
                anything.
            StorageError: The account cannot be read or written.
        """
        wanted = _Reserve(before=before)
        if worst is not None:
            if worst.cost_usd is None and self.budget is not None and self.budget.max_cost_usd is not None:
                raise ConfigurationError(
                    "max_cost_usd of the job cannot be enforced: the price of a model is unknown",
                    hint="Set prices= of the workers' table, or install the extra 'prices'; or limit tokens or calls.",
                )
            wanted = _Reserve(
                calls=worst.calls, tokens=worst.total_tokens, cost_usd=worst.cost_usd or 0.0, before=before
            )
        is_suspect = False

        def reserved(old: _Account) -> _Account:
            nonlocal is_suspect
            left = old.reserves.get(session_id)
            is_suspect = left is not None and left.deaths + 1 > most_deaths
            return old if is_suspect else self._with(old, session_id, wanted)

        while True:
            account = await self._change(reserved)
            if is_suspect:
                return False
            if session_id in account.reserves:
                return True
            if not account.reserves:
                msg = f"the budget of the job is used up: this debate may need {_words(wanted)}"
                hint = "Submit the remaining questions as a new job with its own budget, or retry with a larger budget."
                raise BudgetExceeded(msg, hint=hint)
            await anyio.sleep(_WAIT_S)

    def _with(self, account: _Account, session_id: str, wanted: _Reserve) -> _Account:
        others = {name: reserve for name, reserve in account.reserves.items() if name != session_id}
        if session_id in account.reserves:
            left = account.reserves[session_id]
            # The account does not contain yet what the dead worker spent.
            wanted = wanted.model_copy(update={"deaths": left.deaths + 1, "before": left.before})
        account = account.model_copy(update={"reserves": others})
        if self.budget is None or account.covers(wanted, self.budget):
            account = account.model_copy(update={"reserves": {**others, session_id: wanted}})
        return account

    async def settle(self, session_id: str, now: Usage) -> None:
        """Book what a debate has consumed since its reserve was made, and release the rest; do nothing without one.

        Args:
            session_id: Session of the debate.
            now: What the session has consumed in all.

        Raises:
            StorageError: The account cannot be read or written.
        """

        def settled(account: _Account) -> _Account:
            reserve = account.reserves.get(session_id)
            if reserve is None:
                return account
            others = {name: other_reserve for name, other_reserve in account.reserves.items() if name != session_id}
            spent = account.spent + _difference(now, reserve.before)
            return account.model_copy(update={"spent": spent, "reserves": others})

        await self._change(settled)

    async def _change(self, apply: Callable[[_Account], _Account]) -> _Account:
        """Change the account, and return it as it was right after this change."""
        change = _Change(apply)
        self._waiting.append(change)
        try:
            async with self._writing:
                if change in self._waiting:  # otherwise another debate has written it
                    changes, self._waiting = self._waiting, []
                    with CancelScope(shield=True):  # a cancelled debate must not cancel others' changes
                        await self._write(changes)
        finally:
            if change in self._waiting:
                self._waiting.remove(change)
        if change.error is not None:
            raise change.error
        return change.after

    async def _write(self, changes: Sequence[_Change]) -> None:
        def changed(old: JsonValue) -> JsonValue:
            account = _read(old)
            for change in changes:
                account = change.after = change.apply(account)
            return account.model_dump(mode="json", exclude_defaults=True)

        try:
            await self._values.update(self._key, changed, tenant=self._tenant)
        except Exception as error:  # noqa: BLE001  (each caller raises it)
            for change in changes:
                change.error = error


def _read(value: JsonValue) -> _Account:
    return _Account() if value is None else _Account.model_validate(value)


def _difference(now: Usage, before: Usage) -> Usage:
    """Return what was consumed between two states of the same session."""
    counts = {
        name: max(0, getattr(now, name) - getattr(before, name))
        for name in Usage.model_fields
        if not name.endswith("_usd")
    }
    saved = None if now.saved_usd is None else now.saved_usd - (before.saved_usd or 0)
    known = max(0.0, now.known_cost_usd - before.known_cost_usd)
    if now.cost_usd is None:
        return Usage(**counts, partial_cost_usd=known or None, saved_usd=saved)
    return Usage(**counts, cost_usd=known, saved_usd=saved)


def _words(wanted: _Reserve) -> str:
    cost = f" and {wanted.cost_usd:.4f} USD" if wanted.cost_usd else ""
    return f"{wanted.calls} calls, {wanted.tokens:,} tokens{cost}"
