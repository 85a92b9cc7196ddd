"""Collect the examples of pages and docstrings as tests, and fail on skipped tests where asked to."""

from __future__ import annotations

import ast
import inspect
import os
import types
from collections.abc import Generator, Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

if TYPE_CHECKING:
    from roundtable.testing.servers import LoopbackServer, Seen
    from roundtable.types import JsonObject

DOCTEST = ELLIPSIS | NORMALIZE_WHITESPACE
FOLDER = pytest.StashKey[Path]()
_MODELS = ("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "PERPLEXITY_", "OLLAMA_")
OURS = ("ROUNDTABLE_", *_MODELS, "BRAVE_", "TAVILY_", "SEARXNG_")
"""Environment variables that would change what an example does."""


def run_block(example: Example) -> None:
    """Run one Python block of a page; `await` outside a function works as it does in a notebook."""
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    code = compile(source, example.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    block = types.FunctionType(code, example.namespace)
    if code.co_flags & inspect.CO_COROUTINE:
        example.namespace["notebook_loop"].call(block)
    else:
        block()


class Blocks(PythonCodeBlockParser):
    """Python blocks of a page: prompts with their output, or plain code that may await."""

    def __init__(self) -> None:
        super().__init__(doctest_optionflags=DOCTEST)
        self.codeblock_parser = CodeBlockParser("python", run_block)


PLACE = ("quiet_place",)
MODEL = ("quiet_place", "some_model", "notebook_loop")
readme = Sybil(parsers=[Blocks(), SkipParser()], filenames=["README.md"], excludes=["*/README.md"], fixtures=MODEL)
pages = Sybil(parsers=[Blocks(), SkipParser()], path="docs", patterns=["*.md"], fixtures=MODEL)
docstrings = Sybil(parsers=[DocTestParser(DOCTEST)], path="src", patterns=["*.py"], fixtures=PLACE)
collect_examples = SybilCollection([readme, pages, docstrings]).pytest()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Look for examples where there are any: most modules have none, and taking them apart takes time."""
    if file_path.suffix == ".py" and b">>> " not in file_path.read_bytes():
        return None
    return collect_examples(file_path, parent)


@pytest.fixture
def quiet_place(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Run the examples of one file in an empty folder, with no key or address from the environment."""
    stash = request.node.parent.stash
    if FOLDER not in stash:
        stash[FOLDER] = tmp_path_factory.mktemp("examples")
    monkeypatch.chdir(stash[FOLDER])
    for name in [name for name in os.environ if name.startswith(OURS) or name == "DATABASE_PATH"]:
        monkeypatch.delenv(name)


def careful_answer(seen: Seen) -> JsonObject:
    """Return the answer of the seat that asks: the Skeptic would wait, all others agree."""
    alone = b"You are Skeptic" in seen.body
    return {
        "position": "Wait a year." if alone else "Start with one well-cut service.",
        "reasoning": "A team of five has one team's worth of time to run what it ships.",
        "confidence": 0.6 if alone else 0.8,
    }


@pytest.fixture(scope="session")
def some_server() -> Iterator[LoopbackServer]:
    """A chat-completions server on this machine."""
    from roundtable.testing.servers import LoopbackServer

    with LoopbackServer(careful_answer) as server:
        yield server


@pytest.fixture
def some_model(quiet_place: None, some_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """Offer a model to pages that name no agents, as the environment of a reader does."""
    monkeypatch.setenv("ROUNDTABLE_BASE_URL", some_server.url)
    monkeypatch.setenv("ROUNDTABLE_MODEL", "some-model")


@pytest.fixture(scope="module")
def notebook_loop() -> Iterator[BlockingPortal]:
    """One event loop for all blocks of a page, as a notebook has one for all cells."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:  # noqa: ARG001
    """Fail an example whose warning was raised after its end.

    Sybil shows the second entry of a traceback; the one of such a warning has only one.
    """
    if call.excinfo is not None and len(call.excinfo.traceback) == 1:
        call.excinfo.traceback = type(call.excinfo.traceback)([*call.excinfo.traceback] * 2)
    return (yield)


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
        """Print why the run failed."""
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
