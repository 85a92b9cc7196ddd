"""A server in a process of its own, to be killed: `server_child.py STORAGE_URL PROVIDER_URL`. It prints its address."""

from __future__ import annotations

import sys

import anyio

from roundtable import ProviderConfig, Roundtable
from roundtable.api import AgentProfile
from roundtable.auth import LocalUser
from roundtable.server import Limits, create_app
from roundtable.server.serving import serve


def say(url: str) -> None:
    """Send the URL to the test."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


async def main(storage: str, provider: str) -> None:
    table = Roundtable(
        ["compatible:any"],
        providers={"compatible": ProviderConfig(base_url=provider, api_key="none")},
        storage=storage,
        profiles=[AgentProfile(name, instructions=f"You are {name}.") for name in ("ada", "bo")],
    )
    # The place of a conversation whose server died is free again only half a minute later.
    app = create_app(table, auth=LocalUser(), limits=Limits(concurrent=None))
    await serve(app, port=0, listening=say)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
