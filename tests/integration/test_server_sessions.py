"""Sessions over HTTP: found, shown, followed, written out, controlled, removed; and never those of somebody else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import pytest
from integration.engine_kit import late
from integration.server_kit import client_of, served_table, token_for

from roundtable import hookimpl
from roundtable.plugins import SessionExporter
from roundtable.providers import Delay
from roundtable.results.debate_result import DebateResult
from roundtable.server.limits import Limits
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import RoundRecord

if TYPE_CHECKING:
    import httpx

    from roundtable import Roundtable

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

FREE = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)


async def held(web: httpx.AsyncClient, topic: str = "Tea or coffee?", **more: Any) -> str:
    """Hold a debate to its end; give its id."""
    answer = await web.post("/api/debates?wait=20", json={"topic": topic, "rounds": 1, **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["sessionId"])


def slow_table() -> Roundtable:
    return served_table(agents=scripted_agents({"ada": late(30, "Tea"), "bo": "Tea"}))


async def test_sessions_are_listed_in_pages_and_filtered() -> None:
    async with client_of(limits=FREE) as web:
        made = [await held(web, f"Question {number}?") for number in range(5)]
        made.append(await held(web, "Delphi?", mode="delphi"))
        seen: list[str] = []
        cursor: str | None = None
        for expected in (2, 2, 2):
            page = (
                await web.get("/api/sessions", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
            ).json()
            assert len(page["sessions"]) == expected
            seen += [one["sessionId"] for one in page["sessions"]]
            cursor = page["nextCursor"]
        assert (seen, cursor) == (made[::-1], None)
        found = (await web.get("/api/sessions", params={"mode": "delphi", "topic": "DELPHI"})).json()["sessions"]
        assert [(one["sessionId"], one["agents"]) for one in found] == [(made[-1], ["ada", "bo", "cy"])]
        assert (await web.get("/api/sessions", params={"status": "paused"})).json()["sessions"] == []
        later = (await web.get("/api/sessions", params={"createdFrom": "2999-01-01"})).json()
        assert later == {"sessions": [], "hits": [], "nextCursor": None}


async def test_sessions_are_found_by_the_text_of_their_answers() -> None:
    async with client_of(
        served_table(agents=scripted_agents({"ada": "Tea keeps", "bo": "Tea wakes"})), limits=FREE
    ) as web:
        made = [await held(web, f"Question {number}?") for number in range(3)]
        first = (await web.get("/api/sessions", params={"q": "keeps", "limit": 2})).json()
        assert [one["sessionId"] for one in first["sessions"]] == [made[2], made[1]]
        assert {hit["sessionId"] for hit in first["hits"]} == {made[2], made[1]}
        rest = (await web.get("/api/sessions", params={"q": "keeps", "cursor": first["nextCursor"]})).json()
        assert ([one["sessionId"] for one in rest["sessions"]], rest["nextCursor"]) == ([made[0]], None)
        found = (await web.get("/api/sessions", params={"q": "keeps", "topic": "question 1"})).json()
        assert [one["sessionId"] for one in found["sessions"]] == [made[1]]
        assert (await web.get("/api/sessions", params={"q": "coffee"})).json()["sessions"] == []
        none = await web.get("/api/sessions", params={"q": "keeps", "createdTo": "2000-01-01"})
        assert none.json()["sessions"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["cursor=nowhere", "cursor=%C3%A9", "limit=0", "limit=x", "status=gone", "createdFrom=soon", "q="]
)
async def test_an_invalid_query_is_refused(query: str) -> None:
    async with client_of() as web:
        answer = await web.get(f"/api/sessions?{query}")
        assert (answer.status_code, answer.json()["code"] in {"VALIDATION_ERROR", "CONFIGURATION_ERROR"}) == (400, True)


async def test_an_unknown_parameter_is_refused() -> None:
    async with client_of() as web:
        answer = await web.get("/api/sessions?staus=paused")
        assert (answer.status_code, answer.json()["details"]["field"]) == (400, "staus")
        assert "createdFrom" in answer.json()["error"]
        assert (await web.get("/api/me?x=1")).json()["error"] == "x: unknown parameter"


async def test_a_session_is_shown_with_its_rounds_and_agreement() -> None:
    async with client_of() as web:
        name = await held(web, rounds=2)
        result = DebateResult.model_validate_json((await web.get(f"/api/sessions/{name}")).content)
        shown = await web.get(f"/api/sessions/{name}/rounds/2")
        assert RoundRecord.model_validate_json(shown.content) == result.rounds[1]
        last = (await web.get(f"/api/sessions/{name}/consensus")).json()
        assert (last["round"], last["responses"], last["decision"]["winners"]) == (2, 3, ["Tea"])
        first = (await web.get(f"/api/sessions/{name}/consensus?round=1")).json()
        assert (first["round"], first["consensus"]["agreementLevel"]) == (1, result.rounds[0].consensus.agreement_level)
        for place in ("rounds/3", "consensus?round=3"):
            missing = await web.get(f"/api/sessions/{name}/{place}")
            assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")


async def test_a_round_that_is_under_way_has_no_agreement() -> None:
    async with client_of(slow_table()) as web:
        name = (await web.post("/api/debates", json={"topic": "Tea?"})).json()["sessionId"]
        missing = await web.get(f"/api/sessions/{name}/consensus")
        assert (missing.status_code, missing.json()["hint"]) == (404, "A round is measured when it is complete.")


async def test_events_are_followed_from_any_place() -> None:
    async with client_of() as web:
        name = await held(web)
        all_of_it = (await web.get(f"/api/sessions/{name}/events")).text
        blocks = [block for block in all_of_it.split("\n\n") if "data: " in block]
        assert all(f"id: {name}:" in block for block in blocks)
        last = json.loads(blocks[-1].split("data: ", 1)[1])
        assert {"sessionId", "seq", "timestamp"} <= last["data"].keys()
        rest = await web.get(f"/api/sessions/{name}/events?after={len(blocks) - 1}")
        assert rest.text.count("data: ") == 1
        again = await web.get(f"/api/sessions/{name}/events", headers={"last-event-id": f"{name}:{len(blocks) - 2}"})
        assert again.text.count("data: ") == 2


@pytest.mark.parametrize(
    ("format", "suffix", "media_type"),
    [
        ("md", "md", "text/markdown; charset=utf-8"),
        ("markdown", "md", "text/markdown; charset=utf-8"),
        ("html", "html", "text/html; charset=utf-8"),
        ("csv", "csv", "text/csv; charset=utf-8"),
        ("json", "json", "application/json"),
    ],
)
async def test_exports_are_files_without_active_content(format: str, suffix: str, media_type: str) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    async with client_of(served_table(agents=scripted_agents({"ada": hostile, "bo": hostile}))) as web:
        name = await held(web, f"Is {hostile} good?")
        answer = await web.get(f"/api/sessions/{name}/export?format={format}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
        assert answer.headers["content-disposition"] == f'attachment; filename="roundtable-{name[:8]}.{suffix}"'
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "sandbox" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert format != "html" or "<script" not in answer.text


async def test_exports_of_plugins_have_their_media_type() -> None:
    def pdf(result: DebateResult) -> bytes:
        return b"%PDF " + result.topic.encode()

    def page(result: DebateResult) -> str:
        return f"<script>{result.topic}</script>"

    def odd(result: DebateResult) -> str:
        return "odd"

    pdf.media_type = "application/pdf"  # type: ignore[attr-defined]  # exporters may have it
    page.media_type = "text/html"  # type: ignore[attr-defined]
    odd.media_type = "text/html\r\nset-cookie: a=b"  # type: ignore[attr-defined]

    log = SessionExporter(lambda record, events: f"{record.config.topic} 2", "application/x-log", (".log", ".txt"))
    writers = {"p-d-f": pdf, "page": page, "odd": odd, "\u2603": lambda _: b"\xff", "log-2": log}

    class Writers:
        @hookimpl
        def roundtable_register_exporters(self, registrar: Any) -> None:
            for name, write in writers.items():
                registrar.add(name, write)

    async with client_of(served_table(plugins=[Writers()])) as web:
        name = await held(web)
        for kind, suffix, media_type, content in [
            ("p-d-f", "pdf", "application/pdf", b"%PDF Tea or coffee?"),
            ("page", "page", "text/html; charset=utf-8", b"<script>Tea or coffee?</script>"),
            ("odd", "txt", "text/plain; charset=utf-8", b"odd"),
            ("\u2603", "bin", "application/octet-stream", b"\xff"),
            ("log-2", "log", "application/x-log", b"Tea or coffee? 2"),
        ]:
            answer = await web.get(f"/api/sessions/{name}/export", params={"format": kind})
            assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, media_type, content)
            assert answer.headers["content-disposition"] == f'attachment; filename="roundtable-{name[:8]}.{suffix}"'
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]


async def test_an_export_that_does_not_exist_is_refused() -> None:
    async with client_of() as web:
        name = await held(web)
        answer = await web.get(f"/api/sessions/{name}/export?format=docx")
        assert (answer.status_code, answer.json()["code"]) == (400, "CONFIGURATION_ERROR")


@pytest.mark.slow
async def test_a_session_is_paused_resumed_stopped_and_removed() -> None:
    async with client_of(slow_table()) as web:
        name = (await web.post("/api/debates", json={"topic": "Tea?"})).json()["sessionId"]
        busy = await web.post(f"/api/sessions/{name}/resume")
        assert (busy.status_code, busy.json()["code"]) == (409, "SESSION_ERROR")
        asked = await web.post(f"/api/sessions/{name}/pause", json={"running": "cancel"})
        assert asked.status_code == 202
        followed = await web.get(f"/api/sessions/{name}/events")
        assert '"debate_complete"' in followed.text
        assert (await web.get(f"/api/sessions/{name}")).json()["sessionStatus"] == "paused"
        again = await web.post(f"/api/sessions/{name}/resume")
        assert (again.status_code, again.json()["links"]["self"]) == (202, f"/api/sessions/{name}")
        stopped = await web.post(f"/api/sessions/{name}/stop")
        assert stopped.status_code == 202
        assert (await web.delete(f"/api/sessions/{name}")).status_code == 204
        gone = await web.get(f"/api/sessions/{name}")
        assert (gone.status_code, gone.json()["code"]) == (404, "SESSION_ERROR")


async def test_removing_a_session_that_runs_ends_it() -> None:
    async with client_of(slow_table(), limits=Limits(concurrent=1)) as web:
        name = (await web.post("/api/debates", json={"topic": "Tea?"})).json()["sessionId"]
        assert (await web.post("/api/debates", json={"topic": "Tea?"})).status_code == 429
        assert (await web.delete(f"/api/sessions/{name}")).status_code == 204
        with anyio.fail_after(20):
            left = {"concurrent": 0}
            while not left["concurrent"]:
                left = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        assert left["concurrent"] == 1


async def test_a_completed_session_cannot_be_resumed_and_is_extended() -> None:
    async with client_of() as web:
        name = await held(web)
        refused = await web.post(f"/api/sessions/{name}/resume")
        assert (refused.status_code, refused.json()["code"]) == (409, "SESSION_ERROR")
        before = (await web.get("/api/me")).json()["limits"]
        assert [one["remaining"] for one in before] == [4, 99, 2]
        more = await web.post(f"/api/sessions/{name}/extend?wait=20", json={"rounds": 2, "focusQuestion": "At night?"})
        assert (more.status_code, [one["number"] for one in more.json()["rounds"]]) == (200, [1, 2, 3])
        after = (await web.get("/api/me")).json()["limits"]
        assert [one["remaining"] for one in after] == [4, 97, 2]
        too_many = await web.post(f"/api/sessions/{name}/extend", json={"rounds": 8})
        assert too_many.status_code == 400
        used_up = await web.post(f"/api/sessions/{name}/extend?wait=20", json={"rounds": 1, "budget": {"maxCalls": 1}})
        assert (used_up.status_code, used_up.json()["code"]) == (402, "BUDGET_EXCEEDED")
        assert [one["number"] for one in (await web.get(f"/api/sessions/{name}")).json()["rounds"]] == [1, 2, 3]


async def test_a_continued_session_is_streamed_from_where_it_continued() -> None:
    async with client_of() as web:
        name = await held(web)
        before = (await web.get(f"/api/sessions/{name}/events")).text.count("data: ")
        headers = {"accept": "text/event-stream"}
        more = await web.post(f"/api/sessions/{name}/extend", json={}, headers=headers)
        told = [json.loads(block.removeprefix("data: ")) for block in more.text.split("\n\n") if block]
        seqs = [one["data"]["seq"] for one in told if "seq" in one["data"]]
        assert (seqs[0], told[-1]["type"]) == (before + 1, "debate_complete")


@pytest.mark.parametrize("action", ["extend", "resume"])
async def test_repeating_a_request_with_its_key_streams_again_what_the_first_one_added(action: str) -> None:
    async with client_of() as web:
        begun = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 2, "step": action == "resume"})
        name = begun.json()["sessionId"]
        headers = {"accept": "text/event-stream", "idempotency-key": "k"}
        path = f"/api/sessions/{name}/{action}?ids=1"
        first = await web.post(path, json={}, headers=headers)
        ids = [line for line in first.text.split("\n") if line.startswith("id: ")]
        more = await web.post(f"/api/sessions/{name}/extend?wait=20", json={})
        with anyio.fail_after(2):
            again = await web.post(path, json={}, headers=headers)
            rest = await web.post(path, json={}, headers={**headers, "last-event-id": ids[0][4:]})
        told = [line for line in again.text.split("\n") if line.startswith("id: ")]
        assert (told[: len(ids)], len(told) > len(ids)) == (ids, True)
        assert [line for line in rest.text.split("\n") if line.startswith("id: ")] == told[1:]
        assert (await web.get(f"/api/sessions/{name}")).json()["rounds"] == more.json()["rounds"]


@pytest.mark.parametrize("action", ["extend", "resume"])
async def test_a_stream_that_broke_off_is_followed_and_starts_no_new_run(action: str) -> None:
    async with client_of() as web:
        begun = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 2, "step": action == "resume"})
        name = begun.json()["sessionId"]
        headers = {"accept": "text/event-stream"}
        path = f"/api/sessions/{name}/{action}?ids=1"
        first = await web.post(path, json={}, headers=headers)
        ids = [line[4:] for line in first.text.split("\n") if line.startswith("id: ")]
        before = (await web.get(f"/api/sessions/{name}")).json()
        with anyio.fail_after(2):
            again = await web.post(path, json={}, headers={**headers, "last-event-id": ids[1]})
        assert [line[4:] for line in again.text.split("\n") if line.startswith("id: ")] == ids[2:]
        assert (await web.get(f"/api/sessions/{name}")).json() == before


@pytest.mark.parametrize("action", ["extend", "resume"])
@pytest.mark.parametrize("last", ["junk", "{session}:x", "{session}", "other:3", "-1"])
async def test_an_event_id_of_another_session_is_refused(action: str, last: str) -> None:
    async with client_of() as web:
        begun = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 2, "step": action == "resume"})
        name = begun.json()["sessionId"]
        headers = {"accept": "text/event-stream", "last-event-id": last.format(session=name)}
        refused = await web.post(f"/api/sessions/{name}/{action}", json={}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (409, "UNKNOWN_EVENT_ID")
        assert "to continue the session" in refused.json()["hint"]


async def test_rounds_are_held_one_at_a_time() -> None:
    async with client_of() as web:
        begun = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 2, "step": True})
        assert (begun.json()["sessionStatus"], len(begun.json()["rounds"])) == ("active", 1)
        name = begun.json()["sessionId"]
        second = await web.post(f"/api/sessions/{name}/resume?wait=20", json={"step": True})
        assert (second.json()["sessionStatus"], len(second.json()["rounds"])) == ("completed", 2)


@pytest.mark.slow
async def test_only_one_of_several_simultaneous_requests_continues_a_session() -> None:
    async with client_of(slow_table(), limits=Limits(concurrent=3)) as web:
        place = (await web.post("/api/debates", json={"topic": "Tea?"})).headers["location"]
        await web.post(f"{place}/pause", json={"running": "cancel"})
        await web.get(f"{place}/events")
        statuses: list[int] = []

        async def go_on() -> None:
            statuses.append((await web.post(f"{place}/resume")).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(go_on)
        assert sorted(statuses) == [202, 409, 409]
        left = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        assert left["concurrent"] == 2
        await web.post(f"{place}/stop")


async def test_continuing_with_a_key_happens_once() -> None:
    async with client_of(slow_table()) as web:
        name = (await web.post("/api/debates", json={"topic": "Tea?"})).json()["sessionId"]
        await web.post(f"/api/sessions/{name}/pause", json={"running": "cancel"})
        await web.get(f"/api/sessions/{name}/events")
        headers = {"idempotency-key": "go-on"}
        both = [await web.post(f"/api/sessions/{name}/resume", headers=headers) for _ in range(2)]
        assert [one.status_code for one in both] == [202, 202], [one.text for one in both]
        assert [one.json()["sessionId"] for one in both] == [name, name]


async def test_a_session_is_forked() -> None:
    async with client_of() as web:
        name = await held(web, rounds=2)
        fork = await web.post(f"/api/sessions/{name}/fork?wait=20", json={"atRound": 1, "mode": "adversarial"})
        told = fork.json()
        assert (fork.status_code, told["mode"], len(told["rounds"])) == (200, "adversarial", 2)
        assert told["sessionId"] != name
        large = await web.post(
            f"/api/sessions/{name}/fork", json={"atRound": 0, "mode": "self-consistency:samples=900"}
        )
        assert (large.status_code, large.json()["code"]) == (400, "CONFIGURATION_ERROR")
        early = await web.post(f"/api/sessions/{name}/fork", json={"atRound": 2})
        assert early.status_code == 400


async def test_a_fork_of_an_extended_session_counts_all_its_rounds() -> None:
    async with client_of() as web:
        name = await held(web, rounds=1)
        assert (await web.post(f"/api/sessions/{name}/extend?wait=20", json={"rounds": 3})).status_code == 200
        before = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        fork = await web.post(f"/api/sessions/{name}/fork?wait=20", json={"atRound": 1})
        assert len(fork.json()["rounds"]) == 4
        after = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        assert before["rounds"] - after["rounds"] == 3


async def test_a_session_is_synthesized() -> None:
    clerk = ScriptedModel([{"conclusion": "Tea keeps."}])
    async with client_of(served_table(seats={"synthesizer": clerk})) as web:
        name = await held(web)
        for _ in range(2):
            told = await web.post(f"/api/sessions/{name}/synthesize")
            assert (told.status_code, told.json()["conclusion"]) == (200, "Tea keeps.")
        nobody = await web.post(f"/api/sessions/{name}/synthesize", json={"by": "zed"})
        assert (nobody.status_code, nobody.json()["code"]) == (400, "CONFIGURATION_ERROR")
        left = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        assert (left["conversations"], left["rounds"]) == (4, 98)


async def test_of_two_requests_for_a_synthesis_only_one_is_counted() -> None:
    clerk = ScriptedModel([Delay(0.2, {"conclusion": "Tea keeps."})])
    async with client_of(served_table(seats={"synthesizer": clerk})) as web:
        name = await held(web)
        before = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        told: list[str] = []

        async def ask() -> None:
            told.append((await web.post(f"/api/sessions/{name}/synthesize")).json()["conclusion"])

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        after = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
        assert (told, before["rounds"] - after["rounds"]) == (["Tea keeps."] * 2, 1)


async def test_a_synthesis_that_the_budget_refuses_counts_against_no_limit() -> None:
    async with client_of(served_table(seats={"synthesizer": ScriptedModel([])})) as web:
        asked = {"topic": "Tea?", "rounds": 1, "budget": {"maxCalls": 3}}
        name = (await web.post("/api/debates?wait=20", json=asked)).json()["sessionId"]
        limits = (await web.get("/api/me")).json()["limits"]
        refused = await web.post(f"/api/sessions/{name}/synthesize")
        assert (refused.status_code, refused.json()["code"]) == (402, "BUDGET_EXCEEDED")
        assert (await web.get("/api/me")).json()["limits"] == limits


async def test_the_caller_is_told_who_they_are() -> None:
    table = served_table()
    async with client_of(table, token=await token_for(table, "ann", "read")) as web:
        me = (await web.get("/api/me")).json()
        assert (me["user"], me["scopes"], len(me["tokenId"])) == ("ann", ["read"], 16)
        assert me["limits"][0] == {
            "limit": "conversations",
            "quota": 5,
            "remaining": 5,
            "windowS": 3600,
            "resetS": None,
        }


async def test_modes_are_listed() -> None:
    async with client_of() as web:
        modes = {one["name"]: one for one in (await web.get("/api/modes")).json()["modes"]}
        assert modes["collaborative"]["minRounds"] == 1
        assert len(modes) >= 10


@pytest.mark.slow
async def test_servers_with_the_same_storage_see_the_same_sessions() -> None:
    kept = MemoryStorage()
    agents = scripted_agents({"ada": late(0.1, "Tea"), "bo": "Tea"})
    asked, headers = {"topic": "Tea?", "rounds": 1}, {"idempotency-key": "k"}
    async with (
        client_of(served_table(agents=agents, storage=kept)) as one,
        client_of(served_table(agents=agents, storage=kept)) as other,
    ):
        name = (await one.post("/api/debates", json=asked, headers=headers)).json()["sessionId"]
        again = await other.post("/api/debates?wait=20", json=asked, headers=headers)
        assert (again.status_code, again.json()["sessionId"], again.json()["answer"]) == (200, name, "Tea")
        followed = await other.get(f"/api/sessions/{name}/events")
        assert '"debate_complete"' in followed.text


@pytest.mark.slow
async def test_a_session_is_paused_through_another_server() -> None:
    kept = MemoryStorage()
    agents = scripted_agents({"ada": late(30, "Tea"), "bo": "Tea"})
    async with (
        client_of(served_table(agents=agents, storage=kept)) as one,
        client_of(served_table(agents=agents, storage=kept)) as other,
    ):
        name = (await one.post("/api/debates", json={"topic": "Tea?"})).json()["sessionId"]
        asked = await other.post(f"/api/sessions/{name}/pause", json={"running": "cancel"})
        assert asked.status_code == 202
        assert '"debate_complete"' in (await other.get(f"/api/sessions/{name}/events")).text
        assert (await one.get(f"/api/sessions/{name}")).json()["sessionStatus"] == "paused"


async def test_a_session_from_a_file_is_found_whatever_its_id() -> None:
    table = served_table()
    held = await table.debate("Tea?", rounds=1)
    name = "über ? # %2e"
    document = (await table.export(held.session_id, "json")).replace(held.session_id, name)
    async with client_of(table) as web:
        assert await table.import_(document) == name
        more = await web.post(f"/api/sessions/{quote(name, safe='')}/extend", json={})
        assert (more.status_code, more.headers["location"]) == (202, f"/api/sessions/{quote(name, safe='')}")
        assert (await web.get(more.headers["location"])).json()["sessionId"] == name
        saved = await web.get(f"{more.headers['location']}/export")
        assert saved.headers["content-disposition"] == 'attachment; filename="roundtable-ber2e.md"'
