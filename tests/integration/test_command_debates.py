"""Command-line agents at the table: every mode, budget and store, with real programs."""

from __future__ import annotations

import json

import anyio
import pytest
from integration.command_kit import SPEAKS, Stubs

from roundtable import Budget, Roundtable
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.providers import chat_model
from roundtable.providers.command import CLAUDE, CODEX, CommandModel, plain_profile
from roundtable.providers.command import model as command_model
from roundtable.types import ChatRequest, Message

PLAIN = """
asked = sys.stdin.read()
note(stdin=asked)
print(json.dumps({"position": "Coffee", "reasoning": "Habit.", "confidence": 0.6}))
"""
FORGETS = """
asked = sys.stdin.read()
note(stdin=asked)
if "--resume" in argv:
    sys.stderr.write("No conversation found with session ID: " + argv[argv.index("--resume") + 1])
    sys.exit(1)
envelope(json.dumps({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}))
"""


async def test_an_agent_keeps_its_conversation_over_the_rounds(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    stubs.make("mytool", PLAIN)
    seats = ["claude-cli:sonnet", "claude-cli:sonnet", "command:mytool"]
    table = Roundtable(seats, storage="memory://", analyzer="declared")
    result = await table.debate("Tea or coffee?", rounds=2)
    assert result.status == "completed"
    assert [response.position for response in result.rounds[1].responses] == ["Tea", "Tea", "Coffee"]
    argvs = [start["argv"] for start in stubs.starts("claude")]
    begun = [argv for argv in argvs if isinstance(argv, list) and "--resume" not in argv]
    resumed = {argv[argv.index("--resume") + 1] for argv in argvs if isinstance(argv, list) and "--resume" in argv}
    assert (len(argvs), len(begun), len(resumed)) == (4, 2, 2)  # each seat goes on with its own
    assert result.usage.cost_usd is None  # what the third costs, nobody says
    assert result.usage.partial_cost_usd == pytest.approx(0.04)
    turn = result.rounds[0].turns[0]
    assert turn.outcome == "answered"
    assert turn.result.request_ids[0].startswith("session-")


async def test_a_lost_conversation_is_started_again_with_its_whole_history(stubs: Stubs) -> None:
    stubs.make("claude", FORGETS)
    result = await Roundtable(["claude-cli"], storage="memory://").debate("Tea?", rounds=2, mode="freeform")
    assert [turn.outcome for held in result.rounds for turn in held.turns] == ["answered", "answered"]
    assert ["--resume" in str(start["argv"]) for start in stubs.starts("claude")] == [False, True, False]
    assert "Tea?" in stubs.read("claude")[2]


FAILS_ONCE = """
if "--resume" in argv and not os.path.exists(os.path.join(HERE, "failed")):
    open(os.path.join(HERE, "failed"), "w").close()
    note(fails=True)
    {failure}
"""


@pytest.mark.parametrize(
    ("failure", "goes_on"),
    [
        pytest.param("sys.exit('429 too many requests')", True, id="rate limit"),
        pytest.param("sys.exit('connect ECONNREFUSED 127.0.0.1:443')", True, id="network"),
        pytest.param("sys.exit('504 timed out')", True, id="time-out"),
        pytest.param("sys.exit('Please run /login')", True, id="login"),
        pytest.param("sys.exit('prompt is too long')", False, id="another reason"),
        pytest.param("envelope('no', is_error=True); sys.exit(1)", False, id="failed agent"),
    ],
)
async def test_a_failure_that_passes_does_not_end_the_conversation(stubs: Stubs, failure: str, goes_on: bool) -> None:
    stubs.make("claude", FAILS_ONCE.format(failure=failure) + SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    await model.complete(ask("One."))
    with pytest.raises(RoundtableError):
        await model.complete(ask("Two."))
    await model.complete(ask("Two."))
    assert ["--resume" in str(start["argv"]) for start in stubs.starts("claude")] == [False, True, goes_on]


async def test_a_call_that_is_cancelled_does_not_end_the_conversation(stubs: Stubs) -> None:
    stubs.make("claude", FAILS_ONCE.format(failure="time.sleep(60)") + SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    await model.complete(ask("One."))
    async with anyio.create_task_group() as group:
        group.start_soon(model.complete, ask("Two."))
        while not stubs.notes("claude", "fails"):  # noqa: ASYNC110  (it is another process)
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    await model.complete(ask("Two."))
    assert ["--resume" in str(start["argv"]) for start in stubs.starts("claude")] == [False, True, True]


SUMS_UP = """
asked = sys.stdin.read()
file = os.path.join(HERE, "total")
calls = 1 + (int(open(file).read()) if os.path.exists(file) else 0)
open(file, "w").write(str(calls))
print(json.dumps({"type": "thread.started", "thread_id": "thread-1"}))
print(json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": "Tea."}}))
counts = {counts}
print(json.dumps({"type": "turn.completed", "usage": counts}))
"""


@pytest.mark.parametrize(
    ("counts", "stated"),
    [
        pytest.param('{"input_tokens": 90 * calls, "output_tokens": 4 * calls}', [(90, 4)] * 3, id="totals"),
        pytest.param('{"input_tokens": 90 - calls, "output_tokens": 4}', [(89, 4), (88, 4), (87, 4)], id="calls"),
    ],
)
async def test_the_cumulative_usage_of_codex_is_counted_once(
    stubs: Stubs, counts: str, stated: list[tuple[int, int]]
) -> None:
    stubs.make("codex", SUMS_UP.replace("{counts}", counts))
    model = CommandModel(CODEX, environment=stubs.environment())
    answers = [await model.complete(ask(question)) for question in ("One.", "Two.", "Three.")]
    assert [(answer.usage.input_tokens, answer.usage.output_tokens) for answer in answers] == stated
    assert [answer.usage.calls for answer in answers] == [1, 1, 1]


@pytest.mark.slow
async def test_a_debate_whose_program_is_briefly_busy_continues_its_conversation(stubs: Stubs) -> None:
    stubs.make("claude", FAILS_ONCE.format(failure="sys.exit('429 too many requests')") + SPEAKS)
    result = await Roundtable(["claude-cli"], storage="memory://").debate("Tea?", rounds=2, mode="freeform")
    assert [turn.outcome for held in result.rounds for turn in held.turns] == ["answered", "answered"]
    assert ["--resume" in str(start["argv"]) for start in stubs.starts("claude")] == [False, True, True]


async def test_a_budget_in_dollars_is_kept_if_the_program_has_a_limit(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, "sonnet", max_budget_usd=0.03, environment=stubs.environment())
    table = Roundtable([model], storage="memory://", budget=Budget(max_cost_usd=0.045))
    result = await table.debate("Tea?", rounds=5, mode="freeform")
    assert (result.status, result.exit and result.exit.reason) == ("partial", "budget")
    assert result.usage.cost_usd == pytest.approx(0.02)  # after 0.02 there is no room for a call that may cost 0.03


async def test_skipped_permissions_are_reported_with_the_turn(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, yolo=True, environment=stubs.environment())
    result = await Roundtable([model], storage="memory://").debate("Tea?", rounds=1, mode="freeform")
    turn = result.rounds[0].turns[0]
    assert turn.outcome == "answered"
    assert "permission prompts were skipped" in turn.result.warnings[0]


def ask(text: str, **more: str) -> ChatRequest:
    messages = (Message(role="system", content=more.pop("system", "Be brief.")), Message(role="user", content=text))
    return ChatRequest(messages=messages, metadata={"session": "s", "agent": "ada", **more})


async def test_continuing_a_conversation_sends_new_messages_and_a_changed_system_prompt(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    first = await model.complete(ask("One."))
    again = ask("One.")
    again = again.model_copy(
        update={"messages": (*again.messages, first.to_message(), Message(role="user", content="As JSON."))}
    )
    await model.complete(again)
    await model.complete(ask("Two.", system="Be long."))
    assert stubs.read("claude") == ["One.", "As JSON.", "Be long.\n\nTwo."]
    await model.aclose()
    await model.complete(again)
    assert stubs.read("claude")[-1].startswith("One.\n\nYou answered:\n{")


async def test_a_conversation_without_a_system_prompt_continues(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    for text in ("One.", "Two."):
        question = ChatRequest(
            messages=(Message(role="user", content=text),), metadata={"session": "s", "agent": "ada"}
        )
        await model.complete(question)
    assert stubs.read("claude") == ["One.", "Two."]


async def test_two_questions_at_once_do_not_share_a_conversation(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    await model.complete(ask("One."))
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(model.complete, ask("Two."))
    assert sorted("--resume" in str(start["argv"]) for start in stubs.starts("claude")) == [False, False, True]


async def test_no_more_conversations_are_kept_than_the_stated_limit(
    stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_model, "_MAX_CONVERSATIONS", 1)
    stubs.make("claude", SPEAKS)
    model = CommandModel(CLAUDE, environment=stubs.environment())
    for agent in ("ada", "bo", "ada"):
        await model.complete(ask("One.", agent=agent))
    assert ["--resume" in str(start["argv"]) for start in stubs.starts("claude")] == [False, False, False]


async def test_a_stream_of_an_answer_without_pieces_gives_the_whole_answer(stubs: Stubs) -> None:
    stubs.make("mytool", PLAIN)
    model = CommandModel(plain_profile("mytool"), environment=stubs.environment())
    async with model.stream(ask("One.")) as pieces:
        assert [piece async for piece in pieces] == []
    assert pieces.response is not None
    assert json.loads(pieces.response.text)["position"] == "Coffee"


async def test_the_name_of_a_program_alone_leaves_the_choice_of_the_model_to_it(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    for name, words in (("claude-cli:claude", []), ("claude-cli:opus", ["--model", "opus"])):
        model = chat_model(name)
        assert (await model.complete(ask("One."))).model == (words[1] if words else None)
        argv = stubs.starts("claude")[-1]["argv"]
        assert isinstance(argv, list)
        assert [word for word in argv if word in {"--model", "opus", "claude"}] == words


@pytest.mark.slow
@pytest.mark.parametrize("session", ["--yolo", "-x", "a b", "a\nb", "", "x" * 300])
async def test_a_conversation_that_is_named_like_an_option_is_not_continued(stubs: Stubs, session: str) -> None:
    """What a program writes may have been written by a model."""
    stubs.make("claude", f"sys.stdin.read()\nenvelope('Tea.', session={session!r})")
    model = CommandModel(CLAUDE, environment=stubs.environment())
    for _ in range(2):
        assert (await model.complete(ask("One."))).request_id is None
    assert not any("--resume" in str(start["argv"]) for start in stubs.starts("claude"))


@pytest.mark.parametrize("name", ["--dangerously-skip-permissions", "-p", " ", "a\nb", "x" * 201])
def test_a_model_that_is_named_like_an_option_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a model is named by a word"):
        CommandModel(CLAUDE, name)
    with pytest.raises(ConfigurationError, match=r"a model is named by a word|does not name a model"):
        chat_model(f"claude-cli:{name}")
