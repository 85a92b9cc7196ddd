"""Independent implementations agree, on seeded random elections and ratings.

Where a convention differs from theirs it is named beside the comparison, and in the docs. Rules are compared with
pref_voting: with winners of it that were recorded, and afresh where the environment of `nox -s deep` has it; metrics
with scipy, scikit-learn, statsmodels and krippendorff. votelib is not asked: its Schulze and Copeland winners are known
to be wrong.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import Counter
from fractions import Fraction
from importlib.metadata import version
from itertools import chain, permutations, product
from pathlib import Path
from typing import Any

import pytest

from roundtable.metrics import (
    brier_score,
    coefficient_of_variation,
    cohen_kappa,
    entropy,
    expected_calibration_error,
    fleiss_kappa,
    interquartile_range,
    jensen_shannon,
    jury_bound,
    kendall_w,
    krippendorff_alpha,
    mean_spearman,
    quantile,
)
from roundtable.scoring import Ballot, decide

pytestmark = pytest.mark.slow

EFFORT = pytest.mark.parametrize(
    "cases", [pytest.param(25, id="everyday"), pytest.param(600, id="deep", marks=pytest.mark.deep)]
)


DEEP = pytest.mark.parametrize("cases", [pytest.param(300, id="deep", marks=pytest.mark.deep)])
"""For oracles that take long to load."""


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run pref_voting as plain Python: compiling it takes longer than all elections."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def elections(cases: int, seed: int, most_options: int = 5) -> list[tuple[int, list[list[int]]]]:
    """Draw complete rankings without ties: number of options, and one order per voter."""
    draw = random.Random(seed)
    drawn: list[tuple[int, list[list[int]]]] = []
    for _ in range(cases):
        size = draw.randint(2, most_options)
        drawn.append((size, [draw.sample(range(size), size) for _ in range(draw.randint(1, 9))]))
    return drawn


def ours(rule: str, rankings: list[list[int]]) -> list[int]:
    ballots: list[Ballot] = [[str(option) for option in ranking] for ranking in rankings]
    return sorted(int(winner) for winner in decide(ballots, rule=rule).winners)


METHODS = {
    "plurality": "plurality",
    "borda": "borda",
    "dowdall": "dowdall",
    "irv": "instant_runoff_put",
    "coombs": "coombs_put",
    "condorcet": "condorcet",
    "copeland": "copeland",
    "schulze": "beat_path",
    "ranked-pairs": "ranked_pairs",
    "kemeny-young": "kemeny_young",
    "majority": "absolute_majority",
}
TABLE = Path(__file__).parent / "data" / "pref_voting_winners.json"
RECORDED = 60


def theirs_of(rule: str, size: int, rankings: list[list[int]]) -> list[int]:
    """Return the winners of pref_voting; none where it elects everybody for want of a Condorcet winner."""
    methods = pytest.importorskip("pref_voting.voting_methods")
    profiles = pytest.importorskip("pref_voting.profiles")
    options = {"algorithm": "from_stacks"} if rule == "ranked-pairs" else {}
    found = sorted(map(int, getattr(methods, METHODS[rule])(profiles.Profile(rankings), **options)))
    return [] if rule == "condorcet" and size > 1 and found == list(range(size)) else found


def recorded() -> dict[str, Any]:
    """Return the recorded elections and their winners, by rule, as counted by the noted version of pref_voting."""
    found: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return found


@pytest.mark.parametrize("rule", METHODS)
def test_rules_on_rankings_agree_with_recorded_winners_of_pref_voting(rule: str) -> None:
    table = recorded()
    assert len(table["elections"]) == len(table["winners"][rule]) == RECORDED
    for rankings, winners in zip(table["elections"], table["winners"][rule], strict=True):
        assert ours(rule, rankings) == winners, rankings


def recording() -> dict[str, Any]:
    drawn = elections(RECORDED, seed=10)
    return {
        "source": f"pref_voting {version('pref_voting')}",
        "elections": [rankings for _, rankings in drawn],
        "winners": {rule: [theirs_of(rule, size, rankings) for size, rankings in drawn] for rule in METHODS},
    }


@pytest.mark.deep
@pytest.mark.usefixtures("uncompiled")
def test_the_recorded_winners_are_those_of_pref_voting() -> None:
    """Where a version of it counts otherwise, this file run as a program writes the table anew."""
    pytest.importorskip("pref_voting")
    assert {**recording(), "source": ""} == {**recorded(), "source": ""}


@DEEP
@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("rule", METHODS)
def test_rules_on_rankings_agree_with_pref_voting(rule: str, cases: int) -> None:
    """`pref_voting`: its condorcet elects everybody, and its majority nobody, where there is no winner.

    Its dowdall adds floats; instant run-off and Coombs are its parallel-universe forms; its Schulze, ranked pairs
    and Kemeny use margins, all orders of equal ones and all optimal rankings, as ours do.
    """
    for size, rankings in elections(cases, seed=11):
        assert ours(rule, rankings) == theirs_of(rule, size, rankings), (rule, rankings)


@DEEP
@pytest.mark.usefixtures("uncompiled")
def test_pairwise_counts_agree_with_pref_voting(cases: int) -> None:
    profiles = pytest.importorskip("pref_voting.profiles")
    for size, rankings in elections(cases, seed=12):
        theirs = profiles.Profile(rankings)
        ballots: list[Ballot] = [[str(option) for option in ranking] for ranking in rankings]
        mine = decide(ballots, rule="schulze").pairwise
        for one in range(size):
            for other in range(size):
                if one != other:
                    assert mine[str(one)][str(other)] == theirs.support(one, other)


@DEEP
@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("rule", "method"), [("schulze", "beat_path"), ("copeland", "copeland"), ("ranked-pairs", "ranked_pairs")]
)
def test_rankings_with_ties_and_gaps_agree_with_pref_voting(rule: str, method: str, cases: int) -> None:
    """Its profiles with ties leave unranked options incomparable until told that ranked ones stand above them."""
    methods = pytest.importorskip("pref_voting.voting_methods")
    with_ties = pytest.importorskip("pref_voting.profiles_with_ties")
    draw = random.Random(13)
    for _ in range(cases):
        size = draw.randint(2, 5)
        voters = range(draw.randint(1, 7))
        ranks = [{option: draw.randint(1, size) for option in range(size) if draw.random() < 0.8} for _ in voters]
        ranks = [row for row in ranks if row]
        if {option for row in ranks for option in row} != set(range(size)):
            continue
        profile = with_ties.ProfileWithTies(ranks, candidates=list(range(size)))
        profile.use_extended_strict_preference()
        ballots: list[Ballot] = []
        for row in ranks:
            levels = sorted(set(row.values()))
            ballots.append([[str(option) for option in row if row[option] == level] for level in levels])
        mine = sorted(int(winner) for winner in decide(ballots, rule=rule).winners)
        options = {"algorithm": "from_stacks"} if rule == "ranked-pairs" else {}
        assert mine == sorted(getattr(methods, method)(profile, **options)), (rule, ranks)


def truncated(cases: int, seed: int) -> list[list[list[int]]]:
    """Draw rankings that leave options out, where margins and winning votes differ: one order per voter."""
    draw = random.Random(seed)
    drawn: list[list[list[int]]] = []
    for _ in range(cases):
        size = draw.randint(2, 4)
        voters = range(draw.randint(1, 9))
        drawn.append([[*range(size)], *(draw.sample(range(size), draw.randint(1, size)) for _ in voters)])
    return drawn


def winning_votes(rankings: list[list[int]]) -> dict[tuple[int, int], int]:
    """Count for each pair the ballots of the winner, straight from the definition."""

    def above(one: int, other: int) -> int:
        return sum(one in row and (other not in row or row.index(one) < row.index(other)) for row in rankings)

    pairs = permutations(sorted({option for row in rankings for option in row}), 2)
    return {(one, other): above(one, other) for one, other in pairs if above(one, other) > above(other, one)}


def beat_path_of(wins: dict[tuple[int, int], int], options: list[int]) -> list[int]:
    """Return the Schulze winners by the widest paths, after Floyd and Warshall."""
    wide = {pair: wins.get(pair, 0) for pair in permutations(options, 2)}
    for via, one, other in permutations(options, 3):
        wide[one, other] = max(wide[one, other], min(wide[one, via], wide[via, other]))
    return [one for one in options if all(wide[one, other] >= wide[other, one] for other in options if other != one)]


def locked_by(order: tuple[tuple[int, int], ...], options: list[int]) -> set[int]:
    """Lock pairs in this order where they close no cycle, and return all that stay unbeaten."""
    below: dict[int, set[int]] = {option: set() for option in options}
    for one, other in order:
        if one not in below[other]:
            for above in options:
                if above == one or one in below[above]:
                    below[above] |= {other} | below[other]
    return {one for one in options if not any(one in under for under in below.values())}


def ranked_pairs_of(wins: dict[tuple[int, int], int], options: list[int]) -> list[int]:
    """Return who wins for some order of equally strong pairs; all orders are tried."""
    levels = [[pair for pair in wins if wins[pair] == votes] for votes in sorted(set(wins.values()), reverse=True)]
    orders = product(*(permutations(level) for level in levels))
    return sorted(set().union(*(locked_by(tuple(chain(*order)), options) for order in orders)))


@EFFORT
def test_winning_votes_agree_with_the_definitions(cases: int) -> None:
    """Independent of our code: widest paths by Floyd and Warshall, and all orders of equally strong pairs."""
    for rankings in truncated(cases * 4, seed=15):
        wins, options = winning_votes(rankings), sorted(rankings[0])
        ballots: list[Ballot] = [[str(option) for option in row] for row in rankings]
        by_votes = {
            rule: sorted(int(winner) for winner in decide(ballots, rule=f"{rule}(winning-votes)").winners)
            for rule in ("schulze", "ranked-pairs")
        }
        assert by_votes["schulze"] == beat_path_of(wins, options), rankings
        assert by_votes["ranked-pairs"] == ranked_pairs_of(wins, options), rankings


@EFFORT
def test_seats_sums_and_exact_purses_agree_with_plain_counting(cases: int) -> None:
    draw = random.Random(16)
    for _ in range(cases):
        choices: list[Ballot] = [draw.choice(["a", "a", "b", None]) for _ in range(draw.randint(1, 12))]
        q = Fraction(draw.randint(1, 12), 12)
        most = max(choices.count("a"), choices.count("b"))
        alone = choices.count("a") != choices.count("b")
        for of, total in (("cast", len(choices) - choices.count(None)), ("seats", len(choices))):
            passed = bool(most) and alone and most >= q * total
            assert decide(choices, rule="supermajority", q=q, of=of).passed == passed, (choices, q, of)
            majority = bool(most) and most * 2 > total
            assert decide(choices, rule="majority", of=of).passed == majority
        voters = range(draw.randint(1, 6))
        graded = [{o: draw.randint(-3, 5) for o in "abc" if draw.random() < 0.7} for _ in voters]
        ballots: list[Ballot] = [*graded]
        sums = {o: sum(row.get(o, 0) for row in graded) for o in "abc" if any(o in row for row in graded)}
        decision = decide(ballots, rule="score", by="sum")
        assert decision.scores == sums
        assert set(decision.winners) == {o for o in sums if sums[o] == max(sums.values())}
        spent = [{o: draw.randint(0, 3) for o in "ab"} for _ in voters]
        exact = [row for row in spent if sum(row.values()) == 4]
        purses: list[Ballot] = [*spent]
        counted = decide(purses, rule="cumulative", points=4, spend="exactly")
        assert counted.cast == len(exact)
        assert counted.scores == ({o: sum(row[o] for row in exact) for o in "ab"} if exact else {})


@DEEP
@pytest.mark.usefixtures("uncompiled")
def test_grades_agree_with_pref_voting(cases: int) -> None:
    """Its STAR elects both when the run-off is level, ours the one with the higher total.

    Its majority judgment stops at the first comparison around the median, ours (`median`) takes medians out until they
    differ: ours are among its winners. Approvals are grades of 0 and 1 there.
    """
    methods = pytest.importorskip("pref_voting.grade_methods")
    profiles = pytest.importorskip("pref_voting.grade_profiles")
    draw = random.Random(14)
    for _ in range(cases):
        size = draw.randint(2, 4)
        graded = [{option: draw.randint(0, 5) for option in range(size)} for _ in range(draw.randint(1, 7))]
        profile = profiles.GradeProfile(graded, list(range(6)), candidates=list(range(size)))
        ballots: list[Ballot] = [{str(option): grade for option, grade in row.items()} for row in graded]
        mine = {rule: sorted(map(int, decide(ballots, rule=rule).winners)) for rule in ("score", "star", "median")}
        assert mine["score"] == sorted(methods.score_voting(profile))
        assert set(mine["median"]) <= set(methods.majority_judgement(profile))
        approved = [{option: int(grade > 2) for option, grade in row.items()} for row in graded]
        sets: list[Ballot] = [{str(option) for option, yes in row.items() if yes} for row in approved]
        if any(sets):
            binary = profiles.GradeProfile(approved, [0, 1], candidates=list(range(size)))
            assert sorted(map(int, decide(sets, rule="approval").winners)) == sorted(methods.approval(binary))
        totals = sorted((sum(row[option] for row in graded) for option in range(size)), reverse=True)
        if len(set(totals)) == size:
            theirs = sorted(methods.star(profile))
            assert mine["star"] == (theirs if len(theirs) == 1 else mine["star"])
            assert set(mine["star"]) <= set(theirs)


def rating_tables(cases: int, seed: int, *, missing: float) -> list[list[list[int | None]]]:
    draw = random.Random(seed)
    tables: list[list[list[int | None]]] = []
    for _ in range(cases):
        raters, units = draw.randint(2, 5), draw.randint(2, 8)
        tables.append(
            [[None if draw.random() < missing else draw.randint(1, 4) for _ in range(units)] for _ in range(raters)]
        )
    return tables


@EFFORT
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_krippendorff(level: str, cases: int) -> None:
    """The package refuses data without variation, where ours is undefined with a reason."""
    import krippendorff

    for table in rating_tables(cases, 21, missing=0.25):
        mine = krippendorff_alpha(table, level=level)  # type: ignore[arg-type]
        if mine.value is None:
            continue
        data = [[math.nan if rating is None else rating for rating in row] for row in table]
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
        assert float(mine.value) == pytest.approx(theirs, abs=1e-9)


@EFFORT
def test_kappas_agree_with_statsmodels_and_scikit_learn(cases: int) -> None:
    """Both give NaN without variation, where ours is undefined with a reason."""
    import statsmodels.stats.inter_rater as raters
    from sklearn import metrics

    for table in rating_tables(cases, 22, missing=0):
        counts = [[sum(row[unit] == label for row in table) for label in range(1, 5)] for unit in range(len(table[0]))]
        fleiss = fleiss_kappa(table)
        if fleiss.value is not None:
            assert float(fleiss.value) == pytest.approx(raters.fleiss_kappa(counts), abs=1e-9)
        cohen = cohen_kappa(table[0], table[1])
        if cohen.value is not None:
            assert float(cohen.value) == pytest.approx(metrics.cohen_kappa_score(table[0], table[1]), abs=1e-9)
            crossed = [[0] * 4 for _ in range(4)]
            for one, other in zip(table[0], table[1], strict=True):
                crossed[one - 1][other - 1] += 1  # type: ignore[operator]  # nothing is missing here
            assert float(cohen.value) == pytest.approx(raters.cohens_kappa(crossed, return_results=False), abs=1e-9)


@EFFORT
def test_concordance_agrees_with_scipy(cases: int) -> None:
    """Friedman's statistic is n (m - 1) W, with the same correction for ties; it asks for three raters."""
    from scipy import stats

    draw = random.Random(23)
    for _ in range(cases):
        items = draw.randint(3, 6)
        rows = [[draw.randint(1, 5) for _ in range(items)] for _ in range(draw.randint(3, 6))]
        if any(len(set(row)) == 1 for row in rows):
            continue
        statistic = stats.friedmanchisquare(*zip(*rows, strict=True)).statistic
        assert float(kendall_w(rows).figures["chi_square"]) == pytest.approx(statistic, abs=1e-9)
        pairs = [stats.spearmanr(rows[i], rows[j]).statistic for i in range(len(rows)) for j in range(i)]
        assert float(mean_spearman(rows)) == pytest.approx(sum(pairs) / len(pairs), abs=1e-9)


@EFFORT
def test_statistics_agree_with_numpy_and_scipy(cases: int) -> None:
    """numpy's default quantile is type 7; scipy's Jensen-Shannon distance is the root of the divergence."""
    import numpy as np
    from scipy import stats
    from scipy.spatial import distance

    draw = random.Random(24)
    for _ in range(cases):
        numbers = [draw.randint(1, 9) for _ in range(draw.randint(2, 9))]
        q = draw.random()
        assert float(quantile(numbers, q)) == pytest.approx(np.quantile(numbers, q))
        assert float(interquartile_range(numbers)) == pytest.approx(stats.iqr(numbers))
        assert float(coefficient_of_variation(numbers)) == pytest.approx(stats.variation(numbers, ddof=1))
        counts = [draw.randint(0, 5) for _ in range(4)]
        if any(counts):
            assert entropy(counts) == pytest.approx(stats.entropy(counts, base=2))
        one, other = [draw.choices("abc", k=draw.randint(1, 8)) for _ in range(2)]
        shares = [[Counter(side)[label] for label in "abc"] for side in (one, other)]
        assert float(jensen_shannon(one, other)) == pytest.approx(
            distance.jensenshannon(*shares, base=2) ** 2, abs=1e-9
        )


@EFFORT
def test_the_jury_agrees_with_scipy(cases: int) -> None:
    from scipy import stats

    draw = random.Random(25)
    for _ in range(cases):
        n, p, rho = draw.randint(1, 40), draw.randint(1, 19) / 20, draw.randint(1, 9) / 10
        assert float(jury_bound(n, p)) == pytest.approx(stats.binom.sf(n // 2, n, p), abs=1e-9)
        a, b = p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho
        assert float(jury_bound(n, p, correlation=rho)) == pytest.approx(stats.betabinom.sf(n // 2, n, a, b), abs=1e-9)


@EFFORT
def test_forecasts_agree_with_scikit_learn(cases: int) -> None:
    """Its calibration curve has bins closed above; ours are closed below, so confidences keep off the edges."""
    from sklearn import calibration, metrics

    draw = random.Random(26)
    for _ in range(cases):
        outcomes = [True, False, *(draw.random() < 0.5 for _ in range(draw.randint(0, 20)))]
        sure = [draw.randint(0, 9) / 10 + 0.05 for _ in outcomes]
        assert float(brier_score(sure, outcomes)) == pytest.approx(metrics.brier_score_loss(outcomes, sure))
        right, mean = calibration.calibration_curve(outcomes, sure, n_bins=10)
        sizes = Counter(int(confidence * 10) for confidence in sure)
        theirs = sum(sizes[int(m * 10)] * abs(r - m) for r, m in zip(right, mean, strict=True)) / len(sure)
        assert float(expected_calibration_error(sure, outcomes)) == pytest.approx(theirs)


def test_fractions_equal_the_decimal_values_of_floats() -> None:
    assert krippendorff_alpha([[1, 2], [1, 3]]).value == Fraction(2, 5)


if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(json.dumps(recording(), separators=(",", ":")) + "\n", "utf-8")
