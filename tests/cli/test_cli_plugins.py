"""`roundtable plugins`, commands of plugins, and what the command loads."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.kit import Command, always
from plugin_kit import MODE, Site, hook, site

__all__ = ["site"]


def test_the_command_says_that_no_plugin_is_installed(command: Command) -> None:
    done = command("plugins")
    assert (done.code, done.out.strip()) == (0, "No plugin is installed.")
    assert command("plugins", "--json").json == []


def test_each_plugin_is_listed_with_what_it_provides_or_why_it_failed(command: Command, site: Site) -> None:
    site.install("roundtable-court")
    assert command("plugins").out.split("\n")[:2] == ["roundtable-court 1.0: ready", "  mode court"]
    site.install("roundtable-broken", "raise RuntimeError('no licence')")
    site.install("roundtable-usurper", MODE.replace("{name}", "collaborative"))
    done = command("plugins")
    assert done.code == 1
    assert "roundtable-broken 1.0: failed (import)" in done.out
    assert "no licence" in done.out
    assert "'roundtable-usurper/collaborative'" in done.out.replace("\n  ", " ")
    found = command("plugins", "--json").json
    assert isinstance(found, list)
    stages = {one["name"]: (one["stage"], one["provides"], one["entryPoint"]) for one in found}
    assert stages["roundtable-court"] == ("ready", ["mode court"], "court")
    assert stages["roundtable-broken"][0] == "import"


def test_the_traceback_of_a_broken_plugin_is_shown_on_request(command: Command, site: Site) -> None:
    site.install("roundtable-broken", "def load():\n    raise RuntimeError('no licence')\nload()")
    assert "Traceback" not in command("plugins").out
    done = command("plugins", "--debug")
    assert done.code == 1
    assert "Traceback (most recent call last):" in done.out
    assert "in load" in done.out
    found = command("plugins", "--debug", "--json").json
    assert isinstance(found, list)
    assert found[0]["traceback"][-1] == "RuntimeError: no licence"


def test_a_new_plugin_is_written_with_the_kinds_asked_for(command: Command) -> None:
    done = command("plugins", "new", "acme", "--kind", "mode,rule")
    assert done.code == 0, done.both
    assert done.out.startswith("roundtable-acme: mode, rule")
    assert "cd roundtable-acme && pip install" in done.out
    folder = Path("roundtable-acme")
    assert {path.name for path in (folder / "tests").iterdir()} == {"test_plugin.py", "test_mode.py", "test_rule.py"}
    again = command("plugins", "new", "acme", "--kind", "mode")
    assert (again.code, "is not empty" in again.both) == (2, True)
    other = command("plugins", "new", "acme", "--kind", "exit", "--into", "elsewhere", "--json").json
    assert isinstance(other, dict)
    assert other["kinds"] == ["exit"]
    for words, said in ((("Acme", "--kind", "mode"), "cannot be the name"), (("acme2",), "needs at least one kind")):
        refused = command("plugins", "new", *words)
        assert (refused.code, said in refused.both) == (2, True)


def test_the_mode_of_an_installed_plugin_is_listed_and_used(command: Command, site: Site) -> None:
    site.install("roundtable-court")
    assert "court" in command("modes").out
    agents = always(Path.cwd(), {"ada": "Tea", "bo": "Tea"})
    done = command("debate", "Tea?", "--mode", "court", "--agents", agents, "--rounds", "1", "--storage", "memory://")
    assert done.code == 0, done.both


def test_plugins_can_export_a_session_and_search_the_web(command: Command, site: Site) -> None:
    site.install("roundtable-terse", hook("exporters", "registrar.add('terse', lambda result: f'{result.answer}!')"))
    search = "from roundtable.tools.search import StaticSearch\nregistrar.add('acme', lambda rest, s: StaticSearch())"
    site.install("roundtable-acme", hook("search_providers", search))
    asked = ("--agents", always(Path.cwd(), {"ada": "Tea", "bo": "Tea"}), "--rounds", "1", "--db", "plugins.db")
    done = command("debate", "Tea?", *asked, "--search", "acme")
    assert done.code == 0, done.both
    assert command("export", "last", "--db", "plugins.db", "--format", "terse").out.strip() == "Tea!"
    unknown = command("export", "last", "--db", "plugins.db", "--format", "pdf")
    assert (unknown.code, "unknown export format 'pdf'" in unknown.err) == (2, True)
    assert "unknown search provider 'acne'" in command("debate", "Tea?", *asked, "--search", "acne").err


@pytest.mark.parametrize(
    ("body", "code", "shown"),
    [
        pytest.param("print('scored', *words)\nreturn 0", 0, "scored a --b", id="runs"),
        pytest.param("return 7", 7, "", id="code"),
        pytest.param("return None", 0, "", id="nothing"),
        pytest.param("return 'junk'", 1, "", id="junk"),
        pytest.param("raise SystemExit(4)", 4, "", id="ends"),
        pytest.param("raise SystemExit", 0, "", id="ends well"),
        pytest.param("1 / 0", 1, "the command 'score' of roundtable-score failed: ZeroDivisionError", id="raises"),
    ],
)
def test_a_command_of_a_plugin_gets_the_arguments_after_it(
    command: Command, site: Site, body: str, code: int, shown: str
) -> None:
    lines = "\n    ".join(body.split("\n"))
    site.install("roundtable-score", hook("commands", f"def score(words):\n    {lines}\nregistrar.add('score', score)"))
    done = command("score", "a", "--b")
    assert (done.code, shown in done.both) == (code, True)


def test_the_help_lists_the_commands_of_plugins_in_a_separate_group(command: Command, site: Site) -> None:
    assert "plugins:" not in command("--help").out
    add = "registrar.add('score', print, summary='Score a\\x1b[31m file.')\nregistrar.add('sessions', print)"
    site.install("roundtable-score", f"print('welcome')\n{hook('commands', add)}")
    site.install("roundtable-plain", hook("commands", "registrar.add('x', print)"))
    for words in (("--help",), ("-h",), ()):
        done = command(*words)
        told = done.out.partition("Commands of plugins:\n")[2]
        assert (done.code, told.splitlines()) == (
            0,
            ["  score  Score a[31m file.", "  x      A command of roundtable-plain."],
        )
        assert "welcome" not in done.out
    site.install("roundtable-broken", "raise RuntimeError('no licence')")
    done = command("--help")
    assert (done.code, "could not be loaded: 1; `roundtable plugins` shows why" in done.out) == (0, True)
    # No other help loads a plugin.
    assert "welcome" not in command("models", "--help").both + command("debate", "--help").both


APP = """
import typer

from roundtable.errors import SessionNotFound

app = typer.Typer()

@app.command()
def score(file: str, *, times: int = typer.Option(1, "--times", help="How often.")) -> int:
    '''Score a file. Then say so.'''
    if file == "missing":
        raise SessionNotFound("there is no session 'missing'")
    if file == "broken":
        raise ZeroDivisionError("oops")
    if file == "end":
        raise typer.Exit(9)
    typer.echo(f"scored {file} {times}")
    return times - 1

registrar.add("score", app)
"""
GROUP = """
import typer

app = typer.Typer(help="Manage scores.")

@app.command()
def add(what: str) -> None:
    typer.echo(f"added {what}")

@app.command()
def drop(what: str) -> None:
    typer.echo(f"dropped {what}")

registrar.add("scores", app)
registrar.add("empty", typer.Typer())
"""


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        pytest.param(("tea",), 0, "scored tea 1", id="runs"),
        pytest.param(("tea", "--times", "3"), 2, "scored tea 3", id="code"),
        pytest.param(("end",), 9, "", id="ends"),
        pytest.param((), 2, "Missing argument", id="incomplete"),
        pytest.param(("tea", "--tims", "3"), 2, "No such option: --tims", id="misspelt option"),
        pytest.param(("tea", "--times", "x"), 2, "Invalid value for '--times'", id="wrong value"),
        pytest.param(("missing",), 6, "there is no session 'missing'", id="error of the library"),
        pytest.param(
            ("broken",), 1, "the command 'score' of roundtable-score failed: ZeroDivisionError: oops", id="bug"
        ),
    ],
)
def test_a_typer_app_of_a_plugin_is_a_command_like_the_built_in_ones(
    command: Command, site: Site, words: tuple[str, ...], code: int, shown: str
) -> None:
    site.install("roundtable-score", hook("commands", APP))
    done = command("score", *words)
    assert (done.code, shown in done.both) == (code, True), done.both
    assert "Traceback" not in done.both
    if code == 2 and not done.out:
        assert "See `roundtable --help`, or `--help` after a command." in done.err


def test_the_help_of_a_typer_app_is_plain_and_listed(command: Command, site: Site) -> None:
    site.install("roundtable-score", hook("commands", APP))
    site.install("roundtable-scores", hook("commands", GROUP))
    told = command("--help").out.partition("Commands of plugins:\n")[2]
    assert told.splitlines() == [
        "  empty   A command of roundtable-scores.",
        "  score   Score a file.",
        "  scores  Manage scores.",
    ]
    for option in ("--help", "-h"):
        done = command("score", option)
        assert done.code == 0
        assert done.out.startswith("Usage: roundtable score [OPTIONS]")
        assert "How often." in done.out
        assert not {"\u256d", "--install-completion"} & {*done.out, *done.out.split()}
    assert "Usage: roundtable scores [OPTIONS] COMMAND" in command("scores", "--help").out
    assert command("scores", "drop", "tea").out == "dropped tea\n"
    assert (command("empty").code, "the command 'empty' of roundtable-scores failed" in command("empty").err) == (
        1,
        True,
    )


def test_a_misspelt_command_of_a_plugin_starts_no_debate(command: Command, site: Site) -> None:
    site.install("roundtable-score", hook("commands", "registrar.add('score', print)"))
    done = command("scroe", "tea")
    assert (done.code, "unknown command 'scroe'; did you mean 'score'?" in done.err) == (2, True)


def test_help_is_shown_even_if_the_environment_is_wrong(
    command: Command, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("roundtable-court")
    monkeypatch.setenv("ROUNDTABLE_MAX_ROUNDS", "many")
    done = command("--help")
    assert (done.code, "Exit codes:" in done.out, "cannot be listed" in done.out) == (0, True, True)


def test_help_is_shown_even_if_the_installed_packages_are_broken(
    command: Command, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> object:
        raise KeyError("entry_points.txt")

    monkeypatch.setattr("roundtable.cli.plugins.entry_points", broken)
    assert (command("--help").code, "plugins:" in command("--help").out) == (0, False)
    site.install("roundtable-score", hook("commands", "registrar.add('score', print)"))
    assert "  score  A command of roundtable-score." in command("--help").out


def test_text_that_a_plugin_prints_while_it_loads_is_not_part_of_the_output(command: Command, site: Site) -> None:
    site.install("roundtable-loud", f"print('welcome to court')\n{MODE}")
    done = command("plugins", "--json")
    assert isinstance(done.json, list)
    assert [one["name"] for one in done.json] == ["roundtable-loud"]
    assert "welcome to court" in done.err
