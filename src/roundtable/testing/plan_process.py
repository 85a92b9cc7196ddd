"""Plan with a mode in another process, in which sets of texts have another order."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pickle
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from typing import TYPE_CHECKING, Final, cast

from roundtable.core.base.text import error_text
from roundtable.core.types.debate import DebateContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.protocols import DebateModeStrategy

__all__ = ["main", "plans_by_hash_seed"]

_LIMIT_S: Final = 120.0
_NOT_CREATED: Final = "the mode cannot be created in another process"
_DEFINE_IT: Final = "define its class at the top of a module"
_CODE: Final = "from roundtable.testing.plan_process import main; main()"


def plans_by_hash_seed(
    mode: DebateModeStrategy, views: Sequence[DebateContext], hash_seeds: Sequence[int] = (1, 2)
) -> list[list[str]]:
    """Return the plans of a mode as JSON: for each hash seed, a list of plans from its own process.

    The processes run at the same time.

    Raises:
        AssertionError: The mode cannot be sent to another process, or a process failed.
    """
    module = type(mode).__module__
    if module == "__main__":
        raise AssertionError(f"{_NOT_CREATED}: it is defined in the program itself; {_DEFINE_IT}")
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        pickled = pickle.dumps(mode)
    except Exception as error:
        raise AssertionError(f"{_NOT_CREATED}: {error_text(error)}; {_DEFINE_IT}") from error
    sent = pickle.dumps((module, file, pickled, [view.to_json() for view in views]))
    with ExitStack() as started:
        processes = [started.enter_context(_start(seed)) for seed in hash_seeds]
        try:
            return [_result(process, sent) for process in processes]
        finally:
            for process in processes:
                process.kill()  # for processes that nobody waited for; without effect on others


def _start(hash_seed: int) -> subprocess.Popen[bytes]:
    # The rest of the environment stays the same, because the child must find the same packages.
    environment = {
        **os.environ,  # noqa: TID251  (not read, only passed on)
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return subprocess.Popen(  # noqa: S603  (this interpreter, with a fixed program)
        [sys.executable, "-c", _CODE],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _result(process: subprocess.Popen[bytes], sent: bytes) -> list[str]:
    try:
        output, errors = process.communicate(sent, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        msg = f"the mode did not plan within {_LIMIT_S:g} s in another process"
        raise AssertionError(msg) from error
    if process.returncode != 0:
        message = errors.decode(errors="replace")
        raise AssertionError(f"the mode failed in another process, which ended with {process.returncode}:\n{message}")
    plans: list[str] = json.loads(output)
    return plans


def main() -> None:
    """Read a mode and its views from standard input, and write its plans to standard output."""
    module, file, pickled, views = cast(
        "tuple[str, str | None, bytes, list[str]]",
        pickle.loads(sys.stdin.buffer.read()),  # noqa: S301  (our parent)
    )
    with redirect_stdout(sys.stderr):  # what the mode prints is not part of the plans
        _import(module, file)
        mode = cast("DebateModeStrategy", pickle.loads(pickled))  # noqa: S301  (as above)
        plans = [mode.next_stage(DebateContext.from_json(view)).to_json() for view in views]
    sys.stdout.write(json.dumps(plans))


def _import(module: str, file: str | None) -> None:
    """Import a module by its name, or from its file, as test runners do."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but something that it imports does not
        spec = importlib.util.spec_from_file_location(module, file) if file else None
        if spec is None or spec.loader is None:
            raise
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[module] = loaded
        spec.loader.exec_module(loaded)
