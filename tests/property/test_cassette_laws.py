"""Whatever a script says: what was recorded is given back, in the same order, on any backend."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integration.engine_kit import CountingModel, said, seated
from integration.test_cassette_debates import same

from roundtable import Roundtable
from roundtable.core.base.secrets import Scrubber
from roundtable.errors import AgentError, QuorumLost
from roundtable.prompts import Fence
from roundtable.providers import Cassette, ScriptedModel
from roundtable.providers.cassette.cassette import canonical, difference, request_hash
from roundtable.types import ChatRequest, Message

REPLIES = st.one_of(
    st.sampled_from(["Tea", "Milk", "Water"]).map(said),
    st.text(max_size=20),
    st.just(AgentError("gone")),
)
SCRIPTS = st.dictionaries(
    st.tuples(st.sampled_from(["ada", "bo", "cy"]), st.sampled_from(["1", "2"])), st.lists(REPLIES, max_size=3)
)


def speaker(script):
    """A model that says what the script has for an agent and round, one after the other, then something readable."""
    lines = {key: iter(replies) for key, replies in script.items()}

    def say(request):
        key = (request.metadata["agent"], request.metadata["round"])
        return next(lines.get(key, iter(())), said("Coffee"))

    return CountingModel(say)


async def hold(path, mode, model):
    table = Roundtable(seated(model, "ada", "bo", "cy"), storage="memory://", cassette=Cassette(path, mode))
    try:
        return same(await table.debate("Tea or coffee?", rounds=2))
    except QuorumLost as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=min(15, settings().max_examples), deadline=None)
@given(SCRIPTS)
def test_any_scripted_debate_is_replayed_unchanged(backend, script):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tape.jsonl"
        first = anyio.run(hold, path, "record", speaker(script), backend=backend)
        silent = ScriptedModel([], model="counting")
        assert anyio.run(hold, path, "replay", silent, backend=backend) == first
        assert silent.calls == 0


TEXTS = st.text(max_size=80)


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_requests_that_differ_only_in_their_fences_are_the_same(texts, system):
    def request(fence):
        quoted = (Message(role="user", content=fence.quote(text, label=text)) for text in texts)
        return ChatRequest(model="m", messages=(Message(role="system", content=system + fence.rule), *quoted))

    one, two = (canonical(request(Fence()), Scrubber()) for _ in range(2))
    assert one == two
    assert request_hash(one) == request_hash(two)
    assert difference(one, two) is None


@given(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
def test_requests_that_differ_in_their_words_differ(texts):
    one, two = (
        canonical(ChatRequest(model="m", messages=(Message(role="user", content=f"= {text}"),)), Scrubber())
        for text in texts
    )
    assert request_hash(one) != request_hash(two)
    assert difference(one, two) is not None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_a_difference_is_found_exactly_where_there_is_one(one, two):
    assert (difference(one, two) is None) == (one == two)


@settings(max_examples=min(30, settings().max_examples), deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_equal_calls_are_replayed_in_their_order_whatever_lies_between_them(asked, random):
    async def run(path):
        numbers = itertools.count()
        model = Cassette(path).over(ScriptedModel(lambda _: str(next(numbers))))
        recorded = {}
        for text in asked:
            recorded.setdefault(text, []).append((await model.complete(question(text))).text)
        later = list(asked)
        random.shuffle(later)
        replay = Cassette(path, "replay").over(ScriptedModel([]))
        for text in later:
            assert (await replay.complete(question(text))).text == recorded[text].pop(0)

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(run, Path(folder) / "tape.jsonl")


def question(text):
    return ChatRequest(model="", messages=(Message(role="user", content=text),))
