"""How long a frame of many turns takes, and how much memory: python benchmarks/bench_frames.py [TURNS]."""

from __future__ import annotations

import sys
import time
import tracemalloc

from roundtable import Results, sync
from roundtable.testing import scripted_agents

AGENTS, ROUNDS = 5, 4
REASONING = "Because of what was said before. " * 12


def results(turns: int) -> Results:
    """Return the results of enough debates, each a copy of one with its own session id."""
    answer = {"position": "Start with one service.", "reasoning": REASONING, "confidence": 0.8}
    agents = scripted_agents({f"agent-{number}": answer for number in range(AGENTS)})
    with sync.Roundtable(agents, storage="memory://", analyzer="declared") as table:
        first = table.debate("Should a five-person startup adopt microservices?", rounds=ROUNDS)
    copies = -(-turns // (AGENTS * ROUNDS))
    return Results(first.model_copy(update={"session_id": f"session-{number}"}) for number in range(copies))


def main() -> None:
    """Measure each frame twice: its time, then its peak of memory."""
    held = results(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    for kind in ("turns", "sessions", "votes", "pairs"):
        begun = time.process_time()
        rows = len(held.frames(kind))  # type: ignore[arg-type]
        seconds = time.process_time() - begun
        tracemalloc.start()
        held.frames(kind)  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"{kind}: {rows:,} rows in {seconds:.2f} s of CPU time, at most {peak:.0f} MB")


if __name__ == "__main__":
    main()
