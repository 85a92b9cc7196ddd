"""The framer gives the same events as a reading of the whole text, for any line ending and any cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.errors import AgentError
from roundtable.http import SseEvent, SseFramer
from roundtable.http.sse import BARE

LINE = st.one_of(
    st.builds(
        lambda name, colon, space, value: name + colon + space + value,
        st.sampled_from(["data", "event", "id", "retry", "unknown", "", "datax", "\ufeffdata"]),
        st.sampled_from([":", ":", ":", ""]),
        st.sampled_from(["", " ", "  "]),
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12),
    ),
    st.just(""),
    st.just(": comment"),
)
TEXTS = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r", "\r\n"])), max_size=30).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)


def reference(body: bytes) -> list[SseEvent]:
    """The standard's algorithm on the whole text, written without a thought for speed."""
    events, data, name = [], [], ""
    *lines, _unfinished = re.split("\r\n|\r|\n", body.decode().removeprefix("\ufeff"))
    for line in lines:
        if not line:
            if data:
                events.append(SseEvent(name or "message", "\n".join(data).encode()))
            data, name = [], ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return events


@given(body=TEXTS, bom=st.booleans(), data=st.data())
def test_any_chunking_gives_the_events_of_the_whole(body, bom, data):
    body = b"\xef\xbb\xbf" + body if bom else body
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    framer = SseFramer()
    events = []
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        events += framer.feed(body[start:end])
    assert events == reference(body)


@given(body=TEXTS)
def test_byte_by_byte_and_at_once_are_the_same(body):
    one, two = SseFramer(), SseFramer()
    assert [event for at in range(len(body)) for event in one.feed(body[at : at + 1])] == two.feed(body)
    assert one.finish() == two.finish()


@given(body=st.binary(max_size=300), sizes=st.lists(st.integers(1, 50), max_size=20))
def test_bytes_of_any_kind_never_break_the_framer(body, sizes):
    framer = SseFramer()
    for size in sizes:
        framer.feed(body[:size])
        body = body[size:]
    framer.feed(body)
    framer.finish()


def test_separators_of_unicode_are_not_line_ends():
    body = "data: a\u2028b\u2029c\x0bd\x85e\n\n".encode()
    assert SseFramer().feed(body) == [SseEvent("message", "a\u2028b\u2029c\x0bd\x85e".encode())]


def test_an_unfinished_last_event_is_returned_separately():
    framer = SseFramer()
    assert framer.feed(b"data: one\n\nevent: last\ndata: tw") == [SseEvent("message", b"one")]
    assert framer.finish() == SseEvent("last", b"tw")
    assert framer.finish() is None


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"data: " + b"x" * 2000 + b"\n\n"], id="one line"),
        pytest.param([b"data: " + b"x" * 60 + b"\n"] * 30, id="many lines"),
        pytest.param([b"x" * 100] * 30, id="a line without an end"),
        pytest.param([b": " + b"x" * 2000], id="a comment without an end"),
    ],
)
def test_an_event_beyond_the_limit_is_refused(chunks):
    framer = SseFramer(max_event_bytes=1000)
    with pytest.raises(AgentError, match="larger than 1000 bytes"):
        list(map(framer.feed, chunks))


def test_many_small_events_have_no_limit_in_all():
    framer = SseFramer(max_event_bytes=100)
    assert sum(len(framer.feed(b"data: " + b"x" * 80 + b"\n\n")) for _ in range(1000)) == 1000


BARE_LINE = st.sampled_from(
    ['{"error": 1}', "{", '  "a": "b: c",', "}", "[1,", "]", "[x]", "words", "data: 1", "event: e", ": c", ""]
)


@given(
    lines=st.lists(st.tuples(BARE_LINE, st.sampled_from(["\n", "\r", "\r\n"])), max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    unfinished=st.booleans(),
)
def test_bare_json_is_returned_in_order_however_it_is_split(lines, cuts, unfinished):
    body = "".join(line + end for line, end in lines).encode()
    body = body.rstrip(b"\r\n") if unfinished else body

    def read(*pieces):
        framer = SseFramer(bare=True)
        events = [event for piece in pieces for event in framer.feed(piece)]
        return [*events, *framer.rest()]

    ends = sorted(min(cut, len(body)) for cut in cuts)
    whole = read(body)
    assert read(*(body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True))) == whole
    plain = SseFramer()
    events = [*plain.feed(body), *filter(None, [plain.finish()])]
    assert [event for event in whole if event.event != BARE] == events
    # Nothing but what stands between an opening line and the next field.
    bare = [event.data.decode() for event in whole if event.event == BARE]
    assert all(text[0] in "{[" for text in bare)
    named = {line for line, _ in lines if line.startswith(("data", "event", ":"))}
    assert not any(line in named for text in bare for line in text.split("\n"))
