"""The command as a process: signals at any moment, terminals, pipes, and how quickly it starts."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from cli.kit import AGENTS, PROGRAM, Command, Done, Slow, always, as_process, clean_environment, process, stored
from integration.batch_kit import MODELS, BatchServer

from roundtable.results.debate_result import DebateResult
from roundtable.testing.servers import LoopbackServer

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def told(running: subprocess.Popen[str], answers: int) -> str:
    """Read on until a process has told the first answers; by then they are stored."""
    text = ""
    while not all(f"Tea {number}" in text for number in range(1, answers + 1)):
        line = running.stdout.readline()  # type: ignore[union-attr]
        assert line, running.communicate()
        text += line
    return text


def finish(command: Command, session: str, server: LoopbackServer, slow: Slow) -> DebateResult:
    """Resume a session with a server that answers at once."""
    slow.quick = 10**6
    done = command("resume", session, "--base-url", f"compatible={server.url}", "--json")
    assert done.code == 0, done.both
    return DebateResult.from_json(done.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP"),
    ],
)
def test_an_interrupted_debate_keeps_its_answers_and_says_how_to_continue(
    place: Path, command: Command, number: signal.Signals, code: int
) -> None:
    slow = Slow(quick=4)
    with LoopbackServer(slow) as server:
        with process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}") as running:
            slow.wait_for(2, running)
            out = told(running, 4)
            running.send_signal(number)
            rest, err = running.communicate(timeout=20)
            out += rest
        assert running.returncode == code
        assert "Traceback" not in out + err
        assert "saving what is done" in err
        assert "Ended: cancelled" in out
        kept = stored(command)
        assert (kept.status, kept.session_status) == ("partial", "paused")
        assert [len(held.responses) for held in kept.rounds] == [3, 1]
        assert f"Resume: roundtable resume {kept.session_id[:8]} --base-url compatible={server.url}" in " ".join(
            out.split()
        )
        asked = len(server.seen)
        result = finish(command, kept.session_id, server, slow)
        assert len(server.seen) == asked + 2
    assert result.status == "completed"
    assert result.rounds[0] == kept.rounds[0]


@pytest.mark.slow
def test_an_interrupted_debate_in_json_is_the_result_so_far(place: Path) -> None:
    slow = Slow(quick=3)
    with (
        LoopbackServer(slow) as server,
        process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}", "--json") as running,
    ):
        slow.wait_for(3, running)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert DebateResult.from_json(out).exit is not None


@pytest.mark.slow
def test_a_killed_debate_is_finished_without_asking_for_a_stored_turn_again(place: Path, command: Command) -> None:
    slow = Slow(quick=5)
    with LoopbackServer(slow) as server:
        with process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}") as running:
            slow.wait_for(1, running)
            told(running, 5)
            running.kill()
            running.wait(20)
        kept = stored(command)
        assert [len(held.responses) for held in kept.rounds] == [3, 2]
        asked = len(server.seen)
        result = finish(command, kept.session_id, server, slow)
        assert len(server.seen) == asked + 1
    assert result.status == "completed"
    assert result.rounds[0] == kept.rounds[0]


@pytest.mark.slow
def test_a_killed_debate_in_batches_pays_no_batch_twice(place: Path, command: Command) -> None:
    answer = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'
    agents = ("--agents", ",".join([f"anthropic:{MODELS['anthropic']}"] * 3), "--rounds", "2", "--analyzer", "declared")
    with BatchServer("anthropic", lambda _: answer, looks=10**6) as server:
        there = ("--batch", "anthropic", "--base-url", f"anthropic={server.url}")
        key = {"ANTHROPIC_API_KEY": "secret-key", "XDG_DATA_HOME": str(place / "data")}
        with process(place, "Tea?", *agents, *there, **key) as running:
            end = time.monotonic() + 30
            while not any(batch.looks for batch in server.batches):
                assert time.monotonic() < end, running.communicate(timeout=1)
                time.sleep(0.05)
            running.kill()
            running.wait(20)
        server.looks = 0
        done = as_process(place, ["resume", "last", *there, "--json"], **key)
    assert done.code == 0, done.both
    result = DebateResult.from_json(done.out)
    assert (result.status, result.answer) == ("completed", "Tea")
    assert server.submits == [3, 3]
    assert [len(held.responses) for held in result.rounds] == [3, 3]


@pytest.mark.slow
def test_a_resumed_debate_shows_the_round_in_which_it_stopped(place: Path, command: Command) -> None:
    slow = Slow(quick=5)
    with LoopbackServer(slow) as server:
        with process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}") as running:
            slow.wait_for(1, running)
            told(running, 5)
            running.kill()
            running.wait(20)
        kept = stored(command)
        slow.quick = 10**6
        words = ("resume", kept.session_id, "--base-url", f"compatible={server.url}")
        done = command(*words)
    assert done.code == 0, done.both
    before, line, after = done.out.partition("  stored before; resumed here\n")
    assert line
    assert "Round 2 of 2" in before
    assert "Round 1 of 2" not in before
    assert all(f"{said.agent_name} (70%): {said.position}" in before for said in kept.rounds[1].responses)
    assert len([shown for shown in after.splitlines() if re.match(r"  Compatible .*\(70%\): Tea", shown)]) == 1
    assert "Round 2 of 2" not in after


@pytest.mark.slow
def test_a_running_debate_is_stopped_from_another_process_and_cannot_be_run_twice(
    place: Path, command: Command
) -> None:
    slow = Slow(quick=1, pause_s=60)
    with LoopbackServer(slow) as server:
        base = ("--base-url", f"compatible={server.url}")
        with process(place, "Tea?", *AGENTS, *base, "--json") as running:
            slow.wait_for(2, running)
            listed = command("sessions", "--json", "--status", "active").json
            assert isinstance(listed, list)
            assert command("extend", listed[0]["id"], *base, "--json").code == 6
            assert command("stop", listed[0]["id"], "--json").code == 0
            out, _ = running.communicate(timeout=30)
        assert len(server.seen) == 3
    result = DebateResult.from_json(out)
    assert (running.returncode, result.session_status) == (0, "completed")
    assert result.exit is not None
    assert result.exit.reason == "stopped"


@pytest.mark.slow
def test_a_running_session_is_not_deleted_and_calls_that_were_sent_are_counted(place: Path, command: Command) -> None:
    slow = Slow(quick=0)
    with LoopbackServer(slow) as server:
        with process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}") as running:
            slow.wait_for(3, running)
            refused = command("delete", "last", "--yes")
            assert refused.code == 6
            assert "is running, so it cannot be deleted" in refused.err
            assert re.search(
                r"Hint: Stop it first: roundtable stop [0-9a-f]{8}\. Or remove it with --force\.", refused.err
            )
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=20)
        assert "Usage: 3 calls, 0 tokens in, 0 out" in out
        assert stored(command).usage.unreported_calls == 3
        assert command("delete", "last", "--yes").code == 0


@pytest.mark.slow
def test_a_run_whose_session_is_deleted_says_so_and_offers_no_way_to_continue(place: Path, command: Command) -> None:
    slow = Slow(quick=0)
    with (
        LoopbackServer(slow) as server,
        process(place, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}") as running,
    ):
        slow.wait_for(3, running)
        assert command("delete", "last", "--yes", "--force").code == 0
        _, err = running.communicate(timeout=20)
    assert running.returncode == 6
    assert "was removed from" in err
    assert "while it ran; it cannot be resumed" in err
    assert "Go on:" not in err


TWICE = """
import os, signal, anyio
from roundtable.cli.render import Screen
from roundtable.cli.signals import interruptible

async def work():
    with anyio.CancelScope(shield=True):
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep(60)

anyio.run(interruptible, work, Screen())
"""


@pytest.mark.slow
def test_a_second_interrupt_ends_the_command_without_waiting(tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", TWICE], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_an_interrupt_before_the_start_shows_no_traceback(tmp_path: Path) -> None:
    agents = always(tmp_path, {"ada": "Tea"})
    for wait_s in (0.15, 0.4, 0.7):
        with process(tmp_path, "Tea?", "--agents", agents, "--rounds", "1") as running:
            time.sleep(wait_s)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=20)
        # Before our code is reached the interpreter answers in its own way, also about a file that an import had open.
        if "ResourceWarning" not in err and ("<frozen runpy>" not in err or "roundtable/cli" in err):
            assert "Traceback" not in err
            assert running.returncode in {0, 130, -signal.SIGINT}, out + err


# ------------------------------------------------------------------ terminals and pipes


class Terminal:
    """A terminal with a command in it."""

    def __init__(self, folder: Path, *words: str, **more: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {**clean_environment(folder), **more}
        self.process = subprocess.Popen(
            [*PROGRAM, *words], cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.shown = ""

    def read_until(self, text: str, timeout_s: float = 30) -> None:
        end = time.monotonic() + timeout_s
        while text not in self.shown and time.monotonic() < end:
            if not self._read(0.2) and self.process.poll() is not None:
                break
        assert text in self.shown, self.shown

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read_to_the_end(self, timeout_s: float = 30) -> int:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and (self._read(0.2) or self.process.poll() is None):
            pass
        code = self.process.wait(5)
        os.close(self._master)
        return code

    def _read(self, timeout_s: float) -> bool:
        readable, _, _ = select.select([self._master], [], [], timeout_s)
        try:
            piece = os.read(self._master, 65536) if readable else b""
        except OSError:
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)


@pytest.mark.slow
def test_a_terminal_shows_who_is_thinking_and_is_restored_after_an_interrupt(tmp_path: Path) -> None:
    slow = Slow(quick=2)
    with LoopbackServer(slow) as server:
        terminal = Terminal(tmp_path, "[red]Tea?[/red]", *AGENTS, "--base-url", f"compatible={server.url}")
        slow.wait_for(1, terminal.process)
        terminal.read_until("Tea 2")
        terminal.read_until("thinking")
        terminal.process.send_signal(signal.SIGINT)
        code = terminal.read_to_the_end()
    shown = terminal.shown
    assert code == 130
    assert shown.count(HIDE_CURSOR) == shown.count(SHOW_CURSOR) > 0
    assert "[red]Tea?[/red]" in shown
    assert "Round 1 of 2" in shown
    assert "Compatible (a)" in shown
    assert "roundtable resume" in shown
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_terminal_shows_the_whole_debate_when_it_is_over(tmp_path: Path) -> None:
    agents = always(tmp_path, {"ada": "Tea", "bo": "Tea"})
    terminal = Terminal(tmp_path, "Tea?", "--agents", agents, "--rounds", "2")
    assert terminal.read_to_the_end() == 0
    for part in ("Round 2 of 2", "Because tea.", "Answer: Tea", "roundtable show"):
        assert part in terminal.shown
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.shown)


@pytest.mark.slow
def test_a_person_at_the_terminal_sees_no_answer_before_the_end(tmp_path: Path) -> None:
    """Neither who said what, which Delphi hides, nor a live view that runs over what is typed."""
    agents = f"human:ada,{always(tmp_path, {'bo': 'Secret tea'})}"
    terminal = Terminal(tmp_path, "Tea?", "--agents", agents, "--mode", "delphi", "--rounds", "2")
    terminal.read_until("position: ")
    assert "Secret tea" not in terminal.shown
    terminal.shown = ""
    terminal.type("Milk\n\n80\n\n")
    terminal.read_until("position: ")
    assert "Participant" in terminal.shown
    assert "scripted" not in terminal.shown
    assert "thinking" not in terminal.shown
    terminal.type("Milk\n\n80\n\n")
    assert terminal.read_to_the_end() == 0
    assert "scripted" in terminal.shown
    assert "human (ada) (80%): Milk" in terminal.shown


@pytest.mark.slow
def test_the_settings_for_no_color_and_plain_lines_are_respected(tmp_path: Path) -> None:
    agents = always(tmp_path, {"ada": "Tea", "bo": "Tea"})
    words = ("Tea?", "--agents", agents, "--rounds", "1")
    without_colour = Terminal(tmp_path, *words, NO_COLOR="1")
    plain = Terminal(tmp_path, *words, "--no-live")
    dumb = Terminal(tmp_path, *words, TERM="dumb")
    assert [terminal.read_to_the_end() for terminal in (without_colour, plain, dumb)] == [0, 0, 0]
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9]m", without_colour.shown)
    assert "\x1b" not in plain.shown
    assert "\x1b" not in dumb.shown
    assert all("Answer: Tea" in terminal.shown for terminal in (without_colour, plain, dumb))


@pytest.mark.slow
def test_a_reader_that_leaves_causes_no_traceback(tmp_path: Path) -> None:
    with process(tmp_path, "modes", "--json") as running:
        running.stdout.close()  # type: ignore[union-attr]
        running.wait(20)
        assert "Traceback" not in (running.stderr.read() if running.stderr else "")
    assert running.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_a_stream_cannot_encode_do_not_end_a_debate_and_json_keeps_them(
    tmp_path: Path, encoding: str
) -> None:
    agents = always(tmp_path, {"ada": "Tee für 東京 👍"})
    words = ["Tee?", "--agents", agents, "--rounds", "1"]
    assert as_process(tmp_path, words, PYTHONIOENCODING=encoding).code == 0
    told = as_process(tmp_path, [*words, "--json"], PYTHONIOENCODING=encoding)
    assert DebateResult.from_json(told.out).answer == "Tee für 東京 👍"


# ------------------------------------------------------------------ starting


def test_the_installed_command_and_the_module_are_the_same() -> None:
    installed = Path(sys.executable).with_name("roundtable")
    for words in ([str(installed)], list(PROGRAM)):
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert re.fullmatch(r"roundtable \d+\.\d+\.\d+\S*\n", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unloaded"),
    [
        (["--version"], ["typer", "rich", "pydantic", "anyio", "httpx", "roundtable.engine", "roundtable.cli"]),
        (["--help"], ["httpx", "sqlite3", "roundtable.engine", "roundtable.providers"]),
    ],
)
def test_commands_without_a_debate_do_not_load_the_engine(words: list[str], unloaded: list[str]) -> None:
    code = (
        f"import sys; from roundtable.__main__ import main; assert main({words!r}) == 0; "
        f"print([name for name in {unloaded!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_extra_the_command_says_how_to_install_it(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from roundtable.__main__ import main; sys.exit(main(['modes']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    if missing == "rich" and done.returncode == 0:
        return  # rich is only needed on a terminal
    assert done.returncode == 2
    assert "pip install 'roundtable-sdk[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_old_sessions_are_pruned_except_one_that_another_process_runs(
    kind: str, place: Path, agree: str, request: pytest.FixtureRequest
) -> None:
    url = "sqlite:///d.db" if kind == "sqlite" else str(request.getfixturevalue("postgres_url"))

    def ran(*words: str, code: int = 0) -> Done:
        done = as_process(place, [*words, "--storage", url])
        assert done.code == code, done.both
        assert kind == "sqlite" or "sk-canary" not in done.both
        return done

    def kept() -> list[str]:
        return [session["topic"] for session in ran("sessions", "--json").json]  # type: ignore[attr-defined]

    for topic in ("Tea?", "Milk?"):
        ran(topic, "--agents", agree, "--rounds", "1")
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        words = ("Rum?", *AGENTS, "--base-url", f"compatible={server.url}", "--storage", url)
        with process(place, *words) as running:
            slow.wait_for(2, running)
            assert "Removed 0 of 0 sessions" in ran("prune", "--before", "2020-01-01").out
            assert "Add --yes" in ran("prune", "--before", "2999-01-01", code=2).err
            assert len(kept()) == 3
            assert "Removed 2 of 3 sessions" in ran("prune", "--before", "2999-01-01", "--yes").out
            assert kept() == ["Rum?"]
            assert running.poll() is None
    assert ran("prune", "--before", "2999-01-01", "--yes", "--json").json == {"removed": 1}
    assert kept() == []
