"""What is cut short, corrupt or too large is found out, in bounded memory."""

from __future__ import annotations

import gzip
import os

import pytest

from roundtable.errors import AgentError, APINetworkError
from roundtable.http.client import BodyDecoder, HttpLimits

LIMITS = HttpLimits(body_bytes=3_000_000, ratio=200, ratio_from_bytes=100_000)
TEXT = b"".join(b"line %d\n" % number for number in range(5000))


def decode(coding, *chunks, limits=LIMITS):
    decoder = BodyDecoder(coding, limits, "acme")
    body = b"".join(piece for chunk in chunks for piece in decoder.feed(chunk))
    decoder.finish()
    return body


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_without_an_encoding_the_bytes_are_unchanged(coding):
    assert decode(coding, b"one", b"", b"two") == b"onetwo"


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_gzip_is_decompressed_however_it_is_split(coding, size):
    packed = gzip.compress(TEXT)
    assert decode(coding, *(packed[at : at + size] for at in range(0, len(packed), size))) == TEXT


def test_several_members_in_one_body_belong_together():
    assert decode("gzip", gzip.compress(b"one") + gzip.compress(b"two"), gzip.compress(b"three")) == b"onetwothree"


def test_an_empty_body_needs_no_decoding():
    assert decode("gzip") == b""


@pytest.mark.parametrize("missing", [1, 8, 20])
def test_a_truncated_body_is_an_error_and_not_a_shorter_answer(missing):
    with pytest.raises(APINetworkError, match="cut short") as caught:
        decode("gzip", gzip.compress(TEXT)[:-missing])
    assert caught.value.retryable
    assert caught.value.provider == "acme"


@pytest.mark.parametrize(
    "body", [b"not gzip at all", gzip.compress(TEXT, mtime=0)[:200] + b"\x00" * 50, gzip.compress(b"a", mtime=0) + b"x"]
)
def test_corrupt_bytes_are_an_error(body):
    with pytest.raises(APINetworkError):
        decode("gzip", body)


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip", "x" * 500])
def test_an_encoding_that_was_not_requested_is_an_error(coding):
    with pytest.raises(APINetworkError, match="not requested") as caught:
        BodyDecoder(coding, LIMITS)
    assert len(str(caught.value)) < 200


def test_a_compression_bomb_is_refused_after_a_bounded_part_of_it():
    bomb = gzip.compress(b"\0" * 50_000_000)
    decoder = BodyDecoder("gzip", LIMITS)
    sizes = []
    with pytest.raises(AgentError, match="too large") as caught:
        sizes.extend(len(piece) for piece in decoder.feed(bomb))
    assert sum(sizes) <= LIMITS.body_bytes
    assert max(sizes) <= 2**18
    assert not caught.value.retryable


def test_a_body_with_a_suspicious_compression_ratio_is_refused_below_the_limit():
    with pytest.raises(AgentError, match="too large"):
        decode("gzip", gzip.compress(b"\0" * 1_000_000))
    assert decode("gzip", gzip.compress(b"\0" * 99_000)) == b"\0" * 99_000


def test_a_large_plain_body_is_refused():
    noise = os.urandom(1_000_000)
    with pytest.raises(AgentError, match="too large"):
        decode("", noise, noise, noise, b"x")
