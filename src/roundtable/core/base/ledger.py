"""Budgets: accounts with reservations. Amounts are exact, and no call waits."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.errors import BudgetExceeded
from roundtable.core.types.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from roundtable.core.types.chat import Usage

__all__ = ["Account", "Amount", "DebateKey", "Ledger", "Ticket"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Consumption of calls. Amounts support `+` and `-`."""

    cost_usd: Decimal | None = Decimal(0)
    """Exact price in US dollars; `None` when unknown."""
    tokens: int = 0
    """Input and output tokens together."""
    calls: int = 0
    """Calls."""

    def __add__(self, other: Amount) -> Amount:
        """Add; an unknown price counts as 0 here, but see `Account.reserve`."""
        return Amount(
            (self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0)),
            self.tokens + other.tokens,
            self.calls + other.calls,
        )

    def __sub__(self, other: Amount) -> Amount:
        """Subtract."""
        return Amount(
            (self.cost_usd or Decimal(0)) - (other.cost_usd or Decimal(0)),
            self.tokens - other.tokens,
            self.calls - other.calls,
        )

    def excess_over(self, other: Amount) -> Amount:
        """Return the excess of this amount over another, computed per field; a field without excess is 0."""
        excess = self - other
        return Amount(max(Decimal(0), excess.cost_usd or Decimal(0)), max(0, excess.tokens), max(0, excess.calls))

    @classmethod
    def of(cls, usage: Usage) -> Amount:
        """Return the known part of a usage as an amount."""
        return cls(Decimal(repr(usage.known_cost_usd)), usage.total_tokens, usage.calls)


NOTHING: Final = Amount()


class Ticket:
    """A reservation made by `Account.reserve`. It is settled once; further calls of `settle` do nothing."""

    def __init__(self, account: Account, amount: Amount) -> None:
        self.amount = amount
        """Reserved amount."""
        self._account: Account | None = account

    def settle(self, actual: Amount | None = None) -> None:
        """Release the reservation and charge what the call consumed, or the whole reservation if that is unknown.

        If only the price is unknown, the reserved price is charged.
        """
        account, self._account = self._account, None
        if account is None:
            return
        charge = self.amount if actual is None else actual
        if charge.cost_usd is None:
            charge = Amount(self.amount.cost_usd, charge.tokens, charge.calls)
        account.book(self.amount, charge)

    def release(self) -> None:
        """Release the reservation and charge nothing."""
        self.settle(NOTHING)


class Account:
    """The budget, the spending and the reservations of one debate or one `Roundtable`.

    A reservation counts either in the account and in every account above it, or in none of them. Accounts are safe to
    use from any thread.

    Args:
        budget: The limits; no limits when left out.
        above: Another account that this account's spending also counts in.

    Example:
        >>> account = Account(Budget(max_tokens=100))
        >>> ticket = account.reserve(Amount(tokens=80, calls=1))
        >>> account.reserve(Amount(tokens=30, calls=1)) is None  # not now: some of the 80 may be released later
        True
        >>> ticket.settle(Amount(tokens=40, calls=1))
        >>> account.reserve(Amount(tokens=30, calls=1)).amount.tokens, account.spent.tokens
        (30, 40)
    """

    def __init__(self, budget: Budget | None = None, above: Account | None = None) -> None:
        self.budget: Budget = budget or Budget()
        self.spent: Amount = NOTHING
        """Charged amount."""
        self.held: Amount = NOTHING
        """Reserved amount that is not settled yet."""
        self.calls_begun: int = 0
        """Calls that were started, with or without limits, including calls whose usage is not known yet."""
        self.refusal: str | None = None
        """Why a call was refused. Later calls are refused too, except calls that may use the reserve for the
        synthesis."""
        self._above = above
        # One lock for the whole tree, because several threads may run debates of one `Roundtable`.
        self._lock: threading.RLock = threading.RLock() if above is None else above._lock  # noqa: SLF001

    @property
    def synthesis_reserve(self) -> Amount:
        """Amount reserved for the synthesis; other calls may not use it."""
        budget = self.budget
        if not budget.synthesis_share:
            return NOTHING
        share = Decimal(repr(budget.synthesis_share))
        cost = Decimal(repr(budget.max_cost_usd or 0)) * share
        return Amount(cost, int((budget.max_tokens or 0) * share), 1)

    @property
    def is_limited(self) -> bool:
        """Whether this account or one above it limits calls in any way."""
        return any(
            limit is not None
            for account in self._chain()
            for limit in (account.budget.max_cost_usd, account.budget.max_tokens, account.budget.max_calls)
        )

    @property
    def needs_prices(self) -> bool:
        """Whether this account or one above it limits the price of calls."""
        return any(account.budget.max_cost_usd is not None for account in self._chain())

    def _chain(self) -> Iterator[Account]:
        account: Account | None = self
        while account is not None:
            yield account
            account = account._above  # noqa: SLF001  (its own class)

    def reserve(self, want: Amount, *, may_use_reserve: bool = False, has_cheaper_form: bool = False) -> Ticket | None:
        """Reserve the most that a call may consume.

        Args:
            want: The worst case of the call.
            may_use_reserve: Whether the call may use the reserve for the synthesis.
            has_cheaper_form: Whether the call can also be made in a cheaper way. If so, its refusal does not refuse
                later calls.

        Returns:
            The reservation; `None` if it does not fit now, but may fit once other reservations are settled.

        Raises:
            BudgetExceeded: The call will never fit, even if all other reservations are released; or an earlier call was
                refused, and this one may not use the reserve for the synthesis.
        """
        with self._lock:
            refusal = (None if may_use_reserve else self.refusal) or self._refusal_of(
                want, may_use_reserve=may_use_reserve
            )
            if refusal is not None:
                self.refusal = self.refusal if has_cheaper_form else refusal
                raise BudgetExceeded(refusal)
            if any(account._shortage_of(want + account.held, may_use_reserve) for account in self._chain()):  # noqa: SLF001  (its own class)
                return None
            for account in self._chain():
                account.held += want
            return Ticket(self, want)

    def _refusal_of(self, want: Amount, *, may_use_reserve: bool) -> str | None:
        """Return why an amount can never be reserved; `None` if it can be reserved now or later."""
        if want.cost_usd is None and self.needs_prices:
            return "the price of the call is unknown, so the budget in US dollars cannot be enforced"
        shortages = (account._shortage_of(want, may_use_reserve) for account in self._chain())  # noqa: SLF001  (its own class)
        return next((shortage for shortage in shortages if shortage is not None), None)

    def _shortage_of(self, want: Amount, may_use_reserve: bool) -> str | None:  # noqa: FBT001  (private)
        """Return which limit an additional amount would exceed; `None` if it fits."""
        synthesis_reserve = NOTHING if may_use_reserve else self.synthesis_reserve
        after = self.spent + want + synthesis_reserve
        budget, spent = self.budget, self.spent
        subject = "the debate" if self._above is not None else "the table"
        note = " and some is kept for the synthesis" if synthesis_reserve != NOTHING else ""
        if budget.max_cost_usd is not None and (after.cost_usd or 0) > Decimal(repr(budget.max_cost_usd)):
            cost = float(spent.cost_usd or 0)
            if not want.cost_usd:
                return f"{subject} has spent {cost:.6g} USD{note}; its budget is {budget.max_cost_usd:.6g}"
            return (
                f"{subject} has spent {cost:.6g} of {budget.max_cost_usd:.6g} USD{note}; "
                f"the next call may cost {float(want.cost_usd):.6g}"
            )
        if budget.max_tokens is not None and after.tokens > budget.max_tokens:
            if not want.tokens:
                return f"{subject} has spent {spent.tokens} tokens{note}; its budget is {budget.max_tokens}"
            return (
                f"{subject} has spent {spent.tokens} of {budget.max_tokens} tokens{note}; "
                f"the next call may take {want.tokens}"
            )
        if budget.max_calls is not None and after.calls > budget.max_calls:
            calls = "call" if spent.calls == 1 else "calls"
            return f"{subject} has made {spent.calls} {calls}{note}; its budget is {budget.max_calls}"
        return None

    def book(self, reserved: Amount, consumed: Amount) -> None:
        """Release a reservation and charge what was consumed; `Ticket` ensures that this happens only once."""
        with self._lock:
            for account in self._chain():
                account.held -= reserved
                account.spent += consumed

    def catch_up(self, usage: Usage) -> None:
        """Charge the part of the spending in the log of a session that has not been charged yet."""
        with self._lock:
            missing = Amount.of(usage).excess_over(self.spent)
            for account in self._chain():
                account.spent += missing

    def check(self) -> str | None:
        """Return why no further call fits, or `None` while one may fit; checked between calls.

        A refusal also applies to later calls, except calls that may use the reserve for the synthesis.
        """
        with self._lock:
            least = Amount(calls=1)
            self.refusal = self.refusal or self._refusal_of(least, may_use_reserve=True)
            return self.refusal

    def shortage(self, *, may_use_reserve: bool) -> str | None:
        """Return why not even the smallest call fits, or `None` if one fits; this refuses no later call.

        Args:
            may_use_reserve: Whether the call may use the reserve for the synthesis.
        """
        with self._lock:
            return self._refusal_of(Amount(calls=1), may_use_reserve=may_use_reserve)


class DebateKey(NamedTuple):
    """Identifies a debate: two tenants may use the same session id, and an id may be used again after a deletion."""

    session_id: str
    tenant: str = "default"
    created_at: datetime | None = None


class Ledger:
    """The accounts of a `Roundtable`: its own, and below it one for each debate.

    Args:
        budget: The most that all debates of the `Roundtable` may consume.
        monotonic: Clock that returns the time in seconds.
    """

    def __init__(self, budget: Budget | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.table: Account = Account(budget)
        self._monotonic = monotonic
        self._debates: dict[tuple[str, str], dict[DebateKey, Account]] = {}
        """The accounts by session id and tenant; a deleted session may have had the same id, so there may be
        several."""
        self._running: set[DebateKey] = set()
        self._since = 0.0
        self._used_s = 0.0
        self._lock = threading.RLock()

    def open(self, key: DebateKey, budget: Budget | None) -> Account:
        """Open the account of a debate that starts or resumes; the given budget applies from now on."""
        with self._lock:
            accounts = self._debates.setdefault((key.session_id, key.tenant), {})
            account = accounts.setdefault(key, Account(None, self.table))
            account.budget, account.refusal = budget or Budget(), None
            if not self._running:
                self._since = self._monotonic()
            self._running.add(key)
            return account

    def close(self, key: DebateKey) -> None:
        """Mark a debate as no longer running; its spending stays charged to the `Roundtable`."""
        with self._lock:
            if key in self._running:
                self._running.discard(key)
                if not self._running:
                    self._used_s += self._monotonic() - self._since
            if self.table.budget == Budget():
                # The `Roundtable` has no limits to enforce, and the log of the debate records its spending.
                self.forget(key.session_id, key.tenant)

    def forget(self, session_id: str, tenant: str) -> None:
        """Drop the accounts of a session unless it runs; its spending stays charged to the `Roundtable`."""
        with self._lock:
            accounts = self._debates.get((session_id, tenant), {})
            running = {key: account for key, account in accounts.items() if key in self._running}
            if running:
                self._debates[session_id, tenant] = running
            elif accounts:
                del self._debates[session_id, tenant]

    def _account(self, key: DebateKey) -> Account:
        return self._debates.get((key.session_id, key.tenant), {}).get(key, self.table)

    @contextmanager
    def charging(self, key: DebateKey) -> Generator[None]:
        """Charge calls made inside this block to the debate's account, if they name the debate's session.

        This includes calls by tasks that are started in the block.
        """
        before = _charged.get()
        _charged.set((self, key))
        try:
            yield
        finally:
            _charged.set(before)

    def account(self, session_id: str | None) -> Account:
        """Return the account of a call: the account of the debate that makes it, or the `Roundtable`'s own."""
        ledger, key = _charged.get() or (None, None)
        if ledger is not self or key is None or key.session_id != session_id:
            return self.table
        return self._account(key)

    def seconds_left(self, key: DebateKey, used_s: float) -> float | None:
        """Return the seconds that a debate may still run; `None` without a limit.

        Args:
            key: Which debate.
            used_s: Seconds that the debate has already run.
        """
        account = self._account(key)
        own, shared = account.budget.max_seconds, self.table.budget.max_seconds
        limits = [] if own is None else [own - used_s]
        if shared is not None:
            running = self._monotonic() - self._since if self._running else 0.0
            limits.append(shared - self._used_s - running)
        return max(0.0, min(limits)) if limits else None


_charged: ContextVar[tuple[Ledger, DebateKey] | None] = ContextVar("roundtable_charged", default=None)
"""The debate whose calls the running code makes."""
