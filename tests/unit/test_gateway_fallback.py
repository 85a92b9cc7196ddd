"""A fallback asks the next model exactly where another model may help, and says who answered."""

from __future__ import annotations

import anyio
import pytest

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
    ConfigurationError,
    ContextTooLong,
    StorageError,
)
from roundtable.gateway import FallbackModel, Gateway
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import (
    AgentTool,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Message,
    ModelProfile,
    NativeSearch,
    OutputSchema,
    SearchProfile,
    Usage,
)

ASK = ChatRequest(model="", messages=(Message(role="user", content="Tea?"),))


def saying(*replies, **more):
    return ScriptedModel(list(replies), **more)


async def collect(model, request=ASK):
    return [piece async for piece in model.stream(request)]


@pytest.mark.parametrize(
    "error",
    [
        APIRateLimitError(),
        APIAuthError(),
        APINetworkError(),
        APITimeoutError(),
        AgentError("no such model"),
        ContextTooLong(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_next_model_answers_if_another_model_may_help(error, streamed):
    first, second = saying(error, model="one"), saying("Yes.", provider="spare", model="two")
    model = FallbackModel(first, second)
    answer = (await collect(model))[-1] if streamed else await model.complete(ASK)
    assert (answer.text, answer.provider, answer.model) == ("Yes.", "spare", "two")
    assert answer.warnings == (f"scripted:one did not answer: {error.message}",)
    assert second.requests[0].model == "two"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "error", [BudgetExceeded(), ConfigurationError("no"), StorageError(), KeyError("bug")], ids=repr
)
async def test_an_error_that_no_other_model_can_avoid_is_raised_at_once(error, streamed):
    second = saying("Yes.")
    model = FallbackModel(saying(error), second)
    with pytest.raises(type(error)):
        await (collect(model) if streamed else model.complete(ASK))
    assert second.calls == 0


async def test_a_refusal_counts_as_an_answer():
    refusal = ChatResponse(text="I will not.", finish_reason="refusal")
    second = saying("Yes.")
    answer = await FallbackModel(saying(refusal), second).complete(ASK)
    assert (answer.finish_reason, answer.provider, second.calls) == ("refusal", "scripted", 0)
    assert answer.warnings == ()


class Breaks:
    """A model whose stream breaks after some pieces."""

    provider, model, profile = "broken", "b", ModelProfile(streams=True)

    def __init__(self, *pieces, error=None):
        self.pieces, self.error, self.closed, self.prepared = pieces, error, 0, 0

    async def complete(self, request):
        raise self.error or APINetworkError()

    async def stream(self, request):
        try:
            for piece in self.pieces:
                yield ChatDelta(text=piece)
            if self.error is not None:
                raise self.error
        finally:
            self.closed += 1

    async def prepare(self):
        self.prepared += 1
        if self.error is not None:
            raise self.error

    async def aclose(self):
        self.closed += 1
        if self.error is not None:
            raise self.error


async def test_a_stream_never_changes_its_model_after_a_shown_piece():
    broken, second = Breaks("Ye", error=APINetworkError("gone")), saying("No.")
    seen = []

    async def read():
        async for piece in FallbackModel(broken, second).stream(ASK):
            seen.append(piece.text)  # noqa: PERF401  (what came before the error counts)

    with pytest.raises(APINetworkError, match="gone"):
        await read()
    assert (seen, second.calls, broken.closed) == (["Ye"], 0, 1)


@pytest.mark.parametrize(
    ("shown", "error"), [([""], None), ([""], APITimeoutError()), ([], None)], ids=["end", "error", "none"]
)
async def test_a_stream_that_showed_nothing_moves_to_the_next_model(shown, error):
    broken = Breaks(*shown, error=error)
    pieces = await collect(FallbackModel(broken, saying("Yes.", chunks=2)))
    assert [piece.text for piece in pieces if piece.text] == ["Ye", "s.", "Yes."]
    assert broken.closed == 1


async def test_closing_a_stream_early_closes_the_one_below():
    broken = Breaks("a", "b")
    pieces = FallbackModel(broken).stream(ASK)
    assert (await anext(pieces)).text == "a"
    await pieces.aclose()
    assert broken.closed == 1


async def test_an_end_without_response_is_an_error():
    with pytest.raises(APINetworkError, match="without its response"):
        await collect(FallbackModel(Breaks("a")))


async def test_if_no_model_answers_every_cause_is_named():
    slow = APIRateLimitError("slow down", retry_after_s=7)
    slow.usage = Usage(calls=1, input_tokens=3)
    model = FallbackModel(saying(slow, model="one"), saying(APIAuthError("bad key"), model="two"))
    with pytest.raises(APIAuthError, match=r"none of 2 .*one: slow down; .*two: bad key") as failed:
        await model.complete(ASK)
    error = failed.value
    assert (error.retryable, error.retry_after_s, error.usage) == (True, 7, slow.usage)
    assert [cause["model"] for cause in error.details["tried"]] == ["one", "two"]
    alone = APIRateLimitError("alone")
    with pytest.raises(APIRateLimitError) as failed:
        await FallbackModel(saying(alone)).complete(ASK)
    assert failed.value is alone


async def test_the_usage_of_failed_tries_is_added():
    lost = APITimeoutError()
    lost.usage = Usage(calls=1, input_tokens=5)
    answer = await FallbackModel(saying(lost), saying(ChatResponse(text="Yes.", usage=Usage(calls=1)))).complete(ASK)
    assert answer.usage == Usage(calls=2, input_tokens=5)
    cut = APINetworkError()
    with pytest.raises(APINetworkError) as failed:
        await collect(FallbackModel(saying(lost), Breaks("a", error=cut)))
    assert failed.value.usage == lost.usage


async def test_a_request_is_adapted_to_each_model():
    plain, strict = ModelProfile(), ModelProfile(structured_output=True)
    models = [saying(APINetworkError(), model=name, profile=profile) for name, profile in [("a", strict), ("b", plain)]]
    last = saying("Yes.", model="c", profile=strict)
    request = ASK.model_copy(update={"model": "mine", "output_schema": OutputSchema(name="s", definition={})})
    await FallbackModel(*models, last).complete(request)
    sent = [model.requests[0] for model in (*models, last)]
    assert [one.model for one in sent] == ["mine", "b", "c"]
    assert [one.output_schema is None for one in sent] == [False, True, False]


async def test_a_built_in_search_that_cannot_respect_its_domains_is_switched_off():
    sonar = ModelProfile(search=SearchProfile(built_in=True, takes=("allowed_domains",), most_domains=1))
    first, last = saying(APINetworkError()), saying("Yes.", model="sonar", profile=sonar)
    asked = NativeSearch(allowed_domains=("a.example", "b.example"))
    response = await FallbackModel(first, last).complete(ASK.model_copy(update={"search": asked}))
    assert last.requests[0].search is False
    assert "without a search" in response.warnings[-1]


def test_prompts_are_made_for_the_first_model_and_the_smallest_window():
    first = ScriptedModel([], profile=ModelProfile(prompt_style="compact", context_tokens=9000), model="one")
    assert FallbackModel(first, saying()).profile is first.profile
    small = ScriptedModel([], profile=ModelProfile(context_tokens=4000))
    assert FallbackModel(first, small).profile == ModelProfile(prompt_style="compact", context_tokens=4000)
    assert (FallbackModel(first).provider, FallbackModel(first).model) == ("scripted", "one")
    assert "one" in repr(FallbackModel(first))


def test_chains_are_flat_and_never_empty():
    one, two, three = saying(), saying(), saying()
    assert FallbackModel(FallbackModel(one, two), three).models == (one, two, three)
    with pytest.raises(ConfigurationError, match="at least one"):
        FallbackModel()


async def test_the_listener_is_asked_before_each_try_with_or_without_a_guard():
    asked = []

    async def before():
        asked.append(1)
        if len(asked) > 2:
            raise KeyError("stop")

    guarded = Gateway().guard(saying(APIAuthError(), "late"))
    model = FallbackModel(guarded, saying(APIAuthError(), "late"), saying("Yes.")).asking(before)
    with pytest.raises(KeyError, match="stop"):
        await model.with_inner_models(model.models).complete(ASK)
    assert len(asked) == 3


async def test_members_are_prepared_and_closed_and_an_unavailable_one_is_skipped():
    good, bad = Breaks(), Breaks(error=ConfigurationError("no weights"))
    await FallbackModel(bad, good, saying()).prepare()
    assert (good.prepared, bad.prepared) == (1, 1)
    with pytest.raises(ConfigurationError, match="no weights"):
        await FallbackModel(bad, bad).prepare()
    with pytest.raises(ConfigurationError, match="no weights"):
        await FallbackModel(bad, good).aclose()
    assert good.closed == 1


async def test_a_cancellation_ends_the_call_and_asks_no_other_model():
    slow, second = saying(Delay(30, "x")), saying("Yes.")
    with anyio.move_on_after(0.05) as scope:
        await FallbackModel(slow, second).complete(ASK)
    assert scope.cancelled_caught
    assert second.calls == 0


@pytest.mark.parametrize("models", [1, 2])
async def test_a_stream_changes_its_model_after_pieces_if_the_listener_is_told_that_they_are_void(models):
    told = []

    async def before():
        told.append("asked")

    async def void(notice):
        told.append((notice.attempt, notice.shown, notice.error.code))

    chain = FallbackModel(Breaks("Ye", error=APIAuthError("no")), saying("No.", model="spare"))
    if models == 1:
        chain = FallbackModel(Breaks("Ye", error=APIAuthError("no")))
    stream = chain.with_inner_models(chain.models).asking(before, void).stream(ASK)
    if models == 1:
        with pytest.raises(APIAuthError):
            [piece async for piece in stream]
        assert told == ["asked"]
        return
    pieces = [piece async for piece in stream]
    assert (pieces[0].text, pieces[-1].text, pieces[-1].model) == ("Ye", "No.", "spare")
    assert told == ["asked", (2, True, "API_AUTH_FAILED"), "asked"]


@pytest.mark.parametrize("wrong", [("openai:x", "b"), (None,), (saying("Yes."), 5)])
def test_a_value_that_is_not_a_model_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="takes models, not") as caught:
        FallbackModel(*wrong)
    assert "table.chat_model" in caught.value.hint


class Noting(ScriptedModel):
    """A model that keeps its requests, and calls no tools."""

    def __init__(self, *replies):
        super().__init__(list(replies), model="spare", profile=ModelProfile(calls_tools=False))
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        return await super().complete(request)


async def test_a_model_without_tool_support_is_offered_no_tools_and_the_answer_says_so():
    spare = Noting("No.")
    tool = AgentTool(name="look", description="Looks.")
    asked = ASK.model_copy(update={"tools": (tool,)})
    response = await FallbackModel(saying(APINetworkError("gone")), spare).complete(asked)
    assert spare.requests[0].tools == ()
    assert "the answer was given without tools" in response.warnings


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_cost_of_failed_tries_is_kept_if_the_next_one_may_not_start(streamed):
    failure = APINetworkError("gone")
    failure.usage = Usage(calls=1, input_tokens=100)
    tries = []

    async def before():
        tries.append(None)
        if len(tries) == 2:
            raise BudgetExceeded("spent")

    chain = FallbackModel(saying(failure), saying("Yes.")).asking(before)
    with pytest.raises(BudgetExceeded) as caught:
        await (collect(chain) if streamed else chain.complete(ASK))
    assert caught.value.usage == failure.usage


async def test_a_model_that_cannot_combine_search_and_tools_searches_if_it_has_no_tools():
    spare = Noting("No.")
    spare.profile = ModelProfile(calls_tools=False, search_alone=True, search=SearchProfile())
    tool = AgentTool(name="look", description="Looks.")
    asked = ASK.model_copy(update={"tools": (tool,), "search": NativeSearch()})
    await FallbackModel(saying(APINetworkError("gone")), spare).complete(asked)
    assert (spare.requests[0].tools, spare.requests[0].search) == ((), NativeSearch())


async def test_a_halt_before_the_call_is_not_a_failure_of_the_model():
    calls = 0

    async def halted():
        nonlocal calls
        calls += 1
        raise AgentError("asked to stop", code="AGENT_HALTED")

    first, last = saying("Yes."), saying("Yes.", model="spare")
    with pytest.raises(AgentError, match=r"^asked to stop$"):
        await FallbackModel(first, last).asking(halted).complete(ASK)
    assert (calls, first.requests, last.requests) == (1, [], [])
