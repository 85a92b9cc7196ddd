"""What callers may try, meaning good or not, that nobody has in mind who builds one endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest
from integration.server_kit import client_of, served_table, token_for
from integration.test_server_chat import ASKED, PATH, team_table

from roundtable.providers import Delay
from roundtable.server import Limits, create_app
from roundtable.storage import SQLiteStorage
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.mark.parametrize(("deep", "status"), [(62, 202), (63, 400), (198, 400)])
async def test_accepted_metadata_is_never_too_deep_to_be_stored(deep: int, status: int) -> None:
    nested = '{"a":' * deep + "1" + "}" * deep
    async with client_of(served_table()) as web:
        answer = await web.post(
            "/api/debates",
            content=f'{{"topic": "Tea?", "rounds": 1, "metadata": {{"a": {nested}}}}}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == status, answer.text
        if status == 202:
            (kept,) = (await web.get("/api/sessions")).json()["sessions"]
            assert json.dumps(kept["metadata"]).count("{") == 63


@pytest.mark.slow
async def test_a_user_at_the_limit_can_rejoin_their_own_debates_at_any_process(tmp_path: Path) -> None:
    slow = {"data-steward": Delay(1.0, "I found 150.")}
    place, limits = tmp_path / "team.db", Limits(concurrent=1)
    async with (
        client_of(team_table(SQLiteStorage(place), **slow), limits=limits) as one,
        client_of(team_table(SQLiteStorage(place), **slow), limits=limits) as other,
    ):
        text = ""
        async with one.stream("POST", f"{PATH}?ids=1", json={**ASKED, "rounds": 1}) as answer:
            async for piece in answer.aiter_text():
                text += piece
                if '"agent_start"' in text:
                    break
        last = [line[4:] for line in text.split("\n") if line.startswith("id: ")][-1]
        back = await other.post(PATH, json=ASKED, headers={"last-event-id": last})
        assert back.status_code == 200, back.text
        assert '"type":"conversation_complete"' in back.text


async def test_a_call_limit_also_holds_for_an_extension_or_a_fork() -> None:
    everybody = scripted_agents(dict.fromkeys("abcdef", "Tea"))
    async with client_of(served_table(agents=everybody), most_calls=8) as web:

        async def held(**asked: object) -> tuple[int, str]:
            answer = await web.post("/api/debates?wait=30", json={"topic": "Tea?", **asked})
            return answer.status_code, answer.json().get("sessionId", "")

        assert (await held(rounds=2))[0] == 400
        _, session = await held(rounds=1)
        for step in ("extend", "fork"):
            asked = {"rounds": 2} if step == "extend" else {"rounds": 2, "atRound": 0}
            refused = await web.post(f"/api/sessions/{session}/{step}", json=asked)
            assert (refused.status_code, "8 are allowed" in refused.json()["error"]) == (400, True)
        # It goes by who debated in the session, not by who else sits at the table.
        _, session = await held(rounds=4, agents=["a", "b"])
        forked = await web.post(f"/api/sessions/{session}/fork?wait=30", json={"atRound": 3})
        assert forked.status_code == 200, forked.text


@pytest.mark.parametrize(
    ("scopes", "path", "status", "is_read"),
    [
        ((), "/api/debates", 401, False),
        (("read",), "/api/debates", 403, False),
        (("read",), "/api/sessions/abc/fork", 403, False),
        (("read", "write"), "/api/debates", 202, True),
    ],
)
async def test_a_body_with_files_is_read_only_from_users_who_may_send_it(
    scopes: tuple[str, ...], path: str, status: int, is_read: bool
) -> None:
    table = served_table()
    token = await token_for(table, "ann", *scopes) if scopes else "rt_unknown"
    read: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        for piece in (b'{"topic": "Tea or coffee?", ', b'"rounds": 1}'):
            read.append(len(piece))
            yield piece

    app = create_app(table)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as web,
    ):
        answer = await web.post(path, content=body())
    assert answer.status_code == status
    assert bool(read) is is_read
