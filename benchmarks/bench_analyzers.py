"""How well analyzers without a model tell agreement from disagreement, and what debate did in recorded transcripts.

    python benchmarks/bench_analyzers.py ../shared/data

Reads `pairs/dev.jsonl` (labelled pairs of statements) and `transcripts/dev.jsonl` (recorded debates) of the folder and
prints Markdown tables. Nothing is fitted to the data: the threshold of the accuracy is 0.5 for every method.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from pathlib import Path

from roundtable.analysis import ConsensusAnalyzer, LexicalScorer
from roundtable.metrics import conformity, transitions
from roundtable.scoring import casefold
from roundtable.types import AgentResponse

SCORER = LexicalScorer()


def hold(one: str, other: str) -> list[AgentResponse]:
    return [AgentResponse(agent_id=name, agent_name=name, position=text) for name, text in (("a", one), ("b", other))]


def jaccard(one: str, other: str) -> float:
    mine, yours = set(casefold(one).split()), set(casefold(other).split())
    return len(mine & yours) / len(mine | yours) if mine | yours else 0.0


METHODS: dict[str, Callable[[str, str], float]] = {
    "majority class": lambda _one, _other: 0.0,
    "basic": lambda one, other: ConsensusAnalyzer().analyze(hold(one, other)).agreement_level,
    "Jaccard of words": jaccard,
    "difflib": lambda one, other: SequenceMatcher(None, one, other).ratio(),
    "semantic": lambda one, other: SCORER.score("", [(one, other)])[0].score,
}


def auc(scores: Sequence[tuple[float, bool]]) -> float:
    """Return the chance that an agreeing pair scores above a disagreeing one; ties count half."""
    ranked = sorted(scores)
    rank_sum, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        middle = (place + end + 1) / 2
        rank_sum += middle * sum(agrees for _, agrees in ranked[place:end])
        place = end
    positive = sum(agrees for _, agrees in scores)
    negative = len(scores) - positive
    return (rank_sum - positive * (positive + 1) / 2) / (positive * negative)


def pairs(path: Path) -> dict[str, list[tuple[str, str, bool]]]:
    """Read the pairs that agree or disagree, by source."""
    found: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        pair = json.loads(line)
        if pair["label"] in {"agree", "disagree"}:
            found[pair["source"]].append((pair["text_a"], pair["text_b"], pair["label"] == "agree"))
    return {source: rows for source, rows in found.items() if len({agrees for *_, agrees in rows}) == 2}


def pair_tables(path: Path) -> Iterable[str]:
    groups = pairs(path)
    groups["all"] = [row for rows in groups.values() for row in rows]
    for title in ("AUC", "accuracy at 0.5"):
        yield f"\n**{title}**\n"
        yield "| source | pairs | agree | " + " | ".join(METHODS) + " |"
        yield "|---|---:|---:|" + "---:|" * len(METHODS)
        for source, rows in groups.items():
            share = sum(agrees for *_, agrees in rows) / len(rows)
            cells = []
            for name, method in METHODS.items():
                scores = [(method(one, other), agrees) for one, other, agrees in rows]
                right = sum((score >= 0.5) == agrees for score, agrees in scores) / len(scores)
                right = max(share, 1 - share) if name == "majority class" else right
                cells.append(f"{auc(scores) if title == 'AUC' else right:.2f}")
            yield f"| {source} | {len(rows)} | {share:.2f} | " + " | ".join(cells) + " |"


def majority(answers: Iterable[str | None]) -> str | None:
    ranked = Counter(answer for answer in answers if answer).most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


def unanimous(answers: Sequence[str | None]) -> bool:
    return len(answers) > 1 and None not in answers and len(set(answers)) == 1


def transcript_table(path: Path) -> Iterable[str]:
    debates: dict[str, list[tuple[list[list[str | None]], str]]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        answers = one.get("extracted_answers")
        if answers and one.get("gold_answer") and len(answers) > 1:
            # Solutions of GSM8K end in their answer.
            gold = str(one["gold_answer"]).rpartition("####")[2].strip().replace(",", "")
            debates[one["task"]].append(([[_plain(answer) for answer in held] for held in answers], gold))
    yield "| task | debates | single | majority before | after | unanimous before | right | unanimous after | right |"
    yield "|---|" + "---:|" * 8
    moves = [
        "| task | wrong → right | right → wrong | stayed right | stayed wrong | conformity |",
        "|---|" + "---:|" * 5,
    ]
    for task, rows in debates.items():
        gold = [casefold(right) for _, right in rows]
        first = [[answer and casefold(answer) for answer in answers[0]] for answers, _ in rows]
        last = [[answer and casefold(answer) for answer in answers[-1]] for answers, _ in rows]
        single = _share([held[0] == right for held, right in zip(first, gold, strict=True)])
        before = _share([majority(held) == right for held, right in zip(first, gold, strict=True)])
        after = _share([majority(held) == right for held, right in zip(last, gold, strict=True)])
        cells = [single, before, after]
        for held in (first, last):
            agreed = [(one[0] == right) for one, right in zip(held, gold, strict=True) if unanimous(one)]
            cells += [f"{len(agreed)}", _share(agreed)]
        yield f"| {task} | {len(rows)} | " + " | ".join(cells) + " |"
        moves.append(_moves(task, first, last, gold, rows))
    yield ""
    yield from moves


def _plain(answer: str | None) -> str | None:
    """Write numbers alike: without signs of thousands and money, and without an empty fraction."""
    if answer is None:
        return None
    text = answer.strip().replace(",", "").lstrip("$")
    return text.removesuffix(".00").removesuffix(".0")


def _share(found: Sequence[bool]) -> str:
    return f"{sum(found) / len(found):.2f}" if found else "none"


def _moves(
    task: str,
    first: Sequence[Sequence[str | None]],
    last: Sequence[Sequence[str | None]],
    gold: Sequence[str],
    rows: Sequence[tuple[list[list[str | None]], str]],
) -> str:
    counts: Counter[str] = Counter()
    follow = Counter[str]()
    for before, after, right, (answers, _) in zip(first, last, gold, rows, strict=True):
        moved = transitions(_named(before), _named(after), right)
        for name in ("wrong_to_right", "right_to_wrong", "kept_right", "kept_wrong"):
            counts[name] += getattr(moved, name)
        found = conformity([_named(held) for held in answers])
        if found.value is not None:
            of = int(str(found.figures["of"]))
            follow["of"] += of
            follow["took"] += int(Fraction(found.value) * of)
    shown = [counts[name] for name in ("wrong_to_right", "right_to_wrong", "kept_right", "kept_wrong")]
    took = f"{follow['took'] / follow['of']:.2f}" if follow["of"] else "none"
    return f"| {task} | " + " | ".join(map(str, shown)) + f" | {took} |"


def _named(answers: Sequence[str | None]) -> dict[str, str | None]:
    return {str(place): answer for place, answer in enumerate(answers)}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    if not (folder / "pairs" / "dev.jsonl").exists():
        print(f"{folder} holds no recorded data; name the folder that does")
        return
    assert SCORER.score("", [("AI is dangerous", "AI is not dangerous")])[0].score < 0.4
    print("\n".join(pair_tables(folder / "pairs" / "dev.jsonl")))
    print()
    print("\n".join(transcript_table(folder / "transcripts" / "dev.jsonl")))


if __name__ == "__main__":
    main()
