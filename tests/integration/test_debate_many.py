"""Many debates at once, and their results as one table that can be decided anew."""

from __future__ import annotations

import math
from typing import Any

import anyio
import pytest
from integration.engine_kit import CountingModel, late, said, seated

import roundtable as rt
from roundtable import sync
from roundtable.api.debates import Debates
from roundtable.bench import Question, run_study
from roundtable.core.types.request import DebateRequest
from roundtable.errors import AgentError, APIAuthError, ConfigurationError, QuorumLost, RoundtableError
from roundtable.modes import CollaborativeMode
from roundtable.providers.scripted import ScriptedModel
from roundtable.results.many import FailedDebate, Progress, Results
from roundtable.scoring import find_rule
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest

pytestmark = pytest.mark.both_loops

SAYS = {"ada": "Tea", "bo": "Tea", "cy": "Coffee"}


def table(says: Any = None, **more: Any) -> rt.Roundtable:
    return rt.Roundtable(scripted_agents(SAYS if says is None else says), **({"storage": "memory://"} | more))


def picky(request: ChatRequest) -> Any:
    """Break on one question."""
    if any("Broken?" in message.content for message in request.messages):
        return AgentError("no answer", provider="scripted")
    return said("Tea")


async def hears_late(progress: Progress) -> None:
    """Nobody would await this."""


class HearsLate:
    async def __call__(self, progress: Progress) -> None:
        """Nobody would await this either."""


def partly_broken() -> rt.Roundtable:
    return rt.Roundtable(seated(ScriptedModel(picky), "ada", "bo"), storage="memory://")


async def test_results_come_in_the_order_of_questions_then_modes_whatever_ends_first() -> None:
    made = table({"ada": late(0.002, "Tea"), "bo": "Tea"})
    results = await made.debate_many(["Tea?", "Milk?"], modes=["delphi", CollaborativeMode()], rounds=1)
    assert [(one.topic, one.mode) for one in results] == [
        ("Tea?", "delphi"),
        ("Tea?", "collaborative"),
        ("Milk?", "delphi"),
        ("Milk?", "collaborative"),
    ]
    assert len({one.session_id for one in results}) == len(await made.sessions()) == 4
    assert (results[0].answer, len(results[1:]), repr(results)) == ("Tea", 3, "Results(4 debates, 0 failed)")
    assert results.usage.calls == 8


async def test_no_more_debates_run_at_once_than_allowed() -> None:
    running = most = 0

    def hear(event: Any) -> None:
        nonlocal running, most
        running += {"debate_start": 1, "debate_complete": -1}.get(event.type, 0)
        most = max(most, running)

    made = table({"ada": late(0.001, "Tea")}, observers=[hear])
    assert len(await made.debate_many([f"{n}?" for n in range(7)], concurrency=2, rounds=1)) == 7
    assert most == 2


async def test_a_failed_debate_is_recorded_in_its_place_and_the_others_continue() -> None:
    results = await partly_broken().debate_many(["Tea?", "Broken?", "Milk?"], rounds=1)
    assert [one.topic for one in results] == ["Tea?", "Milk?"]
    (failed,) = results.failures
    assert (failed.topic, failed.mode, failed.error.name) == ("Broken?", "collaborative", "QuorumLost")
    assert failed.session_id is not None
    assert failed.partial is not None
    rows = results.to_records()
    assert [row["status"] for row in rows] == ["completed", "error", "completed"]
    assert rows[1]["errorCode"] == failed.error.code
    assert len({tuple(row) for row in rows}) == 1  # every row has the same columns


async def test_the_first_failure_ends_all_debates_on_request() -> None:
    with pytest.raises(QuorumLost):
        await partly_broken().debate_many(["Broken?", "Tea?"], on_error="raise", rounds=1)


async def test_a_failure_before_the_session_exists_has_its_own_row() -> None:
    failed = FailedDebate.model_validate(
        {"topic": "Tea?", "mode": "x", "error": {"name": "StorageError", "message": "full", "code": "STORAGE_ERROR"}}
    )
    (row,) = rt.Results([failed]).to_records()
    assert (row["topic"], row["error"], row["answer"]) == ("Tea?", "full", None)
    assert rt.Results([failed]).usage.calls == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"topics": "Tea?"}, "topics must be a list of questions", id="a text"),
        pytest.param({"modes": "delphi"}, "modes must be a list", id="one mode"),
        pytest.param({"modes": []}, "modes is empty", id="no mode"),
        pytest.param({"mode": "delphi"}, "debate_many takes modes, not mode", id="mode"),
        pytest.param({"modes": ["delphi", "duel"]}, "duel", id="unknown mode"),
        pytest.param({"topics": ["Tea?", ""]}, "topic", id="empty question"),
        pytest.param({"concurrency": 0}, "1 to 1000", id="none at a time"),
        pytest.param({"on_error": "ignore"}, "'record' or 'raise'", id="on_error"),
        pytest.param({"on_progress": 7}, "on_progress must be a function that is not async, not 7", id="no function"),
        pytest.param(
            {"on_progress": hears_late}, "on_progress must be a function that is not async", id="coroutine function"
        ),
        pytest.param({"on_progress": HearsLate()}, "on_progress must be a function that is not async", id="async call"),
        pytest.param({"decide": "dice"}, "dice", id="rule"),
    ],
)
async def test_wrong_arguments_are_refused_before_the_first_call(given: dict[str, Any], message: str) -> None:
    model = CountingModel()
    made = rt.Roundtable(seated(model, "ada", "bo"), storage="memory://")
    with pytest.raises(ConfigurationError, match=message):
        await made.debate_many(**({"topics": ["Tea?"]} | given))
    assert model.begun == []
    assert await made.sessions() == ()


async def test_an_empty_list_of_questions_gives_no_results() -> None:
    assert [*await table().debate_many([])] == []


async def test_a_cancelled_batch_ends_at_once() -> None:
    made = table({"ada": late(60, "Tea")})
    with anyio.move_on_after(0.05) as scope:
        await made.debate_many(["Tea?", "Milk?"], rounds=1)
    assert scope.cancelled_caught


async def test_another_rule_decides_stored_results_without_a_call() -> None:
    model = ScriptedModel({name: said(position) for name, position in SAYS.items()})
    made = rt.Roundtable(seated(model, *SAYS), storage="memory://")
    results = await made.debate_many(["Tea or coffee?"], options=["Tea", "Coffee"], rounds=1, decide="majority")
    called = model.calls
    strict = results.redecide("unanimity")
    assert model.calls == called
    assert (results[0].answer, strict[0].answer, strict[0].answer_source) == ("Tea", None, "none")
    chosen = ScriptedModel({name: said(position, choice=position) for name, position in SAYS.items()})
    again = rt.Roundtable(seated(chosen, *SAYS), storage="memory://")
    results = await again.debate_many(["Tea or coffee?"], options=["Tea", "Coffee"], rounds=1)
    strict = results.redecide("unanimity")
    (was,), (now,) = results, strict
    assert (was.answer, was.decision and was.decision.rule) == ("Tea", "plurality")
    assert (now.answer, now.decision and now.decision.rule, now.config.decide) == (None, "unanimity", "unanimity")
    assert now.answer_reason
    assert now.rounds[-1].decision == now.decision
    assert now.baselines is not None
    assert was.baselines is not None
    assert (was.baselines.answer_changed, now.baselines.answer_changed) == (False, True)
    assert now.consensus == was.consensus
    (back,) = strict.redecide("plurality")
    assert back == was
    assert await again.session(was.session_id) == was


async def test_a_custom_rule_works_and_a_failed_debate_stays_failed() -> None:
    results = await partly_broken().debate_many(["Tea?", "Broken?"], rounds=1)
    anew = results.redecide(find_rule("majority")[0])
    assert anew[0].decision is not None
    assert anew[0].decision.rule == "majority"
    assert anew.failures == results.failures
    with pytest.raises(ConfigurationError, match="dice"):
        results.redecide("dice")


async def test_a_debate_without_a_complete_round_has_no_decision() -> None:
    failed = (await partly_broken().debate_many(["Broken?"], rounds=1)).failures[0].partial
    assert failed is not None
    (anew,) = rt.Results([failed]).redecide("majority")
    assert (anew.decision, anew.config.decide) == (None, "majority")


def test_the_blocking_function_gives_the_same_results() -> None:
    with sync.Roundtable(scripted_agents(SAYS), storage="memory://") as made:
        results = made.debate_many(["Tea?"], modes=["delphi"], rounds=1)
    assert [one.answer for one in results] == ["Tea"]


async def test_tables_and_figures_show_the_values_of_the_rows() -> None:
    results = await table().debate_many(["Is $5 or \\frac{ too much?"], rounds=2)
    frame = results.to_frame()
    assert [*frame.columns][:3] == ["sessionId", "topic", "mode"]
    assert frame.loc[0, "answer"] == "Tea"
    turns = results[0].to_frame()
    assert (len(turns), turns.loc[0, "position"]) == (6, "Tea")
    from matplotlib.figure import Figure

    ax = results[0].plot(Figure().subplots())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "confidence of Ada",
        "confidence of Bo",
        "confidence of Cy",
        "agreement",
        "agreement if the rest is equal",
        "agreement before the debate",
    ]
    assert ax.get_title() == "collaborative: Tea"


async def test_a_price_in_an_answer_is_not_a_formula() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    result = await table({"ada": "$5 _or_ $\\frac{"}).debate("Price?", rounds=1)
    ax = result.plot()
    ax.figure.canvas.draw()
    assert ax.get_title() == r"collaborative: \$5 _or_ \$\frac{"


async def test_a_line_of_a_plot_has_a_gap_at_a_failed_turn() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    eve = [{"position": "Tea", "confidence": 0.6}, ValueError("gone"), {"position": "Tea", "confidence": 0.8}]
    agents = scripted_agents({"ada": "Tea", "bo": "Tea", "eve": eve})
    result = await rt.Roundtable(agents, storage="memory://").debate("Tea?", rounds=3)
    lines = {line.get_label(): [*line.get_ydata()] for line in result.plot().get_lines()}
    first, gap, last = lines["confidence of Eve"]
    assert (first, math.isnan(gap), last) == (0.6, True, 0.8)
    assert len(lines["confidence of Ada"]) == len(lines["agreement"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("agents", [2, 10])
async def test_the_legend_of_a_plot_lies_beside_the_lines_and_within_the_figure(agents: int) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    says = {f"an-agent-with-a-rather-long-name-for-a-legend-number-{number}": "Tea" for number in range(agents)}
    ax = (await rt.Roundtable(scripted_agents(says), storage="memory://").debate("Tea?", rounds=2)).plot()
    figure = ax.get_figure(root=True)
    figure.canvas.draw()
    legend, lines = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert not legend.overlaps(lines)
    assert not legend.overlaps(ax.xaxis.get_tightbbox())
    assert lines.height > 200
    assert min(legend.x0, legend.y0) >= 0
    assert legend.x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("library", "extra", "use"),
    [
        pytest.param("pandas", "frames", lambda result: result.to_frame(), id="pandas"),
        pytest.param("matplotlib", "plot", lambda result: result.plot(), id="matplotlib"),
    ],
)
async def test_a_missing_library_is_named_with_its_extra(
    library: str, extra: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    result = await table().debate("Tea?", rounds=1)
    with pytest.raises(ConfigurationError) as caught:
        use(result)
    assert caught.value.hint == f"Install it: pip install 'roundtable-sdk[{extra}]'"


async def test_unfinished_debates_continue_in_their_places_and_repeat_no_answer() -> None:
    said: list[tuple[str, str]] = []

    def hear(event: Any) -> None:
        if event.type == "agent_complete":
            said.append((event.session_id, f"{event.round} {event.agent}"))

    used = table({"ada": "Tea", "bo": "Tea"}, observers=[hear])
    whole = await used.debate_many(["One?"], rounds=1)
    half = await used.debate_many(["Two?", "Three?"], rounds=2, budget=rt.Budget(max_calls=2))
    results = Results([*half.held[:1], *whole.held, *half.held[1:]])
    told: list[tuple[int, int]] = []
    again = await used.resume_many(
        results,
        budget=rt.Budget(max_calls=4),
        on_progress=lambda progress: told.append((progress.ended, progress.total)),
    )
    assert [result.topic for result in again] == ["Two?", "One?", "Three?"]
    assert [result.status for result in again] == ["completed"] * 3
    assert again[1] == whole[0]
    assert [result.usage.calls for result in again] == [4, 2, 4]
    assert len(said) == len({*said}) == 10
    assert told == [(1, 2), (2, 2)]
    assert (await used.resume_many(again)).held == again.held
    await used.aclose()


async def test_a_debate_that_failed_continues_when_its_models_answer_again() -> None:
    healthy = False

    def answer(request: ChatRequest) -> Any:
        return {"position": "Tea", "reasoning": "", "confidence": 0.5} if healthy else APIAuthError("no key")

    model = ScriptedModel(answer)
    agents = [rt.BaseAgent(rt.AgentConfig(id=name, name=name, provider="scripted"), model) for name in ("ada", "bo")]
    used = rt.Roundtable(agents, storage="memory://", quorum=2)
    failed = await used.debate_many(["Tea?"], rounds=1)
    assert (len(failed), len(failed.failures)) == (0, 1)
    still = await used.resume_many(failed)
    assert [failure.session_id for failure in still.failures] == [failed.failures[0].session_id]
    with pytest.raises(RoundtableError):
        await used.resume_many(failed, on_error="raise")
    healthy = True
    again = await used.resume_many(failed)
    assert ([result.answer for result in again], again.failures) == (["Tea"], ())
    await used.aclose()


async def test_debates_without_an_agent_are_counted() -> None:
    def refuse(_request: ChatRequest) -> Any:
        return APIAuthError("wrong key")

    ada, bo = scripted_agents({"ada": "Tea", "bo": "Tea"})
    bo.chat_model = ScriptedModel(refuse)
    used = rt.Roundtable([ada, bo], storage="memory://")
    results = await used.debate_many(["Tea?", "Milk?"], rounds=1)
    assert repr(results) == "Results(2 debates, 0 failed, 2 with agents missing)"
    assert results.incomplete == tuple(results)
    assert "2 with agents missing" in results._repr_html_()
    await used.aclose()


async def test_a_request_with_a_criterion_as_json_is_a_question() -> None:
    used = table({"ada": "Tea", "bo": "Tea"})
    request = DebateRequest(topic="One?", rounds=3, exit_when={"kind": "max_rounds", "rounds": 1})
    results = await used.debate_many([request, "Two?"], rounds=1)
    assert [len(result.rounds) for result in results] == [1, 1]
    assert results[0].exit is not None
    assert results[0].exit.reason == "max_rounds"
    await used.aclose()


@pytest.mark.parametrize("on_error", ["record", "raise"])
async def test_debates_resumed_without_a_new_budget_keep_their_partial_results(on_error: Any) -> None:
    used = table({"ada": "Tea", "bo": "Tea"})
    half = await used.debate_many(["One?", "Two?"], rounds=2, budget=rt.Budget(max_calls=2))
    again = await used.resume_many(half, on_error=on_error)
    assert (again.failures, [result.status for result in again]) == ((), ["partial"] * 2)
    assert ([result.answer for result in again], again.usage.calls) == (["Tea"] * 2, 4)
    await used.aclose()


async def test_a_debate_that_cannot_be_resumed_fails_with_its_partial_result() -> None:
    used = table({"ada": "Tea", "bo": "Tea"})
    half = await used.debate_many(["One?"], rounds=2, budget=rt.Budget(max_calls=2))
    assert half[0].session_id is not None
    await used.delete(half[0].session_id)
    again = await used.resume_many(half, budget=rt.Budget(max_calls=4))
    assert [failure.error.name for failure in again.failures] == ["SessionNotFound"]
    assert [failure.partial for failure in again.failures] == [half[0]]
    with pytest.raises(RoundtableError) as caught:
        await used.resume_many(half, budget=rt.Budget(max_calls=4), on_error="raise")
    assert caught.value.partial == half[0]
    await used.aclose()


async def test_a_debate_that_another_process_ends_meanwhile_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    used = table({"ada": "Tea", "bo": "Tea"})
    half = await used.debate_many(["One?"], rounds=2, budget=rt.Budget(max_calls=2))
    prepare = Debates.prepare_resume
    budget = rt.Budget(max_calls=4)

    async def late(self: Debates, session_id: str, **given: Any) -> Any:
        monkeypatch.setattr(Debates, "prepare_resume", prepare)
        ready = await prepare(self, session_id, **given)
        await used.resume(session_id, budget=budget)
        return ready

    monkeypatch.setattr(Debates, "prepare_resume", late)
    again = await used.resume_many(half, budget=budget)
    assert (again.failures, [result.status for result in again]) == ((), ["completed"])
    await used.aclose()


async def test_a_report_that_fails_costs_no_result(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def report(progress: Progress) -> None:
        seen.append(progress.ended)
        if progress.ended == 2:
            raise BrokenPipeError(32, "Broken pipe")

    async with table({"ada": "Tea", "bo": "Tea"}) as used:
        results = await used.debate_many(["One?", "Two?", "Three?"], rounds=1, concurrency=1, on_progress=report)
        assert (len(results), results.failures, seen) == (3, (), [1, 2])
        seen.clear()
        study = [Question(id=name, question=f"{name}?", gold="Tea") for name in ("one", "two")]
        assert (await run_study(used, study, modes=["collaborative"], on_progress=report)).arms
        assert seen[-1] == 2
    assert caplog.text.count("on_progress failed and is not called again: BrokenPipeError") == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"concurrency": 0}, "concurrency must be"),
        ({"on_error": "skip"}, "on_error must be 'record' or 'raise', not 'skip'"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"on_progress": hears_late}, "on_progress must be a function that is not async"),
    ],
)
async def test_wrong_arguments_of_resume_many_are_refused(given: dict[str, Any], message: str) -> None:
    used = table({"ada": "Tea"})
    with pytest.raises(ConfigurationError, match=message):
        await used.resume_many(Results([]), **given)
    await used.aclose()


def test_the_blocking_twin_resumes_too() -> None:
    with rt.sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as used:
        half = used.debate_many(["Tea?"], rounds=2, budget=rt.Budget(max_calls=2))
        assert used.resume_many(half, budget=rt.Budget(max_calls=4))[0].status == "completed"


async def test_results_count_debates_that_ended_without_an_answer() -> None:
    tied = table({"ada": "Tea", "bo": "Coffee"})
    results = await tied.debate_many(["Tea?", "Or what?"], rounds=1, options=["Tea", "Coffee"])
    assert [result.answer for result in results.unanswered] == [None, None]
    assert repr(results) == "Results(2 debates, 0 failed, 2 without an answer)"
    agreed = await table({"ada": "Tea", "bo": "Tea"}).debate_many(["Tea?"], rounds=1)
    assert agreed.unanswered == ()
    assert repr(agreed) == "Results(1 debate, 0 failed)"
