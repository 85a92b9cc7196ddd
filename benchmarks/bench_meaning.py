"""What comparing answers by meaning costs, and what it makes of recorded answers: `python benchmarks/bench_meaning.py`.

Prints processor time, tokens of prompts, ten debates of the embedded model on the first question of the README, and, if
$ROUNDTABLE_SHARED_DATA names the folder of the recorded data, how many rounds and pairs of it are told right.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import anyio

import roundtable as rt
from roundtable.analysis import AnalyzerChain, DeclaredAnalyzer
from roundtable.prompts import estimate_tokens
from roundtable.providers import LocalProvider, ScriptedModel
from roundtable.scoring import OpenAnswer, Said, find_camps
from roundtable.scoring.camps import SameOrDifferent
from roundtable.settings import Settings
from roundtable.sync import Roundtable
from roundtable.types import AgentConfig, AgentResponse, ChatRequest, Message, ModelProfile, ProviderConfig

PLACES: Final = ("Lisbon", "Porto", "Faro", "Braga in the north", "the city of Coimbra")
NAMES: Final = ("Ada", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou", "Max")
QUESTION: Final = "Should a five-person startup adopt microservices?"
TARGET_US: Final = 200
TARGET_TOKENS: Final = 110
FIELDS: Final = re.compile(r'- "(?:bottom_line|compared)"|\| Bottom line:')
"""Lines of a prompt that are there because answers are compared."""


def best_us(work: Callable[[], object], tries: int = 5, times: int = 500) -> float:
    """Return the shortest of some runs, in microseconds of this process's time for each call."""
    found = []
    for _ in range(tries):
        began = time.process_time()
        for _ in range(times):
            work()
        found.append((time.process_time() - began) / times * 1e6)
    return min(found)


def print_cpu() -> None:
    """Print the time that five answers take to compare."""
    answers = [OpenAnswer(place, Said(place)) for place in PLACES]
    verdict: SameOrDifferent = "different"
    declared = [OpenAnswer(place, Said(place), tuple((Said(other), verdict) for other in PLACES)) for place in PLACES]
    pairs: dict[tuple[str, str], SameOrDifferent] = {
        (one, other): verdict for place, one in enumerate(PLACES) for other in PLACES[:place]
    }
    print(f"camps of five open answers, us of processor time, target {TARGET_US}")
    print(f"  not compared          {best_us(lambda: find_camps(answers)):>8.0f}")
    print(f"  declared by authors   {best_us(lambda: find_camps(declared)):>8.0f}")
    print(f"  declared, and read    {best_us(lambda: find_camps(declared, pairs)):>8.0f}")


def second_round(speakers: int) -> ChatRequest:
    """Return a request of the second round of a debate among some agents, as it is sent."""

    def reply(request: ChatRequest) -> dict[str, Any]:
        place = int(request.metadata["slot"])
        return {
            "position": f"I would go for {PLACES[place % 5]}, since it suits most of us and is easy to reach by train.",
            "reasoning": "The harbour, the price of a room and the weather in May speak for it. " * 4,
            "bottom_line": PLACES[place % 5],
            "confidence": 0.7,
            "stance": None,
        }

    model = ScriptedModel(reply, profile=ModelProfile(context_tokens=100_000, structured_output=True))
    agents = [
        rt.BaseAgent(AgentConfig(id=name.lower(), name=name, provider="scripted"), model) for name in NAMES[:speakers]
    ]
    rt.debate_sync("Where shall we meet?", agents=agents, rounds=2, storage="memory://")
    return next(request for request in model.requests if request.metadata["round"] == "2")


def without_fields(text: str) -> str:
    """Return a prompt as it would be if answers were not compared."""
    return "\n".join(line for line in text.split("\n") if not FIELDS.match(line))


async def tokens_of(texts: Sequence[str]) -> list[int]:
    """Return how many tokens the embedded model's own tokenizer makes of some prompts."""
    model = LocalProvider(context_tokens=8192, max_tokens=1)(None, ProviderConfig(profile="full"), Settings.from_env())
    found = []
    for text in texts:
        answer = await model.complete(ChatRequest(messages=(Message(role="user", content=text),), max_tokens=1))
        found.append(answer.usage.input_tokens)
    await model.aclose()
    return found


def print_tokens(*, embedded: bool) -> None:
    """Print how many tokens the two fields add to a prompt of the second round."""
    print(f"\ntokens that the two fields add to a prompt of the second round, target {TARGET_TOKENS} a turn")
    print(f"{'speakers':>8}{'whole':>8}{'added':>8}{'form':>8}{'quoted lines':>14}{'by the model':>14}{'added':>8}")
    for speakers in (2, 5, 13):
        request = second_round(speakers)
        text = "\n".join(message.content for message in request.messages)
        bare = without_fields(text)
        quoted = "\n".join(line for line in text.split("\n") if not line.startswith("| Bottom line:"))
        whole, added = estimate_tokens(text), estimate_tokens(text) - estimate_tokens(bare)
        form = estimate_tokens(quoted) - estimate_tokens(bare)
        line = f"{speakers:>8}{whole:>8}{added:>8}{form:>8}{added - form:>14}"
        if embedded:
            counts = anyio.run(tokens_of, (text, bare))
            line += f"{counts[0]:>14}{counts[0] - counts[1]:>8}"
        print(line)


def print_debates(times: int) -> None:
    """Print what debates of the embedded model on the first question of the README end with."""
    print(f"\n{QUESTION} Two rounds, the embedded model, {times} seeds")
    for seed in range(times):
        began, cpu = time.monotonic(), time.process_time()
        with Roundtable(storage="memory://", seed=seed) as table:
            result = table.debate(QUESTION, rounds=2)
        assert result.consensus is not None
        spent = f"{time.process_time() - cpu:.0f} s of CPU in {time.monotonic() - began:.0f} s"
        consensus = result.consensus
        print(f"seed {seed}: {consensus.level_in_words} ({consensus.method}), answer {result.answer!r}, {spent}")
        for answer in result.rounds[-1].responses:
            print(f"  {answer.agent_name:<14}{answer.bottom_line!r:<36}{answer.position}")


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def value_of(answer: str) -> Fraction | str:
    """Return what an extracted answer means: a number, else its letter."""
    try:
        return Fraction(answer.replace(",", "").strip())
    except ValueError:
        return answer.strip().casefold()


def hold(answers: Sequence[str], *, short: bool) -> list[AgentResponse]:
    """Return positions with some texts; short ones stand in the bottom line."""
    return [
        AgentResponse(agent_id=str(n), agent_name=str(n), position=text, bottom_line=text if short else None)
        for n, text in enumerate(answers)
    ]


def print_recorded(data: Path) -> None:
    """Print how recorded answers and labelled pairs are told."""
    counts = Counter[str]()
    for debate in lines(data / "transcripts" / "dev.jsonl"):
        for answers in debate.get("extracted_answers", ()):
            given = [answer for answer in answers if answer]
            if len(given) < 2:
                continue
            agrees = DeclaredAnalyzer().analyze(hold(given, short=True)).agreement_level == 1
            kind = "unanimous" if len({value_of(answer) for answer in given}) == 1 else "divided"
            counts[kind] += 1
            counts[f"{kind}, called unanimous"] += agrees
    print("\nrecorded rounds, with the extracted answers as bottom lines")
    for kind in ("unanimous", "divided"):
        print(f"  {kind:<12}{counts[kind]:>6} rounds, {counts[f'{kind}, called unanimous']:>5} called unanimous")
    pairs = anyio.run(judged_pairs, data / "pairs" / "dev.jsonl")
    print("labelled pairs of statements, by the default chain without a model")
    for label, (number, joined, apart) in sorted(pairs.items()):
        print(f"  {label:<20}{number:>6} pairs, {joined:>4} joined, {apart:>4} told apart")


async def judged_pairs(path: Path) -> dict[str, tuple[int, int, int]]:
    """Return for each label how many pairs there are, how many are joined and how many told apart."""
    chain, found = AnalyzerChain([]), dict[str, tuple[int, int, int]]()
    for pair in lines(path):
        said = hold((pair["text_a"], pair["text_b"]), short=False)
        consensus = (await chain.measure(said, pair.get("topic") or "?")).consensus
        number, joined, apart = found.get(pair["label"], (0, 0, 0))
        is_joined = len(consensus.clusters) == 1
        found[pair["label"]] = (number + 1, joined + is_joined, apart + (consensus.agreement_at_most == 0))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What comparing answers by meaning costs, and what it tells.")
    parser.add_argument("--debates", type=int, default=10, help="debates of the embedded model; 0 for none")
    chosen = parser.parse_args()
    embedded = LocalProvider.is_installed() and chosen.debates > 0
    print_cpu()
    print_tokens(embedded=embedded)
    if embedded:
        print_debates(chosen.debates)
    if folder := os.environ.get("ROUNDTABLE_SHARED_DATA"):
        print_recorded(Path(folder))


if __name__ == "__main__":
    main()
