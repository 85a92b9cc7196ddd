"""Doing several things at once, a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from anyio import create_task_group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ["together"]

T = TypeVar("T")


async def together(jobs: Sequence[Callable[[], Awaitable[T]]], *, at_once: int) -> list[T]:
    """Do all jobs, begun in their order, and give what each gave, in that order.

    The first job that fails ends the others, and its error is raised as it is, in no group.

    Args:
        jobs: What to do.
        at_once: Most jobs under way at once, from 1.
    """
    done: dict[int, T] = {}
    broken: list[Exception] = []
    left = iter(enumerate(jobs))

    async def work() -> None:
        for place, job in left:
            try:
                done[place] = await job()
            except Exception as error:  # noqa: BLE001  (raised below, as itself)
                broken.append(error)
                group.cancel_scope.cancel()
                return

    async with create_task_group() as group:
        for _ in range(min(at_once, len(jobs))):
            group.start_soon(work)
    if broken:
        raise broken[0]
    return [done[place] for place in range(len(jobs))]
