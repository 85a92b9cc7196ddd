"""A chat bot that lets a channel hold debates: a front of your own, written with the public methods of a table.

The channel is a line of text in, lines of text out, so it fits Slack, Matrix, IRC or a terminal. Without arguments,
a user talks to the bot over a socket on this machine, with three scripted agents:

    python examples/chat_bot.py

With your own agents, the bot listens for connections, such as `nc 127.0.0.1 7000`:

    python examples/chat_bot.py --agents anthropic,openai --port 7000
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

import roundtable as rt
from roundtable.errors import RoundtableError
from roundtable.testing import scripted_agents
from roundtable.types import Event

HELP = "!ask QUESTION | !ask MODE: QUESTION | !modes | !agents | !status | !stop | !report | !bye"


class ChatBot:
    """Answers the lines of one channel.

    Args:
        table: The table that holds the debates.
        say: Sends a line to the channel.
    """

    def __init__(self, table: rt.Roundtable, say: Callable[[str], Awaitable[None]]) -> None:
        self.table = table
        self.say = say
        self.session_id: str | None = None

    async def hear(self, line: str) -> bool:
        """Answer one line; return whether the channel stays open."""
        command, _, rest = line.strip().partition(" ")
        commands = {"!ask": self.ask, "!modes": self.show_modes, "!agents": self.show_agents}
        commands |= {"!status": self.show_status, "!stop": self.stop, "!report": self.show_report}
        if command == "!bye":
            return False
        try:
            await (commands[command](rest) if command in commands else self.say(HELP))
        except RoundtableError as error:
            await self.say(f"Sorry: {error.message}" + (f" {error.hint}" if error.hint else ""))
        return True

    async def ask(self, text: str) -> None:
        """Hold a debate, and tell the channel what happens."""
        mode, colon, question = text.partition(": ")
        known = {offer.name for offer in self.table.modes()}
        options: dict[str, str] = {"mode": mode} if colon and mode in known else {}
        handle = await self.table.start(question if options else text, rounds=2, **options)
        self.session_id = handle.session_id
        async for event in self.table.watch(handle.session_id):
            if line := describe(event):
                await self.say(line)
        result = await handle.result()
        await self.say(f"Answer: {result.answer or 'none'} ({result.usage.calls} calls)")

    async def show_modes(self, _: str) -> None:
        """List the modes, those of plugins included."""
        await self.say(", ".join(offer.name for offer in self.table.modes()))

    async def show_agents(self, _: str) -> None:
        """List the agents, with the reason if one cannot be used."""
        for offer in self.table.agent_offers():
            await self.say(f"{offer.config.name}: {offer.trouble or 'ready'}")

    async def show_status(self, _: str) -> None:
        """Show how the last debate stands."""
        progress = (await self.table.state(self.session())).progress
        await self.say(f"{progress.status}, round {progress.current_round} of {progress.total_rounds}")

    async def stop(self, _: str) -> None:
        """Stop the last debate, wherever it runs."""
        await self.table.stop(self.session())
        await self.say("Stopped.")

    async def show_report(self, _: str) -> None:
        """Send the report of the last debate."""
        await self.say(str(await self.table.export(self.session(), "markdown")))

    def session(self) -> str:
        """Return the id of the channel's last debate."""
        if self.session_id is None:
            raise RoundtableError("there was no debate in this channel.", hint="Write !ask QUESTION.")
        return self.session_id


def describe(event: Event) -> str | None:
    """Return an event as a line for the channel; `None` for events that a channel need not see."""
    if event.type == "agent_complete" and event.turn.answer.kind == "position":
        return f"[round {event.round}] {event.turn.agent_name}: {event.turn.answer.position}"
    return f"[round {event.round}] {event.agent} failed: {event.error}" if event.type == "agent_error" else None


async def serve_channel(table: rt.Roundtable, stream: SocketStream) -> None:
    """Serve one connection until its user leaves."""
    lines = BufferedByteReceiveStream(stream)

    async def say(line: str) -> None:
        await stream.send(f"{line}\n".encode())

    bot = ChatBot(table, say)
    try:
        while await bot.hear((await lines.receive_until(b"\n", 4_000)).decode("utf-8", "replace")):
            pass
    except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
        pass  # the user has left
    finally:
        await stream.aclose()


async def main(agents: str | None, port: int) -> None:
    """Listen for connections; without agents, talk to the bot once."""
    seats = agents.split(",") if agents else scripted_agents({"ada": "Tea", "bo": ["Coffee", "Tea"], "cy": "Tea"})
    async with rt.Roundtable(seats, storage="memory://" if agents is None else None) as table:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, lambda stream: serve_channel(table, stream))
            if agents is None:
                await talk(listener.extra(SocketAttribute.local_port))  # noqa: S610  (a socket, not a query)
                tasks.cancel_scope.cancel()


async def talk(port: int) -> None:
    """Send a few lines to the bot, and print the conversation."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        for line in ("!agents", "!ask delphi: Tea or coffee?", "!status", "hello", "!bye"):
            await stream.send(f"{line}\n".encode())
        async for piece in stream:
            print(piece.decode(), end="")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", help="agents as the command names them, separated by commas")
    parser.add_argument("--port", type=int, default=0, help="port to listen at; any free port when left out")
    arguments = parser.parse_args()
    anyio.run(main, arguments.agents, arguments.port)
