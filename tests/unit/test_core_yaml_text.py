"""Files in YAML are read at a price that their size bounds, whatever their aliases repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roundtable.api import load_profiles
from roundtable.bench import read_experiment, read_study
from roundtable.core.base.yaml_text import MOST_REPEATED, read_yaml
from roundtable.errors import ConfigurationError

DOUBLED = "a0: &a0 x\n" + "".join(f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}]\n" for level in range(1, 100))
MERGED = "a0: &a0 {b: c}\n" + "".join(
    f"a{level}: &a{level}\n  <<: [*a{level - 1}, *a{level - 1}]\n" for level in range(1, 100)
)
ONE_LONG_TEXT = f"long: &long {'x' * 1000}\nlist: [{', '.join(['*long'] * 1000)}]\n"
ENDLESS = "questions: &a [*a]\n"


@pytest.mark.parametrize("text", [DOUBLED, MERGED, ONE_LONG_TEXT, ENDLESS], ids=["lists", "merges", "text", "endless"])
@pytest.mark.parametrize("read", [read_study, read_experiment, load_profiles])
def test_a_file_whose_aliases_repeat_too_much_is_refused(
    tmp_path: Path, read: Callable[[Path], object], text: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=r"its aliases \(\*name\) repeat more than 100,000 characters"):
        read(file)


def test_a_few_aliases_mean_what_they_repeat() -> None:
    assert read_yaml("a: &a {b: c}\nd: *a\ne:\n  <<: *a\n  f: &f [1, 2]\ng: *f\n") == {
        "a": {"b": "c"},
        "d": {"b": "c"},
        "e": {"b": "c", "f": [1, 2]},
        "g": [1, 2],
    }


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["- ab\n", "- {}\n", "-\n", "? a\n", "- {a,b}\n", '- "\\N"\n', "- - -\n"])
def test_a_file_without_aliases_may_be_of_any_length(piece: str) -> None:
    read_yaml(piece * (MOST_REPEATED // 10))


def test_an_empty_file_holds_nothing() -> None:
    assert read_yaml("") is None


@pytest.mark.parametrize(
    "text",
    ["a: [", "a: *b", "[" * 100_000, "a: \0", "a: !!bool foo", "!!int ''", "!!timestamp x"],
    ids=["open", "unknown alias", "deep", "sign", "no truth", "no number", "no time"],
)
def test_a_text_that_is_not_yaml_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_yaml(text)
