"""What a page lets its reader do: share, extend, fork and ask again; and what an outsider may see of it."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio
import pytest
from integration.browser_kit import HOSTILE
from integration.pages_kit import Visitor, visiting
from integration.server_kit import served_table

from roundtable.agents import BaseAgent
from roundtable.auth import LocalUser
from roundtable.errors import AgentError, ConfigurationError, QuorumLost
from roundtable.results.view import view_of
from roundtable.server.addresses import AddressLimit
from roundtable.server.pages.share_store import SHARE_DAYS, Shares
from roundtable.server.pages.shared import SHARED_VIEWS_PER_MINUTE
from roundtable.storage import MemoryStorage
from roundtable.testing import ManualClock, ScriptedModel, scripted_agents
from roundtable.types import AgentConfig, Attachment, Usage

if TYPE_CHECKING:
    from roundtable import Roundtable
    from roundtable.report import ReportView
    from roundtable.results.debate_result import DebateResult
    from roundtable.types import ChatRequest, ChatResponse

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

LINK = re.compile(r'id="new-link" value="http://127\.0\.0\.1(/shared/[0-9A-Za-z_-]{43})"')


async def held(table: Roundtable, topic: str = "Tea or coffee?", *, rounds: int = 2) -> str:
    """Hold a debate of Ann and return its id."""
    async with table.for_tenant("ann") as hers:
        return (await hers.debate(topic, rounds=rounds)).session_id


def talkers() -> Roundtable:
    return served_table(agents=scripted_agents({"ada": ["Tea"] * 9, "bo": ["Tea"] * 9, "cy": ["Coffee"] * 9}))


async def at_rest(ann: Visitor, path: str) -> None:
    """Wait until nobody runs the session of a page."""
    with anyio.fail_after(30):
        while ">running</span>" in (await ann.get(path)).text:  # noqa: ASYNC110  (a page tells nobody)
            await anyio.sleep(0.01)


async def link_of(ann: Visitor, session_id: str) -> str:
    """Press Share, and return the path of the link."""
    answer = await ann.post(f"/sessions/{session_id}/share", csrf=ann.csrf)
    assert answer.status_code == 200
    found = LINK.search(answer.text)
    assert found is not None
    return found[1]


async def test_a_link_of_a_server_behind_https_starts_with_https() -> None:
    table = talkers()
    session_id = (await table.debate("Tea or coffee?", rounds=1)).session_id
    async with visiting(table=table, auth=LocalUser(), https=True) as somebody:
        await somebody.get(f"/sessions/{session_id}")
        answer = await somebody.post(f"/sessions/{session_id}/share")
        assert re.search(r'id="new-link" value="https://[^/"]+/shared/', answer.text)


@pytest.mark.parametrize("session_id", ["a b?c#d", "50%25 off", "é"])
async def test_a_session_with_any_id_is_shown_again_after_an_action(session_id: str) -> None:
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        async with table.for_tenant("ann") as hers:
            await hers.debate_once(session_id, "Tea?", rounds=1)
        path = f"/sessions/{quote(session_id, safe='')}"
        await ann.get(path)
        answer = await ann.post(f"{path}/unshare", csrf=ann.csrf)
        assert (answer.status_code, answer.headers["location"]) == (303, path)


async def test_a_link_shows_one_session_without_a_login_until_it_is_revoked() -> None:
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        session_id = await held(table)
        path = await link_of(ann, session_id)
        await ann.get(f"/sessions/{session_id}")
        assert "1 link to read this session" in ann.page
        assert path not in ann.page  # it is shown once
        csrf = ann.csrf
        ann.web.cookies.clear()
        shown = await ann.get(path)
        assert shown.status_code == 200
        assert "Tea or coffee?" in shown.text
        assert not re.search(r"<script|<form|<button|<link|<img", shown.text)
        assert "script-src" not in shown.headers["content-security-policy"]
        assert "default-src 'none'" in shown.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
        assert (shown.headers["cache-control"], shown.headers["referrer-policy"]) == ("no-store", "no-referrer")
        assert (await ann.get(f"/sessions/{session_id}")).status_code == 303  # the link opens nothing else
        for other in ("/shared/", f"{path}x", f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}", "/shared/..%2fsessions"):
            assert (await ann.get(other)).status_code in {303, 404}
        assert csrf
        await ann.log_in()
        answer = await ann.post(f"/sessions/{session_id}/unshare", csrf=ann.csrf)
        assert answer.status_code == 303
        gone = await ann.get(path)
        assert (gone.status_code, "this link is not valid" in gone.text) == (404, True)


async def test_a_link_that_is_missing_in_the_list_of_its_session_shows_nothing() -> None:
    values = MemoryStorage().kv
    shares = Shares(values, ManualClock())
    token, other = await shares.create("ann", "one"), await shares.create("ann", "two")
    await shares.revoke("ann", "one")
    late = await shares.create("ann", "one")
    assert await shares.find(token) is None
    assert await shares.find(late) == ("ann", "one")
    assert await shares.find(other) == ("ann", "two")
    # "Share" that was under way while all links were revoked: its link is stored, the list is gone
    for key, _ in await values.scan("links/", tenant=":shares"):
        await values.delete(key, tenant=":shares")
    assert await shares.find(late) is None


async def test_a_link_to_a_deleted_session_shows_nothing_and_only_its_owner_can_share_it() -> None:
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        session_id = await held(table)
        path = await link_of(ann, session_id)
        async with table.for_tenant("ann") as hers:
            await hers.delete(session_id)
        assert (await ann.get(path)).status_code == 404
        async with table.for_tenant("eve") as theirs:
            foreign = (await theirs.debate("Secret?", rounds=1)).session_id
        await ann.get("/sessions")
        for action in ("share", "unshare", "extend", "fork"):
            answer = await ann.post(f"/sessions/{foreign}/{action}", csrf=ann.csrf, rounds="1", after="1")
            assert (action, answer.status_code) == (action, 404)


async def test_a_user_who_may_only_read_cannot_share_or_continue() -> None:
    table = talkers()
    async with visiting("read", table=table) as ann:
        await ann.log_in()
        session_id = await held(table)
        await ann.get(f"/sessions/{session_id}")
        assert ">Export<" in ann.page
        for words in (">Share<", ">Extend<", ">Fork<", ">Ask again<"):
            assert words not in ann.page
        answer = await ann.post(f"/sessions/{session_id}/share", csrf=ann.csrf)
        assert answer.status_code == 403


async def test_links_expire_and_only_their_digests_are_stored() -> None:
    clock = ManualClock()
    values = MemoryStorage(clock=clock).kv
    shares = Shares(values, clock)
    first, second = await shares.create("ann", "s1"), await shares.create("ann", "s1", days=1)
    stored = f"{await values.scan(tenant=':shares')}"
    assert first not in stored
    assert second not in stored
    assert len(await shares.active("ann", "s1")) == 2
    assert await shares.active("eve", "s1") == ()
    clock.move(timedelta(days=1, seconds=1).total_seconds())
    assert await shares.find(second) is None
    found = await shares.find(first)
    assert found is not None
    assert (found.tenant, found.session_id) == ("ann", "s1")
    assert len(await shares.active("ann", "s1")) == 1
    clock.move(timedelta(days=SHARE_DAYS).total_seconds())
    assert await shares.find(first) is None
    assert await shares.active("ann", "s1") == ()
    with pytest.raises(ConfigurationError, match="1 to 365 days"):
        await shares.create("ann", "s1", days=0)


async def test_a_shared_page_shows_hostile_words_as_text() -> None:
    table = served_table(agents=scripted_agents({"ada": HOSTILE, "bo": HOSTILE}))
    async with visiting(table=table) as ann:
        await ann.log_in()
        path = await link_of(ann, await held(table, HOSTILE, rounds=1))
        text = (await ann.get(path)).text
        assert not re.search(r"<(script|img|iframe|link|base|form|button|svg[ /]onload)", text)
        assert "javascript:" not in re.sub(r">[^<]*<", "><", text)
        assert "\u202e" not in text


async def test_a_debate_is_extended_forked_and_asked_again() -> None:
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        session_id = await held(table, rounds=2)
        await ann.get(f"/sessions/{session_id}")
        answer = await ann.post(f"/sessions/{session_id}/extend", csrf=ann.csrf, rounds="1")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/sessions/{session_id}")
        await at_rest(ann, f"/sessions/{session_id}")
        assert "3 of 3 rounds" in ann.page
        answer = await ann.post(f"/sessions/{session_id}/extend", csrf=ann.csrf, rounds="many")
        assert answer.status_code == 400
        assert "Further rounds: write a whole number from 1" in answer.text
        answer = await ann.post(f"/sessions/{session_id}/fork", csrf=ann.csrf, after="1", mode="adversarial")
        assert answer.status_code == 303
        forked = answer.headers["location"]
        assert forked != f"/sessions/{session_id}"
        await at_rest(ann, forked)
        assert "adversarial" in ann.page
        assert 'id="r1s0"' in ann.page
        await ann.get(f"/start?again={session_id}")
        assert "Tea or coffee?</textarea>" in ann.page
        assert '<option value="collaborative" selected>' in ann.page
        assert (await ann.get("/start?again=nothing")).status_code == 404


async def test_the_list_shows_the_answer_and_the_agreement_of_each_session() -> None:
    table = served_table(agents=scripted_agents({"ada": ["**Tea**"] * 9, "bo": ["**Tea**"] * 9, "cy": ["Coffee"] * 9}))
    async with visiting(table=table) as ann:
        await ann.log_in()
        session_id = await held(table, rounds=1)
        async with table.for_tenant("ann") as hers:
            tie = await hers.debate("Tabs or spaces?", rounds=1, options=["Tabs", "Spaces"])
        await ann.get("/sessions")
        assert tie.answer is None
        assert f"No answer: {tie.answer_reason}" in ann.page
        assert re.search(r'class="outcome" dir="auto">Tea <span class="soft small">agreement [^<]+</span>', ann.page)
        await ann.get("/sessions?q=coffee")
        assert 'class="outcome" dir="auto">Tea ' in ann.page
        await ann.get(f"/sessions/{session_id}")
        await ann.post(f"/sessions/{session_id}/extend", csrf=ann.csrf, rounds="1")
        await at_rest(ann, f"/sessions/{session_id}")
        await ann.get("/sessions")
        assert "round 2 of 2" in ann.page
        async with table.for_tenant("ann") as hers:
            await hers.delete(session_id)
        await ann.get("/sessions")
        assert 'class="outcome" dir="auto">Tea ' not in ann.page


SECRET = "key sk-acme-1 of the account Acme is over its limit of 40 USD"


class Priced(ScriptedModel):
    """A model whose calls have a price."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        return response.model_copy(update={"usage": Usage(input_tokens=4321, output_tokens=8765, cost_usd=1.2345)})


def failing_agents() -> list[BaseAgent]:
    """Return an agent that answers at a price, and two that fail."""
    answers = {"position": "Tea", "reasoning": "Because.", "confidence": 0.8}
    models = {"ada": Priced([answers] * 9), "bo": ScriptedModel([AgentError(SECRET)] * 9), "cy": Priced([answers] * 9)}
    return [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted", model="scripted"), model)
        for name, model in models.items()
    ]


async def test_a_shared_page_shows_neither_the_words_of_providers_nor_the_cost() -> None:
    table = served_table(agents=failing_agents())
    async with visiting(table=table) as ann:
        await ann.log_in()
        async with table.for_tenant("ann") as hers:
            partial = (await hers.debate("Tea or coffee?", rounds=1, synthesize=True)).session_id
            with pytest.raises(QuorumLost):
                await hers.debate("Milk?", rounds=1, quorum=3)
            lost = next(entry.id for entry in await hers.sessions() if entry.topic == "Milk?")
        for session_id in (partial, lost):
            own = (await ann.get(f"/sessions/{session_id}")).text
            assert "sk-acme-1" in own
            assert "1.2345" in own or "2.469" in own
            shared = (await ann.get(await link_of(ann, session_id))).text
            assert "Bo: 1 of 1 turn failed" in shared
            for words in ("sk-acme-1", "USD", "4,321", "4321", "8765", 'id="cost"', "over its limit"):
                assert words not in shared, words


async def test_an_address_can_open_a_limited_number_of_shared_pages_a_minute() -> None:
    clock = ManualClock()
    table = talkers()
    async with visiting(table=table, clock=clock, https=True) as ann:
        limit = AddressLimit(2, clock)
        assert [limit.take("192.0.2.1") for _ in range(3)] == [0, 0, 30]
        assert limit.take("192.0.2.2") == 0
        assert [limit.take(f"2001:db8::{number}") for number in range(3)] == [0, 0, 30]
        clock.move(30)
        assert [limit.take("192.0.2.1") for _ in range(2)] == [0, 30]
        for _ in range(SHARED_VIEWS_PER_MINUTE):
            answer = await ann.get("/shared/unknown", headers={"x-forwarded-for": "192.0.2.1"})
            assert answer.status_code == 404
        refused = await ann.get("/shared/unknown", headers={"x-forwarded-for": "192.0.2.1"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        other = await ann.get("/shared/unknown", headers={"x-forwarded-for": "192.0.2.9"})
        assert other.status_code == 404


async def test_pages_of_sessions_are_rendered_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []

    def watched(result: DebateResult) -> ReportView:
        threads.append(threading.current_thread().name)
        return view_of(result)

    monkeypatch.setattr("roundtable.server.pages.session.view_of", watched)
    monkeypatch.setattr("roundtable.server.pages.shared.view_of", watched)
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        session_id = await held(table)
        path = await link_of(ann, session_id)
        await ann.get(f"/sessions/{session_id}")
        await ann.get(path)
    assert len(threads) == 3
    assert threading.main_thread().name not in threads


async def test_a_debate_is_asked_again_with_its_files_its_rule_and_its_vote() -> None:
    table = talkers()
    async with visiting(table=table) as ann:
        await ann.log_in()
        async with table.for_tenant("ann") as hers:
            first = await hers.debate(
                "Tea or coffee?",
                rounds=1,
                options=["Tea", "Coffee"],
                attachments=[Attachment(name="rules.md", text="Be brief.")],
                decide="borda",
                vote="every",
            )
        await ann.get(f"/start?again={first.session_id}")
        assert first.config.attachments[0].in_words in ann.page, first.config.attachments
        assert re.search(r'name="files" value="1" checked', ann.page)
        assert 'name="decide" maxlength="200" placeholder="plurality" value="borda"' in ann.page
        assert '<option value="every" selected>' in ann.page
        fields: dict[str, str | list[str]] = {"topic": "Tea or coffee?", "rounds": "1", "mode": "collaborative"}
        fields |= {"decide": "borda", "vote": "every", "options": "Tea\nCoffee", "again": first.session_id}
        for with_files in (True, False):
            answer = await ann.post("/start", csrf=ann.csrf, **fields, **({"files": "1"} if with_files else {}))
            assert answer.status_code == 303, answer.text
            await at_rest(ann, answer.headers["location"])
            async with table.for_tenant("ann") as hers:
                second = await hers.session(answer.headers["location"].rpartition("/")[2])
            assert (second.config.decide, second.config.vote) == ("borda", "every")
            assert second.config.attachments == (first.config.attachments if with_files else ())
        await ann.get("/start")
        wrong = await ann.post("/start", csrf=ann.csrf, **fields | {"decide": "dice", "files": "1"})
        assert wrong.status_code == 400
        assert "rules.md" in wrong.text
        async with table.for_tenant("ann") as hers:
            await hers.delete(first.session_id)
        gone = await ann.post("/start", csrf=ann.csrf, **fields, files="1")
        assert gone.status_code == 404
        assert "Start a debate" in gone.text
