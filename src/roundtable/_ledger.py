"""Who may still spend what: accounts with reservations, exact and free of waiting."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from roundtable.errors import BudgetExceeded
from roundtable.types import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundtable.types import Usage

__all__ = ["Account", "Amount", "Ledger", "Ticket"]


@dataclass(frozen=True, slots=True)
class Amount:
    """What calls consume. Amounts add up with `+` and `-`."""

    cost_usd: Decimal | None = Decimal(0)
    """Exact price in US dollars; `None` when unknown."""
    tokens: int = 0
    """Tokens, input and output together."""
    calls: int = 0
    """Calls."""

    def __add__(self, other: Amount) -> Amount:
        """Add; an unknown price counts as nothing here, see `Account.reserve`."""
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

    def beyond(self, other: Amount) -> Amount:
        """Give what this has more than another, part by part."""
        more = self - other
        return Amount(max(Decimal(0), more.cost_usd or Decimal(0)), max(0, more.tokens), max(0, more.calls))

    @classmethod
    def of(cls, usage: Usage) -> Amount:
        """Give what is known of a usage as an amount."""
        return cls(Decimal(repr(usage.known_cost_usd)), usage.total_tokens, usage.calls)


NOTHING: Final = Amount()


class Ticket:
    """A reservation; settled exactly once, whatever is called how often. Made by `Account.reserve`."""

    def __init__(self, account: Account, amount: Amount) -> None:
        self.amount = amount
        """What is reserved."""
        self._account: Account | None = account

    def settle(self, actual: Amount | None = None) -> None:
        """Give the reservation back and charge what the call took; without word of it, all that was reserved.

        An unknown price is charged as reserved.
        """
        account, self._account = self._account, None
        if account is None:
            return
        taken = self.amount if actual is None else actual
        if taken.cost_usd is None:
            taken = Amount(self.amount.cost_usd, taken.tokens, taken.calls)
        account.book(self.amount, taken)

    def release(self) -> None:
        """Give the reservation back and charge nothing."""
        self.settle(NOTHING)


class Account:
    """What one debate, or one table, may spend, has spent and holds reserved.

    A reservation holds in the account and in every account above it, or in none. Any thread may use it.

    Args:
        budget: The limits; nothing is limited without one.
        above: The account that this one's spending also counts in.

    Example:
        >>> account = Account(Budget(max_tokens=100))
        >>> ticket = account.reserve(Amount(tokens=80, calls=1))
        >>> account.reserve(Amount(tokens=30, calls=1)) is None  # not now: 80 may still be given back
        True
        >>> ticket.settle(Amount(tokens=40, calls=1))
        >>> account.reserve(Amount(tokens=30, calls=1)).amount.tokens, account.spent.tokens
        (30, 40)
    """

    def __init__(self, budget: Budget | None = None, above: Account | None = None) -> None:
        self.budget: Budget = budget or Budget()
        self.spent: Amount = NOTHING
        """What was charged."""
        self.held: Amount = NOTHING
        """What is reserved and not settled."""
        self.refusal: str | None = None
        """Why a call was refused; nothing more is let through after that."""
        self._above = above
        # One lock for the whole tree; threads may run debates of one table.
        self._lock: threading.RLock = threading.RLock() if above is None else above._lock  # noqa: SLF001

    @property
    def aside(self) -> Amount:
        """What is kept for the synthesis: other calls may not touch it."""
        budget = self.budget
        if not budget.synthesis_share:
            return NOTHING
        share = Decimal(repr(budget.synthesis_share))
        cost = Decimal(repr(budget.max_cost_usd or 0)) * share
        return Amount(cost, int((budget.max_tokens or 0) * share), 1)

    @property
    def is_limited(self) -> bool:
        """Whether anything about calls is limited, here or above."""
        return any(
            limit is not None
            for account in self._chain()
            for limit in (account.budget.max_cost_usd, account.budget.max_tokens, account.budget.max_calls)
        )

    @property
    def needs_prices(self) -> bool:
        """Whether the price of calls is limited, here or above."""
        return any(account.budget.max_cost_usd is not None for account in self._chain())

    def _chain(self) -> Iterator[Account]:
        account: Account | None = self
        while account is not None:
            yield account
            account = account._above  # noqa: SLF001  (its own class)

    def reserve(self, want: Amount, *, from_aside: bool = False) -> Ticket | None:
        """Reserve what a call may take at most.

        Args:
            want: Its worst case.
            from_aside: Whether the call may use what is set aside.

        Returns:
            The reservation; `None` when it does not fit now, but may once others are settled.

        Raises:
            BudgetExceeded: It will not fit, whatever others give back, or a call was refused before and this is none
                that may use what is set aside.
        """
        with self._lock:
            words = (None if from_aside else self.refusal) or self._never(want, from_aside=from_aside)
            if words is not None:
                self.refusal = words
                raise BudgetExceeded(words)
            if any(account._lacks(want + account.held, from_aside) for account in self._chain()):  # noqa: SLF001  (its own class)
                return None
            for account in self._chain():
                account.held += want
            return Ticket(self, want)

    def _never(self, want: Amount, *, from_aside: bool) -> str | None:
        if want.cost_usd is None and self.needs_prices:
            return "the price of the call is unknown, so the budget of US dollars cannot be kept"
        found = (account._lacks(want, from_aside) for account in self._chain())  # noqa: SLF001  (its own class)
        return next((words for words in found if words is not None), None)

    def _lacks(self, want: Amount, from_aside: bool) -> str | None:  # noqa: FBT001  (private)
        """Say what would be overspent by this much more."""
        kept = NOTHING if from_aside else self.aside
        after = self.spent + want + kept
        budget, spent = self.budget, self.spent
        whose = "the debate" if self._above is not None else "the table"
        tail = " and some is kept for the synthesis" if kept != NOTHING else ""
        if budget.max_cost_usd is not None and (after.cost_usd or 0) > Decimal(repr(budget.max_cost_usd)):
            return (
                f"{whose} has spent {float(spent.cost_usd or 0):.6g} of {budget.max_cost_usd:.6g} USD{tail}; "
                f"the next call may cost {float(want.cost_usd or 0):.6g}"
            )
        if budget.max_tokens is not None and after.tokens > budget.max_tokens:
            return (
                f"{whose} has spent {spent.tokens} of {budget.max_tokens} tokens{tail}; "
                f"the next call may take {want.tokens}"
            )
        if budget.max_calls is not None and after.calls > budget.max_calls:
            return f"{whose} has made {spent.calls} of {budget.max_calls} calls{tail}"
        return None

    def book(self, held: Amount, taken: Amount) -> None:
        """Give a reservation back and charge what was taken; a `Ticket` sees to it that this happens once."""
        with self._lock:
            for account in self._chain():
                account.held -= held
                account.spent += taken

    def catch_up(self, usage: Usage) -> None:
        """Take note of what a log says was spent, as far as it is more than what is charged here."""
        with self._lock:
            missing = Amount.of(usage).beyond(self.spent)
            for account in self._chain():
                account.spent += missing

    def check(self) -> str | None:
        """Say why no call at all fits any more; `None` while one may. Asked between calls."""
        with self._lock:
            least = Amount(calls=1)
            self.refusal = self.refusal or self._never(least, from_aside=True)
            return self.refusal


class Ledger:
    """The accounts of a table: its own, and one for each debate below it.

    Args:
        budget: The most that all debates of the table may consume.
        monotonic: Where time comes from, in seconds.
    """

    def __init__(self, budget: Budget | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.table: Account = Account(budget)
        self._monotonic = monotonic
        self._debates: dict[str, Account] = {}
        self._running: set[str] = set()
        self._since = 0.0
        self._used_s = 0.0

    def open(self, session_id: str, budget: Budget | None) -> Account:
        """Give the account of a debate that begins or goes on, with this budget from now on."""
        account = self._debates.setdefault(session_id, Account(None, self.table))
        account.budget, account.refusal = budget or Budget(), None
        if not self._running:
            self._since = self._monotonic()
        self._running.add(session_id)
        return account

    def close(self, session_id: str) -> None:
        """Say that a debate does not run any more; what it spent stays charged to the table."""
        if session_id in self._running:
            self._running.discard(session_id)
            if not self._running:
                self._used_s += self._monotonic() - self._since
        if self.table.budget == Budget():
            # Nobody will ask the table, and a log knows what its debate spent.
            self._debates.pop(session_id, None)

    def account(self, session_id: str | None) -> Account:
        """Give the account that a call belongs to: the debate's, or the table's own for any other call."""
        return self._debates.get(session_id or "", self.table)

    def seconds_left(self, session_id: str, used_s: float) -> float | None:
        """Give the seconds that a debate may still run; `None` without a limit.

        Args:
            session_id: Which debate.
            used_s: Seconds it ran before.
        """
        own, all_of_them = self.account(session_id).budget.max_seconds, self.table.budget.max_seconds
        left = [] if own is None else [own - used_s]
        if all_of_them is not None:
            running = self._monotonic() - self._since if self._running else 0.0
            left.append(all_of_them - self._used_s - running)
        return max(0.0, min(left)) if left else None
