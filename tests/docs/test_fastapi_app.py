"""The example of a web application: own routes, a person at a page, streams that reconnect, restarts."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from integration.server_kit import served

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fastapi" / "app.py"

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MODELS", raising=False)
    return runpy.run_path(str(EXAMPLE))["make_app"]


async def question(web: httpx.AsyncClient, session_id: str) -> dict[str, Any]:
    with anyio.fail_after(20):
        while not (found := (await web.get(f"/debates/{session_id}/questions")).json()):  # noqa: ASYNC110  (it is at the other end of a socket)
            await anyio.sleep(0.02)
    (only,) = found
    return dict(only)


async def test_a_person_answers_at_the_page_and_the_browser_sees_everything(made: Any) -> None:
    async with served(made("memory://")) as url, httpx.AsyncClient(base_url=url, timeout=30) as web:
        begun = await web.post("/debates", json={"topic": "Tea or coffee?"})
        session_id = begun.json()["sessionId"]
        asked = await question(web, session_id)
        assert (begun.status_code, asked["who"], asked["round"]) == (202, "you", 1)
        assert "Tea or coffee?" in asked["prompt"]
        running = (await web.get(f"/debates/{session_id}")).json()
        assert running == {"status": "running", "interimAnswer": None, "rounds": 1}
        answer = await web.post(f"/debates/{session_id}/questions/{asked['turnId']}", json={"text": "Coffee"})
        assert answer.status_code == 204
        stream = await web.get(f"/debates/{session_id}/events")
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert '"type":"debate_complete"' in stream.text
        rest = await web.get(f"/debates/{session_id}/events", headers={"last-event-id": f"{session_id}:2"})
        assert stream.text.endswith(rest.text)
        assert rest.text.startswith(f"id: {session_id}:3\n")
        result = (await web.get(f"/debates/{session_id}")).json()
        assert result == {"status": "completed", "answer": "Coffee", "rounds": 1}


async def test_wrong_requests_are_answered_with_their_status(made: Any) -> None:
    async with served(made("memory://")) as url, httpx.AsyncClient(base_url=url) as web:
        unknown = await web.get("/debates/none/events")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "SESSION_ERROR")
        assert (await web.post("/debates/none/questions/1/x/0", json={"text": "Tea"})).status_code == 404
        assert (await web.post("/debates", json={"topic": ""})).status_code == 422


@pytest.mark.slow
async def test_a_debate_is_continued_after_a_restart(made: Any, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/web.db"
    async with served(made(storage)) as url, httpx.AsyncClient(base_url=url) as web:
        session_id = (await web.post("/debates", json={"topic": "Tea or coffee?"})).json()["sessionId"]
        first = await question(web, session_id)
    async with served(made(storage)) as url, httpx.AsyncClient(base_url=url, timeout=30) as web:
        again = await question(web, session_id)
        assert (again["turnId"], again["who"]) == (first["turnId"], first["who"])
        await web.post(f"/debates/{session_id}/questions/{again['turnId']}", json={"text": "Coffee"})
        stream = await web.get(f"/debates/{session_id}/events")
        assert '"status":"completed"' in stream.text
