"""What a stream adds up to is what the plain answer says."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from roundtable.providers import OpenAIChat

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6)
CALLS = st.lists(
    st.tuples(
        st.text("abcd", min_size=1),
        st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6), max_size=3),
    ),
    max_size=3,
)
USAGE = st.fixed_dictionaries(
    {"prompt_tokens": st.integers(0, 10**6), "completion_tokens": st.integers(0, 10**6)},
    optional={"prompt_tokens_details": st.fixed_dictionaries({"cached_tokens": st.integers(0, 9)})},
)
FINISH = st.sampled_from(["stop", "length", "tool_calls", "content_filter"])
END = st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"])


def plain(words, refused, calls, usage, finish):
    message = {
        "role": "assistant",
        "content": "".join(words) or None,
        "refusal": "".join(refused) or None,
        "tool_calls": [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(calls)
        ],
    }
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage, "model": "m"}


def pieces(words, refused, calls, usage, finish):
    yield {"role": "assistant", "content": ""}
    for word in words:
        yield {"content": word}
    for word in refused:
        yield {"refusal": word}
    for place, (name, arguments) in enumerate(calls):
        yield {"tool_calls": [{"index": place, "id": f"c{place}", "function": {"name": name, "arguments": ""}}]}
        text = json.dumps(arguments)
        for half in (text[:3], text[3:]):
            yield {"tool_calls": [{"index": place, "function": {"arguments": half}}]}


def stream(*answer, end):
    events = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "model": "m"} for delta in pieces(*answer)
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": answer[-1]}]})
    events.append({"choices": [], "usage": answer[-2]})
    return "".join(f"data: {text}{end}" for text in [*map(json.dumps, events), "[DONE]"]).encode()


@given(
    words=WORDS, refused=WORDS, calls=CALLS, usage=USAGE, finish=FINISH, end=END, openai=st.booleans(), data=st.data()
)
def test_a_stream_gives_the_same_answer_as_a_plain_call(words, refused, calls, usage, finish, end, openai, data):
    dialect = OpenAIChat("acme", openai=openai)
    if not ("".join(words) + "".join(refused)).strip() and not calls:
        finish = "length"
    answer = (words, refused, calls, usage, finish)
    body = stream(*answer, end=end)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    decoder, text = dialect.stream_decoder({}), ""
    for start, stop in zip([0, *cuts], [*cuts, len(body)], strict=True):
        text += "".join(delta.text for delta in decoder.feed(body[start:stop]))
    whole = dialect.parse_response(200, {}, json.dumps(plain(*answer)).encode())
    assert decoder.finish() == whole
    assert text == whole.text
