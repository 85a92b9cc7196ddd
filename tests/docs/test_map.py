"""The map of the source, and the list of what an addition touches, name files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "roundtable"
MAP = (ROOT / "docs/design/000-map.md").read_text("utf-8")
WHERE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Where things go\n")[2].partition("\n## ")[0]
PICTURE = (ROOT / "docs/design/img/layers.svg").read_text("utf-8")

QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:html|json|md|py|svg|toml|yml))")
ROW = re.compile(r"^\| (?!to find|---)(.+?) \| (.+) \|$", re.MULTILINE)


def paths(text: str) -> list[str]:
    return sorted({quoted for quoted in QUOTED.findall(text) if PATH.fullmatch(quoted)})


def found(path: str) -> Path | None:
    return next((place for base in (SOURCE, ROOT) if (place := base / path).exists()), None)


def packages() -> set[str]:
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__", "_version"}
    return modules | {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_both_lists_name_files() -> None:
    assert len(paths(MAP)) > 100
    assert len(paths(WHERE)) > 80


@pytest.mark.parametrize("path", sorted({*paths(MAP), *paths(WHERE)}))
def test_a_file_that_is_named_exists(path: str) -> None:
    assert found(path) is not None, f"the map or CONTRIBUTING.md names {path}, which does not exist"


@pytest.mark.parametrize(("sought", "where"), [pytest.param(*row, id=row[0]) for row in ROW.findall(MAP)])
def test_a_name_is_in_the_file_that_the_map_names_for_it(sought: str, where: str) -> None:
    files = [place for path in paths(where) if (place := found(path)) is not None and place.is_file()]
    text = "".join(place.read_text("utf-8") for place in files)
    names = [name.rpartition(".")[2] for name in QUOTED.findall(where) if not PATH.fullmatch(name)]
    assert [name for name in names if name not in text] == []
    assert sought


def test_every_package_has_a_section_on_the_map() -> None:
    assert sorted(QUOTED.findall("".join(re.findall(r"^### .+$", MAP, re.MULTILINE)))) == sorted(packages())


def test_the_reading_list_has_at_most_ten_files_and_all_are_in_the_core() -> None:
    section = MAP.partition("\n### `core`\n")[2].partition("\nThe other files of the core:\n")[0]
    listed = [path for line in re.findall(r"^\d+\. (.+)", section, re.MULTILINE) for path in paths(line)]
    assert 5 < len(listed) <= 10
    assert [path for path in listed if not path.startswith("core/")] == []


def test_the_picture_has_the_layers_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}
    checked = [sorted(re.split(r" [|:] ", layer)) for layer in contracts["layers"]["layers"]]
    described = re.search(r"<desc>From top to bottom: (.+?)\. ", PICTURE)
    assert described is not None
    drawn = [sorted(layer.split(", ")) for layer in described[1].split("; ")]
    assert drawn == checked[1:-1]  # all but `__main__` and `_version`
    names = {name for layer in drawn for name in layer}
    assert names == {name for name in re.findall(r">([\w.]+)</text>", PICTURE) if name.partition(".")[0] in packages()}
