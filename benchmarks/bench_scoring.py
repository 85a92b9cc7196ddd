"""How fast ballots are counted: `python benchmarks/bench_scoring.py`, beside the targets. Printed, never asserted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from roundtable.metrics import krippendorff_alpha
from roundtable.scoring import Ballot, OpenAnswer, Said, decide, find_camps, schulze_winners
from roundtable.scoring.camps import SameOrDifferent

OPTIONS = ("a", "b", "c", "d")
VOTERS = 100_000
TARGET_BALLOTS_S = 100_000
TARGET_SCHULZE_MS = 5.0
TARGET_CAMPS_US = 200.0
PLACES = ("Lisbon", "Porto", "Faro", "Braga in the north", "the city of Coimbra")


def best_s(work: Callable[[], object], tries: int = 5) -> float:
    """Return the shortest of some runs, in seconds of this process's time."""
    times: list[float] = []
    for _ in range(tries):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def answers_to_compare(texts: Sequence[str]) -> list[OpenAnswer]:
    """Return answers of agents that each call the others different."""
    declared: tuple[tuple[Said, SameOrDifferent], ...] = tuple((Said(text), "different") for text in texts)
    return [OpenAnswer(text, Said(text), declared) for text in texts]


def main() -> None:
    """Measure and print."""
    draw = random.Random(0)
    ballots: dict[str, list[Ballot]] = {
        "choices": [draw.choice(OPTIONS) for _ in range(VOTERS)],
        "rankings": [draw.sample(OPTIONS, len(OPTIONS)) for _ in range(VOTERS)],
    }
    print(f"{'rule':<14}{'ballots':<12}{'ballots/s':>14}   target: {TARGET_BALLOTS_S:,.0f}")
    for rule in ("plurality", "majority", "borda", "irv", "schulze", "ranked-pairs", "kemeny-young"):
        for kind, given in ballots.items():
            speed = VOTERS / best_s(lambda rule=rule, given=given: decide(given, rule=rule))
            print(f"{rule:<14}{kind:<12}{speed:>14,.0f}")
    size = 30
    matrix = [[0] * size for _ in range(size)]
    for one in range(size):
        for other in range(one):
            matrix[one][other] = draw.randint(0, 1001)
            matrix[other][one] = 1001 - matrix[one][other]
    schulze_ms = best_s(lambda: schulze_winners(matrix), 20) * 1000
    print(f"Schulze of {size} options from the pairwise matrix: {schulze_ms:.2f} ms, target {TARGET_SCHULZE_MS:g}")
    single_us = best_s(lambda: [decide(["a", "b", "a"]) for _ in range(200)]) / 200 * 1e6
    print(f"one plurality decision of 3 ballots: {single_us:.0f} us")
    camps_us = best_s(lambda: [find_camps(answers_to_compare(PLACES)) for _ in range(500)]) / 500 * 1e6
    print(f"camps of 5 open answers that all compared: {camps_us:.0f} us, target {TARGET_CAMPS_US:g}")
    crowd = [f"{place} {number}" for place in PLACES for number in range(20)]
    camps_ms = best_s(lambda: find_camps(answers_to_compare(crowd)), 3) * 1000
    print(f"camps of 100 open answers that all compared: {camps_ms:.0f} ms")
    ratings = [[draw.randint(1, 5) for _ in range(1000)] for _ in range(5)]
    alpha_ms = best_s(lambda: krippendorff_alpha(ratings, level="ordinal"), 3) * 1000
    print(f"exact ordinal alpha of 5 raters on 1,000 units: {alpha_ms:.0f} ms")


if __name__ == "__main__":
    main()
