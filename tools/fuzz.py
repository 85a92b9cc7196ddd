"""Feed hostile bytes to the framers and to every dialect's parsers, guided by coverage: `python tools/fuzz.py`.

Each target runs in a process of its own for `--seconds` (20), and starts from small answers of each wire, the recorded
ones too where $ROUNDTABLE_SHARED_DATA names their folder. It exits 1 when a target broke its law, and says which bytes
did it; `--replay FILE` runs a target on them again. `--seeds` runs the targets on what they start from, and needs no
atheris.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundtable.providers import Dialect

Target = Callable[[bytes], None]

WIRES = {
    "anthropic": "anthropic.messages",
    "openai": "openai.responses",
    "openai-chat": "openai.chat",
    "google": "google.generate_content",
    "perplexity": "perplexity.chat",
}
"""Dialects, and what their recordings are filed under."""
LARGEST_SEED = 6000
SEEDS_OF_A_WIRE = 120
PREFIX = b"\0\0\0\0"
"""The first bytes of a stream say how it is cut."""

TEXT = {"type": "text", "text": "Tea."}
CHOICE = {"index": 0, "message": {"content": "Tea."}, "delta": {"content": "Tea."}, "finish_reason": "stop"}
CANDIDATE = {"content": {"parts": [{"text": "Tea."}]}, "finishReason": "STOP"}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Tea."}]}
SMALL: dict[str, list[Any]] = {
    "anthropic": [
        {"type": "message", "content": [TEXT], "stop_reason": "end_turn"},
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "!"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ],
    "openai": [
        {"status": "completed", "output": [MESSAGE]},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Tea."},
        {"type": "response.completed", "response": {"status": "completed", "output": [MESSAGE]}},
    ],
    "openai-chat": [{"choices": [CHOICE]}],
    "google": [{"candidates": [CANDIDATE]}],
    "perplexity": [{"choices": [CHOICE], "search_results": [{"url": "https://a.example", "title": "A"}]}],
}
"""Per dialect a whole answer, then the events of a stream where they have a form of their own."""


def targets() -> dict[str, Target]:
    """Return the targets by name; this loads the library."""
    builtin = importlib.import_module("roundtable.providers.builtin")
    found: dict[str, Target] = {"sse": sse, "json-array": json_array}
    for name in WIRES:
        dialect = builtin.BUILTIN_SPECS[name].dialect
        found |= {
            f"{name}-answer": partial(answer, dialect),
            f"{name}-stream": partial(stream, dialect, is_said_twice=name == "openai"),
        }
    return found


def cut(data: bytes) -> Iterator[bytes]:
    """Cut what follows the prefix at places that the prefix chooses."""
    chance, body, place = random.Random(data[:4]), data[4:], 0
    while place < len(body):
        end = place + chance.choice((1, 3, 17, 400))
        yield body[place:end]
        place = end


def sse(data: bytes) -> None:
    """A stream of events is cut into the same events wherever the bytes are cut."""
    framer = importlib.import_module("roundtable.http.sse").SseFramer
    one, other = framer(), framer()
    pieces = [event for chunk in cut(data) for event in one.feed(chunk)]
    assert pieces == other.feed(data[4:])
    assert one.finish() == other.finish()


def json_array(data: bytes) -> None:
    """The items of an array are the same wherever the bytes are cut, and fail alike."""
    framer = importlib.import_module("roundtable.http.json_array").JsonArrayFramer

    def framed(chunks: list[bytes]) -> object:
        one = framer()
        return [item for chunk in chunks for item in one.feed(chunk)], one.is_closed

    assert outcome(lambda: framed(list(cut(data)))) == outcome(lambda: framed([data[4:]]))


def answer(dialect: Dialect, data: bytes) -> None:
    """Whatever comes instead of an answer, there is an answer or an error of the library, and both can be stored."""
    errors = importlib.import_module("roundtable.errors")
    for status in (400, 429, 529):
        error = dialect.parse_error(status, {}, data)
        assert isinstance(error, errors.RoundtableError)
        json.dumps(error.to_dict())
    outcome(lambda: dialect.parse_response(200, {}, data).model_dump_json())


_END = b"\n\n"


def stream(dialect: Dialect, data: bytes, *, is_said_twice: bool) -> None:
    """A stream says the same wherever it is cut; its deltas say together what its response says."""

    def decoded(chunks: list[bytes]) -> str:
        decoder = dialect.stream_decoder({})
        deltas = [delta for chunk in chunks for delta in decoder.feed(chunk)]
        response = decoder.finish()
        text = "".join(delta.text for delta in deltas)
        if text != response.text and chunks[-1] != _END:
            # The last event may lack its empty line. It counts all the same, but its delta comes only with that line.
            assert json.loads(decoded([*chunks, _END])) == json.loads(response.model_dump_json())
        else:
            # Responses says all of it again at the end, and may say it otherwise.
            assert not deltas or text == response.text or is_said_twice, (text, response.text)
        return str(response.model_dump_json())

    assert outcome(lambda: decoded(list(cut(data)))) == outcome(lambda: decoded([data[4:]]))


def outcome(act: Callable[[], object]) -> object:
    """Return the result of an act, or the class of the library's error that it raises; others pass through."""
    errors = importlib.import_module("roundtable.errors")
    try:
        return act()
    except errors.RoundtableError as error:
        return type(error).__name__


def seeds(name: str) -> Iterator[bytes]:
    """Yield the inputs that a target starts from."""
    if name == "sse":
        yield from (PREFIX + body for body in (b"data: a\n\n", b": c\r\ndata:b\r\n\r\n", b"event: e\rdata\rid: 1\r\r"))
        return
    if name == "json-array":
        yield from (PREFIX + body for body in (b'[{"a": "}"}, [1]]', b" [\n]", b'[{"a": 1},'))
        return
    wire, _, kind = name.rpartition("-")
    whole, *events = SMALL[wire]
    if kind == "answer":
        yield json.dumps(whole).encode()
        yield json.dumps({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}).encode()
    else:
        lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events or [whole]]
        yield PREFIX + b"".join([*lines, b"data: [DONE]\n\n"])
        yield PREFIX + json.dumps(whole).encode()
    yield from recorded(WIRES[wire], prefix=b"" if kind == "answer" else PREFIX, streamed=kind == "stream")


def recorded(api: str, *, prefix: bytes, streamed: bool) -> Iterator[bytes]:
    """Yield small recorded answers of one wire, if the recordings exist."""
    path = Path(os.environ.get("ROUNDTABLE_SHARED_DATA", "")) / "wire" / "dev.jsonl"
    left = SEEDS_OF_A_WIRE
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        record = json.loads(line)
        body = record["response"]["body"].encode()
        if record["api"] == api and bool(record["stream"]) == streamed and len(body) <= LARGEST_SEED and left:
            left -= 1
            yield prefix + body


def fuzz(name: str, seconds: int, found: Path) -> None:
    """Fuzz one target in this process, which ends with it."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["roundtable"]):
        target = targets()[name]
        for module in ("http.sse", "http.json_array"):
            importlib.import_module(f"roundtable.{module}")
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds(name)):
            (Path(corpus) / f"seed{number}").write_bytes(seed)
        limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", f"-max_len={2 * LARGEST_SEED}"]
        atheris.Setup([sys.argv[0], *limits, "-print_final_stats=1", f"-artifact_prefix={found}/", corpus], target)
        atheris.Fuzz()


def fuzz_all(names: list[str], seconds: int) -> int:
    """Fuzz targets one after the other; give how many broke their law."""
    found = Path(tempfile.mkdtemp(prefix="fuzz-"))
    broken = 0
    for name in names:
        command = [sys.executable, __file__, name, "--here", str(found), "--seconds", str(seconds)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds + 120)
        runs = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line), "?")
        print(f"{name}: {runs} inputs in {seconds} s, {'held' if done.returncode == 0 else 'BROKEN'}", flush=True)
        if done.returncode:
            broken += 1
            print(done.stdout[-6000:], done.stderr[-3000:], f"the bytes are under {found}", sep="\n")
    return broken


def main() -> int:
    """Do what the command line says."""
    known = ["sse", "json-array", *(f"{wire}-{kind}" for wire in WIRES for kind in ("answer", "stream"))]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="TARGET", help=f"of {', '.join(known)}")
    parser.add_argument("--seconds", type=int, default=20, help="how long each target is fuzzed")
    parser.add_argument("--seeds", action="store_true", help="run the targets on their seeds alone")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run the targets on these bytes")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names: list[str] = given.names or known
    if given.here is not None:
        fuzz(names[0], given.seconds, given.here)
    elif given.seeds or given.replay:
        for name, target in targets().items():
            bodies = [given.replay.read_bytes()] if given.replay else seeds(name)
            print(f"{name}: {sum(1 for body in bodies if name in names and target(body) is None)} inputs held")
    else:
        return min(1, fuzz_all(names, given.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
