"""The page with the jobs of fleets: what it shows, who may see it, and what it does where fleets cannot be read."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.browser_kit import axe_faults, browser
from integration.pages_kit import visiting
from integration.test_pages_browser import site

from roundtable import Roundtable
from roundtable.errors import APIAuthError
from roundtable.fleet import Fleet, FleetOverview
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import Budget, ChatRequest

pytest.importorskip("dbos")

__all__ = ["browser"]

PRICES: dict[str, dict[str, float]] = {"scripted:*": {"input": 1, "output": 1}}
SLOW = "Slow & <b>bold</b>: tea?"


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


def fleet_table(folder: Path, *names: str, prices: dict[str, dict[str, float]] | None = PRICES) -> Roundtable:
    """Return a table whose agents fail at one question, and take ten minutes for another."""

    def reply(request: ChatRequest) -> Any:
        asked = request.messages[-1].content
        if "fail" in asked:
            return APIAuthError("the key is wrong")
        answer = {"position": "Tea", "reasoning": "It keeps."}
        return Delay(600, answer) if "Slow" in asked else answer

    agents = [ScriptedModel(reply, model=name) for name in names or ("ada", "bo")]
    return Roundtable(agents, storage=f"sqlite:///{folder}/debates.db", analyzer="declared", prices=prices)


@asynccontextmanager
async def working(folder: Path) -> AsyncIterator[Fleet]:
    """Run a worker while the block is open, with a job that has failures, a budget and a debate that does not end."""
    async with fleet_table(folder) as table, Fleet(table) as fleet, anyio.create_task_group() as group:
        await fleet.submit(
            "nightly", ["Tea?", "fail?", SLOW, "Coffee?"], rounds=1, job_budget=Budget(max_calls=500, max_cost_usd=2.5)
        )
        group.start_soon(fleet.work)
        with anyio.fail_after(60):
            while (await fleet.status("nightly")).ended < 3:  # noqa: ASYNC110  (the worker tells nobody)
                await anyio.sleep(0.05)
        yield fleet
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_server_without_jobs_loads_no_code_of_fleets_and_creates_no_queue(tmp_path: Path) -> None:
    table = fleet_table(tmp_path)
    async with visiting("admin", table=table) as root:
        await root.log_in()
        assert 'href="/admin/fleets"' in root.page
        assert "There are no jobs." in (await root.get("/admin/fleets")).text
        assert "roundtable_fleet" not in (await root.get("/metrics", headers=bearer(root.token))).text
    assert not (tmp_path / "debates.fleet.db").exists()


@pytest.mark.slow
@pytest.mark.anyio
async def test_jobs_are_shown_with_rate_budget_failures_and_stragglers(tmp_path: Path) -> None:
    async with working(tmp_path) as fleet, visiting("read", "write", "admin", table=fleet_table(tmp_path)) as root:
        await root.log_in()
        text = (await root.get("/admin/fleets")).text
        for shown in (
            "Fleet default", "1 worker at work, 1 job.", "3 of 4 debates have ended.", "of 500", "of 2.5000 USD",
            "Why debates failed", "Running for the longest time", ">nightly<",
        ):  # fmt: skip
            assert shown in text
        (running,) = (await fleet.status("nightly")).longest_running
        assert running.session_id in text
        (code,) = (await fleet.status("nightly")).errors
        assert f"<code>{code}</code>" in text
        metrics = (await root.get("/metrics", headers=bearer(root.token))).text
        assert 'roundtable_fleet_debates{fleet="default",job="nightly",state="completed"} 2.0' in metrics
        assert f'roundtable_fleet_failures{{code="{code}",fleet="default",job="nightly"}} 1.0' in metrics
        assert 'roundtable_fleet_workers{fleet="default"} 1.0' in metrics
        await fleet.cancel("nightly")
        with anyio.fail_after(60):
            while "4 of 4 debates have ended." not in (await root.get("/admin/fleets")).text:  # noqa: ASYNC110
                await anyio.sleep(0.2)
        assert "Running for the longest time" not in root.page
        assert ">done<" in root.page


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_page_shows_that_prices_are_unknown_and_why_debates_wait(tmp_path: Path) -> None:
    async with fleet_table(tmp_path, "cy") as table, Fleet(table) as fleet:
        await fleet.submit("others", ["Tea?"], rounds=1)
    async with fleet_table(tmp_path, prices=None) as table, Fleet(table) as fleet:
        await fleet.submit("unpriced", ["Tea?"], rounds=1)
        await fleet.work(until_done="unpriced")
    async with visiting("admin", table=fleet_table(tmp_path)) as root:
        await root.log_in()
        text = (await root.get("/admin/fleets")).text
    assert '<dt>Cost</dt><dd class="value">unknown</dd><dd class="note">No price is known for some models.</dd>' in text
    assert "1 debate can run only in workers with the agents of the job: <code>scripted:cy</code>." in text


@pytest.mark.anyio
async def test_only_the_operator_sees_fleets(tmp_path: Path) -> None:
    table = fleet_table(tmp_path)
    async with Fleet(table) as fleet:
        await fleet.submit("nightly", ["Tea?"])
        async with visiting("write", table=table) as ann:
            await ann.log_in()
            assert "/admin/fleets" not in ann.page
            assert (await ann.get("/admin/fleets")).status_code == 403


@pytest.mark.anyio
async def test_without_the_extra_the_page_names_it_and_metrics_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Fleet(fleet_table(tmp_path)) as fleet:
        await fleet.submit("nightly", ["Tea?"])
    monkeypatch.setitem(sys.modules, "dbos", None)
    monkeypatch.delitem(sys.modules, "roundtable.fleet.queue")
    async with visiting("admin", table=fleet_table(tmp_path)) as root:
        await root.log_in()
        text = (await root.get("/admin/fleets")).text
        assert "which is not installed" in text
        assert "roundtable-sdk[fleet]" in text
        metrics = await root.get("/metrics", headers=bearer(root.token))
    assert metrics.status_code == 200
    assert "roundtable_info" in metrics.text
    assert "fleets are missing in the metrics" in caplog.text


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_completed_job_is_read_again_only_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Fleet(fleet_table(tmp_path)) as fleet:
        await fleet.submit("done", ["Tea?", "fail?"], rounds=1)
        await fleet.work(until_done="done")
        first = await fleet.jobs()
        queue, _ = await fleet._open()
        read: list[int] = []
        debates = queue.debates

        async def counted(ids: Any, **options: Any) -> Any:
            read.append(len(ids))
            return await debates(ids, **options)

        monkeypatch.setattr(queue, "debates", counted)
        assert await fleet.jobs(known=first) == first
        assert read == []
        await fleet.retry("done")
        assert [job.queued for job in await fleet.jobs(known=first)] == [1]
        assert read


@pytest.mark.anyio
async def test_a_requeued_job_without_new_calls_is_read_again(tmp_path: Path) -> None:
    async with Fleet(fleet_table(tmp_path)) as fleet:
        await fleet.submit("night", ["Tea?"])
        await fleet.cancel("night")
        (first,) = await fleet.jobs()
        await fleet.retry("night")
        queue, _ = await fleet._open()
        await queue.cancel([queued.workflow_id for queued in await queue.debates(["default.night.00000001"])])
        assert (await fleet.jobs(known=[first]))[0].retried_at is not None
        (second,) = await fleet.jobs(known=[first])
        assert first.retried_at is None
        assert second == await fleet.status("night")


@pytest.mark.slow
@pytest.mark.anyio
async def test_metrics_do_not_wait_for_a_slow_database_and_state_their_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("roundtable.server.routes.metrics._FLEETS_S", 0.2)
    monkeypatch.setattr("roundtable.fleet.overview._PAUSE_S", 0.0)
    monkeypatch.setattr("roundtable.fleet.overview._SHARE", 0)
    answers, reading = anyio.Event(), Fleet.jobs

    async def late(fleet: Fleet, **known: Any) -> Any:
        await answers.wait()
        return await reading(fleet, **known)

    async with Fleet(fleet_table(tmp_path)) as fleet:
        await fleet.submit("nightly", ["Tea?"])
    async with visiting("admin", table=fleet_table(tmp_path)) as root:
        header = bearer(root.token)

        async def figures() -> dict[str, float]:
            lines = (await root.get("/metrics", headers=header)).text.splitlines()
            return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[:1] != "#"}

        queued = 'roundtable_fleet_debates{fleet="default",job="nightly",state="queued"}'
        with anyio.fail_after(30):
            while queued not in (first := await figures()):
                pass
        assert first["roundtable_fleet_age_seconds"] < 30
        monkeypatch.setattr(Fleet, "jobs", late)
        with anyio.fail_after(30):
            second, third = await figures(), await figures()
        assert second[queued] == third[queued] == 1
        assert third["roundtable_fleet_age_seconds"] >= 0.4
        assert "are out of date in the metrics: the database did not answer within 0.2 s" in caplog.text
        answers.set()
        with anyio.fail_after(30):
            while (await figures())["roundtable_fleet_age_seconds"] >= 0.2:
                pass


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_overview_reads_no_more_often_than_needed(tmp_path: Path) -> None:
    table = fleet_table(tmp_path)
    async with Fleet(table) as fleet, FleetOverview(table) as overview:
        assert await overview.read() == ()
        await fleet.submit("a", ["Tea?"])
        assert await overview.read() == ()  # still that of a moment ago
        with anyio.fail_after(30):
            while not (states := await overview.read()):  # noqa: ASYNC110
                await anyio.sleep(0.2)
        assert [(state.name, state.workers, [job.job for job in state.jobs]) for state in states] == [
            ("default", 0, ["a"])
        ]


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_overview_that_is_cancelled_closes_its_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(fleet: Fleet, **known: Any) -> Any:
        await anyio.sleep_forever()

    monkeypatch.setattr("roundtable.fleet.overview._PAUSE_S", 0.0)
    monkeypatch.setattr("roundtable.fleet.overview._SHARE", 0)
    table = fleet_table(tmp_path)
    async with Fleet(table) as fleet:
        await fleet.submit("a", ["Tea?"])
        with anyio.CancelScope() as scope:
            async with FleetOverview(table) as overview:
                await overview.read()
                (read,) = overview._fleets.values()
                assert read._parts is not None
                monkeypatch.setattr(Fleet, "jobs", never)
                await overview.latest(0.01)
                scope.cancel()
        assert scope.cancelled_caught
        assert (read._parts, overview._fleets) == (None, {})


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_is_accessible(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    with site(fleet_table(tmp_path)) as here, here.portal.wrap_async_context_manager(working(tmp_path)):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = here.page(context)
        page.get_by_role("link", name="Fleets").click()
        page.get_by_role("heading", name="Why debates failed").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("h1").count() == 1
        assert axe_faults(page) == []
        page.get_by_role("link", name="nightly").click()
        assert page.url.endswith("#job-1-1")
        here.check_quiet()
        context.close()


def bearer(token: str) -> dict[str, str]:
    """Return the header of a program."""
    return {"authorization": f"Bearer {token}", "accept": "*/*"}
