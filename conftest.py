"""Collect the examples of pages and docstrings as tests, and fail on skipped tests where asked to."""

from __future__ import annotations

import ast
import inspect
import os
import types
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path

import anyio
import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

DOCTEST = ELLIPSIS | NORMALIZE_WHITESPACE
FOLDER = pytest.StashKey[Path]()
OURS = ("ROUNDTABLE_", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "PERPLEXITY_", "OLLAMA_")
"""Environment variables that would change what an example does."""


def run_block(example: Example) -> None:
    """Run one Python block of a page; `await` outside a function works as it does in a notebook."""
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    code = compile(source, example.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    block = types.FunctionType(code, example.namespace)
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(block)
    else:
        block()


class Blocks(PythonCodeBlockParser):
    """Python blocks of a page: prompts with their output, or plain code that may await."""

    def __init__(self) -> None:
        super().__init__(doctest_optionflags=DOCTEST)
        self.codeblock_parser = CodeBlockParser("python", run_block)


PLACE = ("quiet_place",)
readme = Sybil(parsers=[Blocks(), SkipParser()], filenames=["README.md"], excludes=["*/README.md"], fixtures=PLACE)
pages = Sybil(parsers=[Blocks(), SkipParser()], path="docs", patterns=["*.md"], fixtures=PLACE)
docstrings = Sybil(parsers=[DocTestParser(DOCTEST)], path="src", patterns=["*.py"], fixtures=PLACE)
pytest_collect_file = SybilCollection([readme, pages, docstrings]).pytest()


@pytest.fixture
def quiet_place(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Give the examples of one file an empty folder, and no key or address from the environment."""
    stash = request.node.parent.stash
    if FOLDER not in stash:
        stash[FOLDER] = tmp_path_factory.mktemp("examples")
    monkeypatch.chdir(stash[FOLDER])
    for name in [name for name in os.environ if name.startswith(OURS) or name == "DATABASE_PATH"]:
        monkeypatch.delenv(name)


class SkipGate:
    """Fail a run in which a test or a whole file was skipped; an expected failure is no skip.

    Args:
        excuse: A skip whose reason holds this text is accepted; None accepts none.
    """

    def __init__(self, excuse: str | None) -> None:
        self.excuse = excuse
        self.skipped: list[str] = []

    def note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Note a skip that has no excuse."""
        reason = str(report.longrepr)
        if report.skipped and not hasattr(report, "wasxfail") and not (self.excuse and self.excuse in reason):
            self.skipped.append(f"{report.nodeid}: {reason}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look at a test."""
        self.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Look at a file, which may be skipped as a whole."""
        self.note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Turn a passed run into a failed one."""
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why the run failed."""
        if self.skipped:
            terminalreporter.section("skipped tests are refused here")
            terminalreporter.write_line("\n".join(self.skipped))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options by which CI refuses skipped tests."""
    parser.addoption("--fail-on-skip", action="store_true", help="fail when a test was skipped")
    parser.addoption("--may-skip", metavar="TEXT", help="accept a skip whose reason holds TEXT all the same")


def pytest_configure(config: pytest.Config) -> None:
    """Put the gate up where it is asked for."""
    if config.option.fail_on_skip:
        config.pluginmanager.register(SkipGate(config.option.may_skip))
