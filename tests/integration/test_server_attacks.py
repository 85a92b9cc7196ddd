"""What callers may try who mean no good."""

from __future__ import annotations

import json

import pytest
from integration.server_kit import client_of, served_table

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.mark.parametrize(("deep", "status"), [(62, 202), (63, 400), (198, 400)])
async def test_what_is_accepted_is_never_too_deep_to_be_kept(deep: int, status: int) -> None:
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
