"""Structured logging: the library writes to loggers named `roundtable.*`, a program decides where that goes.

`configure_logging` is what the command uses. A program with logging of its own needs nothing of this module:
it attaches a handler to the logger `roundtable`, and finds the context of a record in its attributes.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TextIO

from roundtable._foreign import error_text
from roundtable._secrets import REDACTED, secret_forms
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

__all__ = ["REDACTED", "ROOT", "ContextFormatter", "configure_logging"]

ROOT: Final = "roundtable"
"""Parent of all loggers of the library."""
SHORTEST_SECRET: Final = 4
"""A shorter secret is not looked for: it would hit half of all words."""

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


def inert(text: str) -> str:
    r"""Give a text in which every control, format and surrogate character is written as its escape.

    Example:
        >>> inert("one\nline \x1b[31mred")
        'one\\nline \\x1b[31mred'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else char.encode("unicode_escape").decode()
        for char in text
    )


class ContextFormatter(logging.Formatter):
    """Writes one line a record: when, how bad, where from, what, and the context given in `extra`.

    Args:
        as_json: Whether a line is a JSON object rather than text.
        secrets: Texts that never get through, in whatever part of a record they stand; of keys of 8 characters and
            more neither their URL-encoded and base64 forms, nor their first 12 characters.
        stack: Whether the stack of a logged exception is written too.

    Example:
        >>> form = ContextFormatter(secrets=["sk-very-secret"])
        >>> record = logging.makeLogRecord(
        ...     {
        ...         "name": "roundtable.engine",
        ...         "levelname": "WARNING",
        ...         "msg": "key sk-very-secret refused",
        ...         "created": 0.0,
        ...         "session": "s1",
        ...         "round": 2,
        ...     }
        ... )
        >>> form.format(record)
        '1970-01-01T00:00:00.000Z WARNING roundtable.engine: key [redacted] refused  session=s1 round=2'
    """

    def __init__(self, *, as_json: bool = False, secrets: Iterable[str] = (), stack: bool = False) -> None:
        super().__init__()
        self._as_json = as_json
        self._stack = stack
        # Longest first: a secret that contains another one goes as a whole.
        kept = {
            form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in (secret, *secret_forms(secret))
        }
        self._secrets = sorted(kept, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, JsonValue] = {
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._clean(record.getMessage()),
        }
        context = {
            self._clean(name): self._value(value)
            for name, value in vars(record).items()
            if name not in _STANDARD and value is not None
        }
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            context["error"] = self._clean(f"{type(error).__name__}: {error_text(error)}")
            if self._stack:
                context["stack"] = self._clean(self.formatException(record.exc_info))
        if self._as_json:
            return json.dumps({**context, **line}, ensure_ascii=False)
        known = " ".join(f"{name}={_plain(value)}" for name, value in context.items())
        head = f"{line['timestamp']} {record.levelname} {record.name}: {line['message']}"
        return f"{head}  {known}" if known else head

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return inert(text)

    def _value(self, value: object) -> JsonValue:
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        return self._clean(value if isinstance(value, str) else str(value))


def _plain(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or "=" in text else text


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to a stream, or to whatever `sys.stderr` is at the time."""

    def __init__(self, given: TextIO | None) -> None:
        super().__init__(given)
        self._given = given

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._given is None:
            self.stream = sys.stderr
        super().emit(record)


def configure_logging(
    level: str = "info",
    *,
    stream: TextIO | None = None,
    json: bool | None = None,
    secrets: Iterable[str] = (),
    stack: bool = False,
) -> logging.Handler:
    """Send what the library logs to one place; calling it again replaces that place.

    Only the logger `roundtable` is touched; handlers of the root logger get its records too, as ever.

    Args:
        level: Least level that is written, such as the value of `Settings.log_level`.
        stream: Where to; standard error when left out.
        json: Whether to write JSON objects, one a line; left out, unless the stream is a terminal.
        secrets: Texts that never get through, such as the keys in use.
        stack: Whether stacks of logged exceptions are written.

    Raises:
        ConfigurationError: There is no such level.

    Returns:
        The handler, for `logging.getLogger("roundtable").removeHandler`.

    Example:
        >>> import io
        >>> lines = io.StringIO()
        >>> handler = configure_logging("warning", stream=lines, json=True)
        >>> logging.getLogger("roundtable.engine").warning("slow", extra={"agent": "ada"})
        >>> sorted(__import__("json").loads(lines.getvalue()))
        ['agent', 'level', 'logger', 'message', 'timestamp']
        >>> logging.getLogger("roundtable").removeHandler(handler)
        >>> logging.getLogger("roundtable").setLevel(logging.NOTSET)
    """
    if level not in _LEVELS:
        msg = f"there is no log level {level!r}; there are {', '.join(_LEVELS)}"
        raise ConfigurationError(msg, hint="LOG_LEVEL takes the same words.")
    as_json = not (stream or sys.stderr).isatty() if json is None else json
    handler = _Handler(stream)
    handler.setFormatter(ContextFormatter(as_json=as_json, secrets=secrets, stack=stack))
    logger = logging.getLogger(ROOT)
    for old in [old for old in logger.handlers if isinstance(old, _Handler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[level])
    return handler


# A library says nothing by itself: without this, Python writes warnings of unconfigured loggers to standard error.
logging.getLogger(ROOT).addHandler(logging.NullHandler())
