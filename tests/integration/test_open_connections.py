"""A complete answer is kept, although its server or a proxy never ends the body, or breaks the connection off."""

from __future__ import annotations

import pytest
from integration.test_faults import scene
from integration.wires import WIRES, Said

from roundtable.testing.servers import WireReply, sse_reply

WORDS = Said("Zoë says: 你好 🙂, twice.")
TERMINATED = {name: wire for name, wire in WIRES.items() if name != "google"}
NEVER_S = 600.0


def open_reply(wire, end="close", pause_s=NEVER_S, more=()):
    """The whole stream of a wire, with its terminator, but without the end of the body."""
    return WireReply([*sse_reply([*wire.frames(WORDS), *more], whole=False).parts, pause_s], end)


@pytest.mark.parametrize("wire", TERMINATED.values(), ids=TERMINATED)
async def test_a_stream_ends_at_its_terminator(wire):
    async with scene(open_reply(wire), timeout_s=NEVER_S, name=f"{wire.name}:m") as fault:
        answer = await fault.call(streamed=True)
        assert (answer.text, len(fault.server.seen)) == (WORDS.text, 1)


async def test_a_terminator_that_a_proxy_adds_ends_a_stream_of_google():
    reply = open_reply(WIRES["google"], more=[b"data: [DONE]\n\n"])
    async with scene(reply, timeout_s=NEVER_S, name="google:m") as fault:
        assert (await fault.call(streamed=True)).text == WORDS.text


@pytest.mark.parametrize("wire", TERMINATED.values(), ids=TERMINATED)
@pytest.mark.parametrize("end", ["close", "reset"])
async def test_a_connection_that_breaks_off_behind_the_terminator_costs_nothing(wire, end):
    async with scene(open_reply(wire, end, pause_s=0.0), name=f"{wire.name}:m") as fault:
        answer = await fault.call(streamed=True)
        assert (answer.text, len(fault.server.seen)) == (WORDS.text, 1)


@pytest.mark.parametrize("name", ["google", "compatible"])
async def test_an_answer_without_a_terminator_counts_at_the_deadline(name):
    wire = WIRES["google" if name == "google" else "openai-chat"]
    frames = [part for part in wire.frames(WORDS) if b"[DONE]" not in part]
    reply = WireReply([*sse_reply(frames, whole=False).parts, NEVER_S], "close")
    async with scene(reply, timeout_s=0.3, name=f"{name}:m") as fault:
        answer = await fault.call(streamed=True)
        assert (answer.text, len(fault.server.seen)) == (WORDS.text, 1)


async def test_heartbeats_behind_the_terminator_do_not_prolong_a_call():
    wire = WIRES["openai-chat"]
    parts = [part for _ in range(200) for part in (b"8\r\n: ping\n\n\r\n", 0.02)]
    reply = WireReply([*sse_reply(wire.frames(WORDS), whole=False).parts, *parts, NEVER_S], "close")
    async with scene(reply, timeout_s=NEVER_S, name="openai-chat:m") as fault:
        assert (await fault.call(streamed=True)).text == WORDS.text


async def test_a_connection_whose_body_ends_is_used_again():
    wire = WIRES["openai-chat"]
    async with scene(sse_reply(wire.frames(WORDS)), name="openai-chat:m") as fault:
        for _ in range(3):
            await fault.call(streamed=True)
        assert fault.server.open_connections == 1
