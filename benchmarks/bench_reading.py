"""How replies are read: `python benchmarks/bench_reading.py`.

Prints what is read right, lost and misread of made-up replies, and which made-up pairs of answers are called the same
or different. Where recorded debates and their settled answers are found, it prints the same of recorded replies, and
why unanimous recorded rounds are left open. At last it reads the same replies with the parsers of other libraries.
"""

from __future__ import annotations

import argparse
import json
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import reading_kit as kit

from roundtable.reading import ABSTAIN, QuestionKind, own_labels

PARSERS: Final = Path(__file__).with_name("other_parsers.py")
OURS: Final = "this library"


def table(heading: str, counts: Mapping[str, Counter[kit.Outcome]]) -> None:
    """Print a row of figures for each group of replies."""
    names = ("replies", "right", "lost", "misread", "left open", "lost %", "misread %")
    print("\n" + f"{heading:<60}" + "".join(f"{name:>11}" for name in names))
    for name, count in counts.items():
        figures = [count.total(), *(count[outcome] for outcome in kit.OUTCOMES)]
        shares = [100 * count[outcome] / count.total() for outcome in ("lost", "misread")]
        line = "".join(f"{figure:>11}" for figure in figures) + "".join(f"{share:>11.2f}" for share in shares)
        print(f"  {name:<58}{line}")


def grouped(
    replies: Iterable[kit.Reply], group: Callable[[kit.Reply], str], kind: QuestionKind | None = None
) -> dict[str, Counter[kit.Outcome]]:
    """Count the outcomes of the replies of each group, and of all."""
    counts = dict[str, Counter[kit.Outcome]]()
    for reply in sorted(replies, key=group):
        outcome = kit.judge(reply, kit.read(reply, kind))
        for name in (group(reply), "all"):
            counts.setdefault(name, Counter())[outcome] += 1
    return {**{name: count for name, count in counts.items() if name != "all"}, "all": counts.get("all", Counter())}


def print_recorded(settled: Path) -> None:
    """Print what is read in recorded replies, by model."""
    replies = kit.recorded_replies(settled)
    choices = [reply for reply in replies if reply.kind == "choice"]
    numbers = [reply for reply in replies if reply.kind == "number"]
    print("Recorded replies whose answers are settled, by model")
    table("choices", grouped(choices, lambda reply: reply.author))
    table("numbers, as a debate with an open question reads", grouped(numbers, lambda reply: reply.author, "open"))
    table("numbers, as a study reads", grouped(numbers, lambda reply: reply.author))


def print_made_up() -> None:
    """Print what is read in made-up replies."""
    replies = kit.made_up_replies()
    print("\nMade-up replies")
    table("by kind", grouped(replies, lambda reply: reply.kind))
    table("by style", grouped(replies, lambda reply: reply.author))
    table("by language", grouped(replies, lambda reply: reply.language))
    for outcome in ("misread", "lost"):
        found = [reply for reply in replies if kit.judge(reply, kit.read(reply)) == outcome]
        print(f"\n{outcome}:")
        for reply in found:
            print(f"  {reply.key} {reply.kind:<8}{reply.language} {kit.read(reply)!r} for {reply.wanted!r}")


def print_pairs() -> None:
    """Print how made-up pairs of answers are related."""
    counts, wrong = Counter[str](), []
    for pair in kit.made_up_pairs():
        found, right = kit.relation(pair["a"], pair["b"]), pair["relation"]
        counts[right] += 1
        if found == right:
            continue
        is_allowed = found in pair["also"]
        verdict = "missed same" if right == "same" and found == "unknown" else f"wrongly {found}"
        counts[f"{verdict}, accepted" if is_allowed else verdict] += 1
        if not is_allowed:
            wrong.append(f"  {pair['id']} {found} for {right}: {pair['a']!r} ~ {pair['b']!r}")
    print("\nMade-up pairs of answers: same, different, or unknown without a model")
    for name in ("same", "different", "unknown"):
        print(f"  {name:<32}{counts[name]:>6} pairs")
    for name in ("wrongly same", "wrongly different", "wrongly unknown", "missed same"):
        print(f"  {name:<32}{counts[name]:>6} pairs; {counts[f'{name}, accepted']:>4} more where it is accepted too")
    print("\n".join(wrong))


def print_rounds(settled: Path) -> None:
    """Print how recorded rounds are measured, and why unanimous ones are left open."""
    pairs, rounds, reasons, listed = Counter[tuple[str, str]](), Counter[str](), Counter[str](), list[str]()
    for recorded in kit.recorded_rounds(settled):
        held = kit.hold(recorded)
        for right, found, name in held.pairs():
            pairs[right, found] += 1
            if found not in {right, "unknown"}:
                listed.append(f"  pair {name}: {found} for {right}")
        if not recorded.is_unanimous:
            continue
        verdict = "called unanimous" if held.is_agreed else "called dissent" if held.is_dissent else "left open"
        rounds[verdict] += 1
        if verdict != "called unanimous":
            why = kit.causes(held)
            reasons.update({f"{recorded.kind}: {cause.split(': ', maxsplit=1)[0]}" for cause in why})
            listed.append(f"  round {recorded.key}, {verdict}, {recorded.kind}, {recorded.author}: {'; '.join(why)}")
    unknown = sum(count for (_, found), count in pairs.items() if found == "unknown")
    print(f"\nPairs of recorded answers: {pairs.total()}")
    counts = {"wrongly same": pairs["different", "same"], "wrongly different": pairs["same", "different"]}
    for name, count in {**counts, "unknown": unknown}.items():
        print(f"  {name:<32}{count:>6} pairs")
    print(f"\nUnanimous recorded rounds: {rounds.total()}")
    for name in ("called unanimous", "called dissent", "left open"):
        print(f"  {name:<32}{rounds[name]:>6} rounds, {100 * rounds[name] / rounds.total():.1f} %")
    print("why they are left open or called dissent; a round may have several causes")
    for reason, count in reasons.most_common():
        print(f"  {reason:<32}{count:>6} rounds")
    print("\n".join(listed))


def has_letters(reply: kit.Reply) -> bool:
    """Check whether a reply is to a number, or to options labelled A, B, C, which other parsers take for granted."""
    labels = [label.upper() for label in own_labels(reply.listed)]
    return reply.kind == "number" or (bool(labels) and labels == list(string.ascii_uppercase[: len(labels)]))


def in_letters(reply: kit.Reply) -> kit.Reply:
    """Return a reply whose right reading is a letter or a number; abstentions and references have none."""
    wanted = reply.wanted
    if wanted is None or wanted == ABSTAIN or wanted.startswith(kit.POINTS_BACK):
        return replace(reply, wanted=None)
    if reply.kind == "number":
        return reply
    return replace(reply, wanted=string.ascii_uppercase[reply.options.index(wanted)])


def ours(reply: kit.Reply) -> str | None:
    """Return what this library reads: a letter, a number, or nothing."""
    got = kit.read(reply)
    if got is None or got == ABSTAIN or got.startswith(kit.POINTS_BACK):
        return None
    return got if reply.kind == "number" else string.ascii_uppercase[reply.options.index(got)]


def compare(python: str, heading: str, replies: Iterable[kit.Reply]) -> None:
    """Print how this library and the parsers of others read the same replies."""
    chosen = [reply for reply in replies if has_letters(reply)]
    asked = [in_letters(reply) for reply in chosen]
    sent = [
        {
            "kind": one.kind,
            "text": one.text,
            "wanted": one.wanted,
            "options": [option.split(maxsplit=1)[-1] for option in one.listed],
        }
        for one in asked
    ]
    command = [python, str(PARSERS)]
    # The program beside this one, with the Python that was asked for.
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.stderr)
    counts = {OURS: Counter(kit.judge(one, ours(reply)) for one, reply in zip(asked, chosen, strict=True))}
    failed = []
    for parser, found in json.loads(done.stdout).items():
        if found["kind"] == chosen[0].kind:
            counts[parser] = Counter(kit.judge(one, got) for one, got in zip(asked, found["read"], strict=True))
            failed += [f"  {parser} raised an error on {found['failed']} of them"] if found["failed"] else []
    table(heading, counts)
    print(*failed, sep="\n", end="\n" if failed else "")


def print_others(python: str, settled: Path | None) -> None:
    """Print the comparison with other libraries."""
    sets = {"made-up": kit.made_up_replies()}
    if settled is not None:
        sets = {"recorded": kit.recorded_replies(settled), **sets}
    print("\nThe same replies, read by other libraries")
    for kind in ("choice", "number"):
        for name, replies in sets.items():
            compare(python, f"{name} {kind}s", [reply for reply in replies if reply.kind == kind])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How replies are read.")
    parser.add_argument("--answers", type=Path, default=kit.SETTLED, help="settled answers of the recorded debates")
    parser.add_argument("--others", default=sys.executable, help="Python that has math-verify and inspect_ai")
    chosen = parser.parse_args()
    settled = chosen.answers if chosen.answers.is_file() and kit.TRANSCRIPTS.is_file() else None
    if settled is None:
        print("The recorded debates or their settled answers were not found, so their figures are left out.")
    else:
        print_recorded(settled)
    print_made_up()
    print_pairs()
    if settled is not None:
        print_rounds(settled)
    print_others(chosen.others, settled)


if __name__ == "__main__":
    main()
