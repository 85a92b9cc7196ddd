"""One debate, without a table of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from roundtable.api.table import Roundtable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.api.options import DebateOptions
    from roundtable.plugins import PluginChoice
    from roundtable.protocols import Storage
    from roundtable.result import DebateResult
    from roundtable.types import ProviderConfig

__all__ = ["debate"]


async def debate(
    topic: str,
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    plugins: PluginChoice = None,
    storage: str | Storage | None = None,
    **options: Unpack[DebateOptions],
) -> DebateResult:
    """Hold one debate with what the environment offers; see `Roundtable.debate` for the other arguments.

    Connections and files are released before the result is given.

    Args:
        topic: The question.
        providers: As for `Roundtable`: keys and addresses that the environment does not say.
        plugins: As for `Roundtable`.
        storage: As for `Roundtable`; `"memory://"` keeps nothing. Whatever else a table takes, make a `Roundtable`.
        options: As for `Roundtable.debate`.
    """
    async with Roundtable(providers=providers, plugins=plugins, storage=storage) as table:
        return await table.debate(topic, **options)
