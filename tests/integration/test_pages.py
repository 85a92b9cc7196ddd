"""Pages over plain HTTP: who gets in, what a browser is told not to do, and what is shown."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import anyio
import pytest
from integration.pages_kit import Visitor, visiting
from integration.server_kit import served_table

import roundtable as rt
from roundtable.api import AgentProfile
from roundtable.auth import Identity, LocalUser, TokenStore
from roundtable.core.base.clock import SystemClock
from roundtable.errors import StorageError
from roundtable.modes import CollaborativeMode
from roundtable.providers import Delay
from roundtable.server.pages import routers
from roundtable.server.pages.logins import FREE, LoginThrottle
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import DebateConfig, DebateStart, LeaseOwner, SessionRecord

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


class Shifted(SystemClock):
    """The machine's clock, some seconds ahead."""

    ahead_s = 0.0

    def now(self):
        return super().now() + timedelta(seconds=self.ahead_s)


class Stopped(SystemClock):
    """A clock that stands still, some seconds after it was made."""

    def __init__(self):
        super().__init__()
        self.began = super().now()
        self.ahead_s = 0.0

    def now(self):
        return self.began + timedelta(seconds=self.ahead_s)


class Elements(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


async def test_an_unknown_user_is_sent_to_the_login_and_then_to_the_requested_page() -> None:
    async with visiting() as ann:
        answer = await ann.get("/sessions?status=paused")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Fsessions%3Fstatus%3Dpaused")
        answer = await ann.get(answer.headers["location"])
        assert 'name="next" value="/sessions?status=paused"' in answer.text
        answer = await ann.log_in(next="/sessions?status=paused")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?status=paused")
        assert (await ann.get("/")).status_code == 200
        assert "ann" in ann.page


@pytest.mark.parametrize(
    "place", ["//evil.test", "https://evil.test", "/\\evil.test", "/a\r\nX-Evil: 1", "\t//evil.test", "evil"]
)
async def test_a_login_never_leads_elsewhere(place: str) -> None:
    async with visiting() as ann:
        answer = await ann.log_in(next=place)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_the_cookie_is_only_for_this_server_and_hidden_from_scripts() -> None:
    async with visiting() as ann:
        cookie = (await ann.log_in()).headers["set-cookie"]
        name, _, rest = cookie.partition("=")
        number, *marks = rest.split("; ")
        assert name == "roundtable"
        assert len(number) >= 43  # 256 bits
        assert {mark.casefold() for mark in marks} == {"httponly", "samesite=strict", "path=/", "max-age=43200"}
    async with visiting(https=True) as ann:
        cookie = (await ann.log_in()).headers["set-cookie"]
        assert cookie.startswith("__Host-roundtable=")
        assert "secure" in cookie.casefold()
        ann.web.cookies.clear()
        ann.web.headers["cookie"] = "roundtable=" + cookie.partition("=")[2].split(";")[0]
        assert (await ann.get("/")).status_code == 303  # a name that a neighbour could have set does not count


async def test_every_login_has_a_new_number_and_ends_the_previous_one() -> None:
    async with visiting() as ann:
        ann.show("chosen-by-somebody-else")
        await ann.log_in()
        first = ann.web.cookies["roundtable"]
        assert first != "chosen-by-somebody-else"
        await ann.log_in()
        second = ann.web.cookies["roundtable"]
        assert second != first
        ann.show(first)
        assert (await ann.get("/")).status_code == 303


async def test_the_stored_data_of_a_login_cannot_be_used_to_log_in() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        await ann.log_in()
        number = ann.web.cookies["roundtable"]
        kept = await table._wiring.storage.kv.scan("", tenant=":pages")
        assert len(kept) == 1
        assert number not in str(kept)
        ann.show(kept[0][0].removeprefix("login/"))
        assert (await ann.get("/")).status_code == 303


async def test_a_login_ends_with_logging_out() -> None:
    async with visiting() as ann:
        await ann.log_in()
        number = ann.web.cookies["roundtable"]
        answer = await ann.post("/logout", csrf=ann.csrf)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert "roundtable" not in ann.web.cookies
        ann.show(number)
        assert (await ann.get("/")).status_code == 303


async def test_a_login_ends_after_twelve_hours() -> None:
    clock = Shifted()
    async with visiting(clock=clock) as ann:
        await ann.log_in()
        clock.ahead_s = 12 * 3600 - 60
        assert (await ann.get("/")).status_code == 200
        clock.ahead_s = 12 * 3600 + 60
        assert (await ann.get("/")).status_code == 303


async def test_a_login_ends_with_its_token() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        await ann.log_in()
        assert (await ann.get("/")).status_code == 200
        tokens = TokenStore.of(table._wiring.storage)
        for info in await tokens.list("ann"):
            await tokens.revoke(info.id)
        assert (await ann.get("/")).status_code == 303


async def test_a_server_with_a_single_user_needs_no_login() -> None:
    async with visiting(auth=LocalUser()) as ann:
        assert (await ann.get("/login?next=/start")).headers["location"] == "/start"
        ann.show("of-another-server-on-this-machine")
        assert (await ann.get("/")).status_code == 200
        assert "Log out" not in ann.page
        answer = await ann.post("/start", topic="Tea or coffee?", mode="collaborative", rounds="1")
        assert answer.headers["location"].startswith("/sessions/")


async def test_a_guesser_waits_and_gets_the_same_answer_whatever_was_wrong() -> None:
    clock = Stopped()
    table = served_table()
    expired = await TokenStore.of(table._wiring.storage).create("ann", audience="mcp")
    async with visiting(table=table, clock=clock) as ann:
        wrong = [await ann.post("/login", token=token) for token in ("", "rt_no", expired.secret, "\u2603" * 900)]
        wrong.append(await ann.post("/login", token="rt_last"))
        assert {answer.status_code for answer in wrong} == {401}
        assert len({answer.text for answer in wrong}) == 1
        early = [await ann.post("/login", token=token) for token in ("rt_no", ann.token)]
        assert {(answer.status_code, answer.headers["retry-after"]) for answer in early} == {(429, "1")}
        assert early[0].text == early[1].text
        assert "Try again in 1 second." in early[0].text
        ((_, tried),) = await table._wiring.storage.kv.scan("tries/", tenant=":pages")
        assert tried["tries"] == FREE  # those that came too early were not even looked at
        clock.ahead_s = 2
        assert (await ann.post("/login", token="rt_no")).status_code == 401
        assert (await ann.post("/login", token=ann.token)).headers["retry-after"] == "2"
        clock.ahead_s = 5
        assert (await ann.post("/login", token=ann.token)).status_code == 303
        assert await table._wiring.storage.kv.scan("tries/", tenant=":pages") == ()


async def test_a_guesser_behind_a_proxy_does_not_make_others_wait() -> None:
    async with visiting(https=True) as ann:
        for _ in range(FREE):
            await ann.web.post("/login", data={"token": "rt_no"}, headers={"x-forwarded-for": "1.1.1.1, 203.0.113.7"})
        theirs = await ann.web.post("/login", data={"token": ann.token}, headers={"x-forwarded-for": "203.0.113.7"})
        others = await ann.web.post("/login", data={"token": ann.token}, headers={"x-forwarded-for": "203.0.113.8"})
        assert (theirs.status_code, others.status_code) == (429, 303)
    async with visiting(https=True) as ann:  # some proxies add the port, which differs in each connection
        for port in range(FREE):
            await ann.web.post("/login", data={"token": "rt_no"}, headers={"x-forwarded-for": f"203.0.113.7:5{port}"})
        theirs = await ann.web.post("/login", data={"token": ann.token}, headers={"x-forwarded-for": "203.0.113.7:60"})
        others = await ann.web.post("/login", data={"token": ann.token}, headers={"x-forwarded-for": "[2001:db8::]:60"})
        assert (theirs.status_code, others.status_code) == (429, 303)
    async with visiting() as ann:
        for number in range(FREE):
            await ann.web.post("/login", data={"token": "rt_no"}, headers={"x-forwarded-for": f"203.0.113.{number}"})
        assert (await ann.post("/login", token=ann.token)).status_code == 429


@pytest.mark.slow
async def test_a_thousand_guesses_get_the_same_answer_and_few_of_them_are_checked() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        answers = [await ann.post("/login", token=f"rt_{number}") for number in range(1000)]
        assert {answer.status_code for answer in answers} == {401, 429}
        assert len({answer.text for answer in answers if answer.status_code == 401}) == 1
        ((_, tried),) = await table._wiring.storage.kv.scan("tries/", tenant=":pages")
        assert tried["tries"] < FREE + 12  # they wait twice as long after each


@pytest.mark.parametrize("address", ["2001:db8::1", "2001:db8::2:3", "2001:db8:0:0:ffff::"])
async def test_many_ipv6_addresses_of_one_network_count_as_one_guesser(address: str) -> None:
    tries = LoginThrottle(MemoryStorage().kv, SystemClock())
    for _ in range(FREE):
        assert await tries.take("2001:db8::9") == 0
    assert 0 < await tries.take(address) <= 1
    assert await tries.take("2001:db8:1::1") == 0
    assert await tries.take("a-socket") == 0


async def test_ipv4_addresses_written_as_ipv6_addresses_do_not_count_as_one_network() -> None:
    tries = LoginThrottle(MemoryStorage().kv, SystemClock())
    for _ in range(FREE):
        assert await tries.take("::ffff:192.0.2.9") == 0
    assert 0 < await tries.take("192.0.2.9") <= 1
    assert await tries.take("::ffff:192.0.2.7") == 0


@pytest.mark.parametrize("shown", ["", "0" * 64, "\u2603"])
@pytest.mark.parametrize("path", ["/logout", "/start", "/sessions/x/stop", "/api/sessions/x/stop", "/api/chat/multi"])
async def test_a_change_with_a_cookie_needs_the_token_of_the_page(path: str, shown: str) -> None:
    async with visiting() as ann:
        await ann.log_in()
        assert (await ann.post(path, csrf=shown)).status_code == 403
        by_script = await ann.web.post(path, json={}, headers={"x-csrf-token": shown.encode(), "accept": "*/*"})
        assert (by_script.status_code, by_script.json()["code"]) == (403, "FORBIDDEN")
        assert (await ann.get("/")).status_code == 200


async def test_the_token_of_a_login_is_accepted_in_a_field_or_a_header_and_only_for_that_login() -> None:
    async with visiting() as ann:
        await ann.log_in()
        before = ann.csrf
        answer = await ann.web.post("/sessions/x/stop", headers={"x-csrf-token": ann.csrf})
        assert answer.status_code == 404  # let through: there is no such session
        await ann.log_in()
        assert ann.csrf != before
        assert (await ann.post("/logout", csrf=before)).status_code == 403
        answer = await ann.web.post(
            "/start", headers={"content-type": "application/x-www-form-urlencoded"}, content="a=" + "b" * 70_000
        )
        assert answer.status_code == 403


async def test_a_token_in_a_header_suffices_and_takes_precedence_over_the_cookie() -> None:
    async with visiting() as ann:
        await ann.log_in()
        answer = await ann.web.post("/sessions/x/stop", headers={"authorization": f"Bearer {ann.token}"})
        assert answer.status_code == 404
        answer = await ann.web.get("/sessions", headers={"authorization": "Bearer rt_wrong", "accept": "*/*"})
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "http://localhost.evil.test", "http://127.0.0.1:1"])
async def test_forms_of_other_origins_are_refused_at_the_login_too(origin: str) -> None:
    async with visiting() as ann:
        answer = await ann.web.post("/login", data={"token": ann.token}, headers={"origin": origin})
        assert answer.status_code == 403
        assert "text/html" in answer.headers["content-type"]
        assert "set-cookie" not in answer.headers


@pytest.mark.slow
async def test_pages_are_not_cached_or_framed_and_load_nothing_from_other_servers() -> None:
    async with visiting() as ann:
        pages = [await ann.get("/login"), await ann.log_in(token="wrong"), await ann.get("/nowhere")]
        await ann.log_in()
        pages += [await ann.get(path) for path in ("/", "/start", "/sessions/none", "/nowhere", "/sessions?after=x")]
        assert [answer.status_code for answer in pages] == [200, 401, 303, 200, 200, 404, 404, 400]
        for answer in pages:
            assert answer.headers["cache-control"] == "no-store"
            if answer.status_code == 303:
                continue
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            loaded = [
                at.get("src") or at.get("href") for tag, at in Elements(answer.text).tags if tag in {"script", "link"}
            ]
            assert loaded
            assert all(path.startswith("/static/") for path in loaded)
            for path in loaded:
                assert (await ann.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (StorageError("a secret path"), 503, "The storage failed"),
        (ValueError("a secret"), 500, "Internal server error"),
    ],
)
async def test_a_browser_gets_an_error_page_without_internal_details(error: Exception, status: int, told: str) -> None:
    class Failing(MemoryStorage):
        async def list(self, wanted=None):
            raise error

    async with visiting(table=served_table(storage=Failing()), auth=LocalUser()) as ann:
        answer = await ann.get("/sessions")
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, "text/html")
        assert told in answer.text
        assert answer.headers["x-request-id"] in answer.text
        assert "secret" not in answer.text
        assert (await ann.get("/sessions", headers={"accept": "*/*"})).json()["error"].startswith(told)


async def test_programs_get_errors_as_json() -> None:
    async with visiting() as ann:
        answer = await ann.get("/api/nowhere")
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")
        answer = await ann.get("/nowhere", headers={"accept": "*/*", "authorization": f"Bearer {ann.token}"})
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


async def test_static_files_are_revalidated_and_sent_once() -> None:
    async with visiting() as ann:
        answer = await ann.get("/static/report.css")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
        assert "text/css" in answer.headers["content-type"]
        tag = answer.headers["etag"]
        for known in (tag, f"W/{tag}", f'"other", W/{tag}'):
            again = await ann.get("/static/report.css", headers={"if-none-match": known})
            assert (again.status_code, again.content) == (304, b"")
        for name in ("..%2Fview.py", "none.css", "%2e%2e/pages.css"):
            assert (await ann.get(f"/static/{name}")).status_code in {303, 404}


async def test_a_debate_is_started_from_a_form_and_shown() -> None:
    async with visiting() as ann:
        await ann.log_in()
        await ann.get("/start")
        answer = await ann.post("/start", csrf=ann.csrf, topic="  Tea or coffee?  ", mode="collaborative", rounds="1")
        assert answer.status_code == 303
        with anyio.fail_after(20):
            while "state-completed" not in (await ann.get(answer.headers["location"])).text:  # noqa: ASYNC110  (a page tells nobody)
                await anyio.sleep(0.01)
        for shown in ("Tea or coffee?", "Ada", "Agreement and confidence", "2 of 3 agents hold it", "Who holds what"):
            assert shown in ann.page
        assert "Pause" not in ann.page
        assert "Tea or coffee?" in (await ann.get("/sessions?status=completed&mode=collaborative")).text
        assert "Tea or coffee?" not in (await ann.get("/sessions?status=paused")).text
        assert "Ada</a>" not in ann.page


async def test_a_form_offers_no_mode_that_needs_more_agents_than_there_are() -> None:
    class Jury(CollaborativeMode):
        name = "jury"
        agent_counts = range(5, 6)

    class Pair(CollaborativeMode):
        name = "pair"
        agent_counts = range(2, 3)

    class Court:
        @rt.hookimpl
        def roundtable_register_modes(self, registrar: Any) -> None:
            registrar.add("jury", Jury(), summary="Five jurors.")
            registrar.add("pair", Pair(), summary="Two of you.")

    async with visiting(table=served_table(plugins=[Court()])) as ann:
        await ann.log_in()
        await ann.get("/start")
        assert "jury" not in ann.page
        assert "Two of you. (2 agents)" in ann.page
        listed = {mode["name"]: mode for mode in (await ann.get("/api/modes")).json()["modes"]}
        assert (listed["jury"]["minAgents"], listed["jury"]["maxAgents"]) == (5, 5)


async def at_rest(ann: Visitor, place: str) -> None:
    """Wait until nobody runs the session of a page."""
    with anyio.fail_after(30):
        while ">running</span>" in (await ann.get(place)).text:  # noqa: ASYNC110  (a page tells nobody)
            await anyio.sleep(0.01)


@pytest.mark.slow
async def test_a_form_says_who_debates_about_what_options_and_a_round_at_a_time() -> None:
    table = served_table()
    async with visiting(table=table, models=["scripted:other"]) as ann:
        await ann.log_in()
        await ann.get("/start")
        boxes = [at for tag, at in Elements(ann.page).tags if tag == "input" and at.get("name") == "agents"]
        assert [box["value"] for box in boxes] == ["ada", "bo", "cy", "scripted:other"]
        assert ["checked" in box for box in boxes] == [True, True, True, False]
        more = {"options": " Tea \r\n\r\nCoffee\r\n", "step": "1", "synthesize": "1"}
        answer = await ann.post("/start", csrf=ann.csrf, topic="Which?", rounds="2", agents=["ada", "cy"], **more)
        place = answer.headers["location"]
        await at_rest(ann, place)
        assert ">between rounds</span>" in ann.page
        held = await table.for_tenant("ann").session(place.rpartition("/")[2])
        assert ([one.id for one in held.agents], held.config.options) == (["ada", "cy"], ("Tea", "Coffee"))
        assert (held.config.synthesize, len(held.rounds), held.config.rounds) == (True, 1, 2)
        assert (await ann.post(f"{place}/step", csrf=ann.csrf)).status_code == 303
        await at_rest(ann, place)
        assert ">completed</span>" in ann.page
        refused = await ann.post("/start", csrf=ann.csrf, topic="Which?", agents=["cy", "spy"], options="Tea\nTee")
        assert refused.status_code == 404
        boxes = [at for tag, at in Elements(refused.text).tags if at.get("name") == "agents"]
        assert [box["value"] for box in boxes if "checked" in box] == ["cy"]
        assert "Tea\nTee</textarea>" in refused.text


@pytest.mark.slow
async def test_a_form_with_all_or_no_agents_ticked_leaves_the_choice_to_the_table() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        await ann.log_in()
        for agents in ([], ["ada", "bo", "cy"]):
            answer = await ann.post("/start", csrf=ann.csrf, topic="Which?", rounds="1", agents=agents)
            await at_rest(ann, answer.headers["location"])
        assert {len(one.agent_ids) for one in await table.for_tenant("ann").sessions()} == {3}


async def test_a_form_of_a_table_without_agents_says_so() -> None:
    async with visiting(table=rt.Roundtable(["missing"], storage="memory://")) as ann:
        await ann.log_in()
        answer = await ann.get("/start")
        assert answer.status_code == 200
        assert "missing" in answer.text.partition('role="alert"')[2].partition("</p>")[0]


@pytest.mark.parametrize(
    ("filled", "told"),
    [
        ({"topic": " ", "rounds": "1"}, "Question"),
        ({"topic": "Tea?", "rounds": "0"}, "Rounds"),
        ({"topic": "Tea?", "rounds": "99"}, "Rounds"),
        ({"topic": "Tea?", "rounds": "2", "mode": "none"}, "none"),
    ],
)
async def test_an_error_of_a_form_is_shown_with_the_filled_in_values(filled: dict[str, str], told: str) -> None:
    async with visiting() as ann:
        await ann.log_in()
        answer = await ann.post("/start", csrf=ann.csrf, **filled)
        assert answer.status_code == 400
        alert = answer.text.partition('role="alert"')[2].partition("</p>")[0]
        assert told in alert
        assert filled["topic"] in answer.text


async def test_a_user_who_may_only_read_sees_no_actions() -> None:
    table = served_table()
    async with visiting("read", table=table) as ann:
        held = await table.for_tenant("ann").debate("Tea or coffee?", rounds=1)
        await ann.log_in()
        await ann.get(f"/sessions/{held.session_id}")
        assert "/start" not in ann.page
        assert "data-action" not in ann.page
        assert (await ann.get("/start")).status_code == 403
        await ann.get("/")
        assert (await ann.post(f"/sessions/{held.session_id}/stop", csrf=ann.csrf)).status_code == 403


async def test_sessions_of_other_users_are_not_found() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        theirs = await table.for_tenant("bob").debate("A secret question?", rounds=1)
        await ann.log_in()
        csrf = ann.csrf
        answers = [await ann.get(f"/sessions/{name}") for name in (theirs.session_id, "f" * 32)]
        answers += [await ann.get(f"/sessions/{name}/events") for name in (theirs.session_id, "f" * 32)]
        for action in ("pause", "resume", "stop"):
            answers.append(await ann.post(f"/sessions/{theirs.session_id}/{action}", csrf=csrf))
        assert {answer.status_code for answer in answers} == {404}
        assert "secret" not in "".join(answer.text for answer in answers)
        for path in ("/", "/sessions?q=tea"):
            assert "secret" not in (await ann.get(path)).text


@pytest.mark.slow
async def test_the_list_of_sessions_has_pages_and_a_search() -> None:
    table = served_table()
    hers = table.for_tenant("ann")
    await hers.debate_many([f"Question {number}?" for number in range(27)], rounds=1)
    async with visiting(table=table) as ann:
        await ann.log_in()
        assert ann.page.count('<a href="/sessions/') == 25
        further = Elements(ann.page).tags
        (place,) = [at["href"] for tag, at in further if at.get("rel") == "next"]
        assert (await ann.get(place)).text.count('<a href="/sessions/') == 2
        assert "Newest sessions" in ann.page
        assert (await ann.get("/sessions?q=coffee")).text.count("Cy in round 1") == 27
        assert "Found 27 times in answers" in ann.page
        assert "In questions" not in ann.page
        by_question = (await ann.get("/sessions?q=question+26")).text
        assert "In questions" in by_question
        assert by_question.count('<a href="/sessions/') == 1
        assert "Nothing found in answers" in (await ann.get("/sessions?q=nobodysaidthis")).text
        assert 'role="alert"' in (await ann.get(f"/sessions?q={'x' * 1001}")).text


async def test_answers_are_shown_as_plain_text() -> None:
    said = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) \u202egnol"
    table = served_table(agents=scripted_agents({"ada": said, "bo": said}))
    held = await table.for_tenant("ann").debate(f"{said}?", rounds=1)
    async with visiting(table=table) as ann:
        await ann.log_in()
        for path in ("/", "/sessions?q=gnol", f"/sessions/{held.session_id}", f"/sessions?q={said}"):
            await ann.get(path)
            elements = Elements(ann.page).tags
            assert "\u202e" not in ann.page
            scripts = [at for tag, at in elements if tag == "script"]
            every = {"type": "module", "src": "/static/pages.js"}
            assert scripts in ([every], [every, {"type": "module", "src": "/static/live.js"}])
            assert not [tag for tag, at in elements if tag == "img" or any(name.startswith("on") for name in at)]
            links = [at["href"] for tag, at in elements if "href" in at]
            assert not [link for link in links if not link.startswith(("/", "#", "http"))]


async def test_a_team_is_shown_with_its_goal_and_without_votes() -> None:
    plan = {"goal": "Name the capital.", "strategy": "Look at a map.", "successCriteria": ["A name", "A source"]}
    says = {"initiator": plan, "scout": "It is Paris.", "summarizer": "Paris."}
    table = served_table(agents=[ScriptedModel(says)])
    held = await table.for_tenant("ann").converse(
        agents=[AgentProfile("scout")], messages="The capital of France?", rounds=1
    )
    async with visiting(table=table) as ann:
        await ann.log_in()
        await ann.get(f"/sessions/{held.session_id}")
        for shown in ("Name the capital.", "Look at a map.", "A source", "It is Paris.", "About this conversation"):
            assert shown in ann.page
        for vote in ("Minority", "Agreement", "decision rule"):
            assert vote not in ann.page


async def test_figures_are_only_for_administrators() -> None:
    async with visiting() as ann:
        await ann.log_in()
        assert "/admin" not in ann.page
        assert (await ann.get("/admin")).status_code == 403
    async with visiting("admin") as root:
        await root.log_in()
        assert 'href="/admin"' in root.page
        assert "No run ended in this time." in (await root.get("/admin")).text
        await root.get("/start")
        await root.post("/start", csrf=root.csrf, topic="Tea or coffee?", rounds="1")
        with anyio.fail_after(20):
            while "1 of 1 run that" not in (await root.get("/admin?period=7d")).text:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.01)
        for shown in ("Runs completed: 1; broken: 0;", "Ada", "POST /start", "No tool was called."):
            assert shown in root.page
        await root.get("/admin?period=7d")
        assert len(re.findall("<(?:main|h1)[ >]", root.page)) == 2
        names = re.findall('<(?:nav|div)[^>]* aria-label="([^"]+)"', root.page)
        names += [re.sub("<.*?>", "", title) for title in re.findall('<h2 id="[a-z]+-title">(.*?)</h2>', root.page)]
        assert len(names) > 8
        assert len(names) == len(set(names))  # so that somebody who jumps between landmarks can tell them apart
        assert (await root.get("/admin?period=1y")).status_code == 400


async def test_requests_of_agents_are_shown() -> None:
    asked = {"query": "Who <drinks>?", "reason": "It matters.", "priority": "required"}
    call = {"toolCalls": [{"name": "request_context", "args": asked}]}
    tea = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.6}
    agents = scripted_agents({"ada": [call, tea], "bo": "Tea"})
    table = served_table(agents=agents, tools=["request_context"], storage=MemoryStorage())
    held = await table.for_tenant("ann").debate("Tea or coffee?", rounds=2)
    assert held.status == "needs_context"
    async with visiting(table=table) as ann:
        await ann.log_in()
        await ann.get(f"/sessions/{held.session_id}")
        assert "<strong>Who &lt;drinks&gt;?</strong> It matters." in ann.page
        answer = await ann.post(f"/sessions/{held.session_id}/resume", csrf=ann.csrf)
        assert answer.status_code == 409
        assert "Not now" in answer.text
    async with visiting("read", table=table) as reader:
        await reader.log_in()
        await reader.get(f"/sessions/{held.session_id}")
        assert "<strong>Who &lt;drinks&gt;?</strong> It matters." in reader.page
        assert "<textarea" not in reader.page


@pytest.mark.parametrize("how", ["answered", "forced"])
async def test_requests_of_agents_are_answered_in_a_form(how: str) -> None:
    asked = {"query": "Who drinks?", "reason": "It matters.", "priority": "required"}
    call = {"toolCalls": [{"name": "request_context", "args": asked}]}
    agents = scripted_agents({"ada": [call, "Tea", "Tea"], "bo": "Tea"})
    table = served_table(agents=agents, tools=["request_context"], storage=MemoryStorage())
    held = await table.for_tenant("ann").debate("Tea or coffee?", rounds=2)
    async with visiting(table=table) as ann:
        await ann.log_in()
        place = f"/sessions/{held.session_id}"
        await ann.get(place)
        (field,) = [at["name"] for tag, at in Elements(ann.page).tags if tag == "textarea"]
        assert field == f"answer:{held.context_requests[0].id}"
        empty = await ann.post(f"{place}/answer", csrf=ann.csrf, **{field: "  "})
        assert (empty.status_code, "Who drinks?" in empty.text) == (409, True)
        unknown = await ann.post(f"{place}/answer", csrf=ann.csrf, **{"answer:": "To nobody."})
        assert (unknown.status_code, "Who drinks?" in unknown.text) == (409, True)
        given = {field: " Ann <b>alone</b>. "} if how == "answered" else {"force": "1"}
        answer = await ann.post(f"{place}/answer", csrf=ann.csrf, **given)
        assert (answer.status_code, answer.headers["location"]) == (303, place)
        await at_rest(ann, place)
        assert ">completed</span>" in ann.page
        _, events = await table._wiring.storage.read(held.session_id, tenant="ann")
        results = [one for event in events if event.type == "control" for one in event.context_results]
        assert [(one.success, one.result) for one in results] == (
            [(True, "Ann <b>alone</b>.")] if how == "answered" else [(False, None)]
        )


async def test_tool_calls_are_shown_with_their_input_and_output() -> None:
    @rt.tool
    def weigh(item: str) -> str:
        """Weigh something."""
        if item == "air":
            raise ValueError("nothing there")
        return "w" * 700

    call = {"toolCalls": [{"name": "weigh", "args": {"item": "<b>"}}, {"name": "weigh", "args": {"item": "air"}}]}
    tea = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.6}
    table = served_table(agents=scripted_agents({"ada": [call, tea], "bo": [ValueError("gone")]}), tools=[weigh])
    held = await table.for_tenant("ann").debate("Tea or coffee?", rounds=1)
    async with visiting(table=table) as ann:
        await ann.log_in()
        await ann.get(f"/sessions/{held.session_id}")
        tools = ann.page.partition('id="calls"')[2]
        for shown in ("{&#34;item&#34;:&#34;&lt;b&gt;&#34;}", "w" * 500, "w\u2026", "nothing there", "Ada in round 1"):
            assert shown in tools
        assert "w" * 601 not in ann.page
        assert "Missing: Bo" in ann.page


async def test_every_page_needs_a_login() -> None:
    routes = [route for router in routers() for route in router.routes]
    pages = [
        route for route in routes if route.path not in {"/login", "/favicon.ico", "/static/{name}", "/shared/{token}"}
    ]
    assert len(pages) >= 9
    async with visiting() as ann:
        for route in pages:
            path = route.path.format(session_id="f" * 32, action="stop")
            (method,) = route.methods
            answer = await ann.web.request(method, path)
            assert (path, answer.status_code) == (path, 303)
            assert answer.headers["location"].startswith("/login")
            answer = await ann.web.request(method, path, headers={"accept": "*/*"})
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


async def heard(ann: Visitor, session_id: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the events that the script of a session's page receives."""
    text = (await ann.get(f"/sessions/{session_id}/events?after={after}", headers={"accept": "text/event-stream"})).text
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


async def test_a_page_gets_events_without_the_content_that_the_server_renders() -> None:
    table = served_table(agents=scripted_agents({"ada": "Tea", "bo": [ValueError("gone")], "cy": "Tea"}))
    held = await table.for_tenant("ann").debate("Tea or coffee?", rounds=1)
    async with visiting(table=table) as ann:
        await ann.log_in()
        told = await heard(ann, held.session_id)
        news = {one["data"].get("agent", "") + " " + one["data"]["news"] for one in told if "news" in one["data"]}
        for line in (
            " Round 1 begins.",
            "ada has answered in round 1.",
            "bo failed in round 1.",
            " Round 1: agreement 1.00.",
            " The debate is over.",
        ):
            assert line in news
        assert not [one for one in told if {"turn", "results", "info"} & set(one["data"])]
        assert await heard(ann, held.session_id, after=told[-2]["data"]["seq"]) == told[-1:]
        again = await ann.get(
            f"/sessions/{held.session_id}/events?after=0",
            headers={"last-event-id": f"{held.session_id}:{told[-2]['data']['seq']}"},
        )
        assert again.text.count("data: ") == 1
        assert f"id: {held.session_id}:" in again.text


async def test_a_page_gets_events_of_teams_tools_and_errors() -> None:
    plan = {"goal": "Name the capital.", "strategy": "Ask.", "successCriteria": []}
    says = {"initiator": plan, "scout": "It is Paris.", "summarizer": "Paris."}
    table = served_table(agents=[ScriptedModel(says)])
    team = table.for_tenant("ann")
    held = await team.converse(agents=[AgentProfile("scout")], messages="The capital of France?", rounds=1)
    failing = rt.Roundtable(
        scripted_agents({"ada": [ValueError("gone")]}), storage=table._wiring.storage, tenant="ann", observers=()
    )
    with pytest.raises(rt.RoundtableError):
        await failing.debate("Tea or coffee?", rounds=1)
    (broken,) = [one for one in await failing.sessions() if one.status == "error"]
    async with visiting(table=table) as ann:
        await ann.log_in()
        news = [one["data"].get("news") for one in await heard(ann, held.session_id)]
        assert "The goal is set." in news
        assert news[-1] == "The conversation is over."
        assert (await heard(ann, broken.id))[-1]["data"]["news"].startswith("The session broke: ")
        page = (await ann.get(f"/sessions/{broken.id}")).text
        assert ">broken</span>" in page
        assert ">Resume</button>" in page
        assert ">Stop</button>" not in page


async def test_a_session_whose_process_died_says_so_and_can_be_resumed() -> None:
    table = served_table()
    sessions = table.for_tenant("ann")._wiring.sessions
    config = DebateConfig(topic="Tea or coffee?", agents=("ada", "bo"), rounds=1)
    agents = tuple(seat.config for seat in scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"})[:2])
    record = SessionRecord(id="a" * 32, tenant="ann", config=config, agents=agents)
    storage, now = sessions.storage, datetime.now(UTC)
    await storage.create(record)
    begun = DebateStart(
        session_id=record.id, timestamp=now, topic=config.topic, mode=config.mode, agents=config.agents, rounds=1
    )
    dead = LeaseOwner(
        name="gone", host=sessions.owner().host, boot_id=sessions.owner().boot_id, pid=2**22, process_start="1"
    )
    lease = await storage.lease(record.id, dead, 60, tenant="ann")
    await storage.append(record.id, 0, lease.token, (begun,), tenant="ann")
    async with visiting(table=table) as ann:
        await ann.log_in()
        await ann.get(f"/sessions/{record.id}")
        assert ">interrupted</span>" in ann.page
        assert "This session is not running" in ann.page
        answer = await ann.post(f"/sessions/{record.id}/resume", csrf=ann.csrf)
        assert answer.status_code == 303
        with anyio.fail_after(20):
            while "state-completed" not in (await ann.get(f"/sessions/{record.id}")).text:  # noqa: ASYNC110  (as above)
                await anyio.sleep(0.01)


async def test_a_form_that_is_too_large_and_a_login_that_cannot_be_read_are_refused() -> None:
    table = served_table()
    async with visiting(table=table) as ann:
        assert (await ann.post("/login", token="x" * 800_000)).status_code == 400
        # As long a question as the form of the start page takes, each letter of it nine bytes in the form.
        assert (await ann.post("/login", token="\u8336" * 50_000)).status_code == 401
        assert (await ann.post("/login", token=["x"] * 501)).status_code == 401
        await ann.log_in()
        ((key, _),) = await table._wiring.storage.kv.scan("login/", tenant=":pages")
        await table._wiring.storage.kv.put(key, {"identity": 1}, tenant=":pages")
        assert (await ann.get("/")).status_code == 303


class Wavering:
    """Knows everybody, as long as its storage is there."""

    down = False

    async def authenticate(self, credential):
        self.look()
        return Identity(user="ann", scopes=("write",))

    async def still_valid(self, identity):
        self.look()
        return True

    def look(self):
        if self.down:
            raise StorageError("a secret path")


@pytest.mark.parametrize("kind", ["text/html", "*/*"])
async def test_a_storage_that_fails_at_the_login_is_a_503_and_recovers(kind: str) -> None:
    door = Wavering()
    async with visiting(auth=door) as ann:
        assert (await ann.get("/sessions", headers={"accept": kind})).status_code == 200
        door.down = True
        answer = await ann.get("/sessions", headers={"accept": kind})
        assert answer.status_code == 503
        assert "The storage failed" in answer.text
        assert "secret" not in answer.text
        door.down = False
        assert (await ann.get("/sessions", headers={"accept": kind})).status_code == 200


async def test_a_stream_ends_if_the_rights_of_its_listener_cannot_be_checked() -> None:
    door = Wavering()
    table = served_table(agents=scripted_agents({"ada": Delay(60, "Tea"), "bo": "Tea"}))
    async with visiting(table=table, auth=door, check_s=0.01) as ann:
        started = await ann.post("/start", topic="Tea or coffee?", rounds="1")
        path = started.headers["location"] + "/events"
        async with anyio.create_task_group() as group:

            async def fail() -> None:
                with anyio.fail_after(10):
                    while not len(ann.web._transport.app.state.roundtable.streams):  # noqa: ASYNC110  (it tells nobody)
                        await anyio.sleep(0.005)
                door.down = True

            group.start_soon(fail)
            answer = await ann.get(path, headers={"accept": "text/event-stream"})
        assert '"code":"STORAGE_ERROR"' in answer.text.rstrip().splitlines()[-1]
        assert "secret" not in answer.text
        door.down = False
