"""What importing the decision layer costs, and that all its names are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import roundtable.exits
import roundtable.metrics
import roundtable.scoring
from roundtable.scoring import decide

HEAVY = ("httpx", "sqlite3", "pluggy", "xllamacpp", "mcp", "asyncio.runners", "rich", "numpy")


@pytest.mark.parametrize("package", [roundtable.scoring, roundtable.metrics, roundtable.exits])
def test_every_public_name_exists(package: object) -> None:
    names: list[str] = package.__all__  # type: ignore[attr-defined]
    assert names == sorted(set(names), key=names.index)
    assert set(names) <= set(dir(package))
    for name in names:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_deciding_loads_no_transport_database_or_model() -> None:
    program = (
        "import json, sys, roundtable.scoring as s, roundtable.metrics as m, roundtable.exits as e;"
        "[getattr(package, n) for package in (s, m, e) for n in package.__all__]; s.decide(['a'], rule='schulze');"
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.slow
def test_deciding_at_the_root_loads_no_more_than_that() -> None:
    program = (
        "import json, sys, roundtable as rt; rt.decide(['a'], rule='schulze'); rt.ConsensusReached(0.9) & rt.Stable();"
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_exits_are_exported_at_the_root() -> None:
    joined = (roundtable.exits.Exit, roundtable.exits.AllOf, roundtable.exits.AnyOf)
    usable = [kind for kind in roundtable.exits.BUILTIN_EXITS if kind not in joined]
    assert len(usable) == 11
    for kind in usable:
        assert getattr(roundtable, kind.__name__) is kind
        assert kind.__name__ in roundtable.__all__


@pytest.mark.slow
def test_the_hash_seed_changes_no_decision() -> None:
    program = (
        "from roundtable.metrics import entropy_agreement; from roundtable.scoring import decide;"
        "ballots = [{'x', 'y', 'z'}, {'z'}, {'y', 'w'}];"
        "ranked = [['x', {'y', 'z'}], [{'z', 'w'}, 'x']];"
        "print(decide(ballots, rule='approval').to_json(), decide(ranked, rule='ranked-pairs').to_json(),"
        "decide(ranked, rule='irv', tie='first').to_json(), entropy_agreement(['a', 'b', 'c', 'a', 'd']).value)"
    )
    command = [sys.executable, "-c", program]
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("0", "1", "2")]
    outputs = {
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        for environment in environments
    }
    assert len(outputs) == 1


def test_a_cycle_is_explained() -> None:
    decision = decide([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]], rule="schulze")
    assert str(decision) == (
        "schulze: tie between a, b and c: no option beats all others head to head: a > b > c > a;"
        " the strongest paths leave them level."
    )
