"""Structured logging: the library writes to loggers named `roundtable.*`; the program decides where log records go.

The command uses `configure_logging`. A program that configures logging itself does not need this module: it attaches
a handler to the logger `roundtable`, and finds the context of a record in the record's attributes.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TextIO

from roundtable.core.base.repeats import is_power_of_ten
from roundtable.core.base.secrets import REDACTED, secret_forms
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

__all__ = ["REDACTED", "ROOT", "ContextFormatter", "configure_logging", "is_power_of_ten"]

ROOT: Final = "roundtable"
"""Parent of all loggers of the library."""
SHORTEST_SECRET: Final = 4
"""Shorter secrets are not redacted: they would match parts of ordinary words."""

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


def escape_controls(text: str) -> str:
    r"""Replace every control, format and surrogate character of a text by its escape sequence.

    Example:
        >>> escape_controls("one\nline \x1b[31mred")
        'one\\nline \\x1b[31mred'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else char.encode("unicode_escape").decode()
        for char in text
    )


class ContextFormatter(logging.Formatter):
    """Writes one line per record: time, level, logger, message, and the context given in `extra`.

    Args:
        as_json: Whether a line is a JSON object rather than text.
        secrets: Texts that are redacted in every part of a record. For keys of 8 characters and more, their URL-encoded
            and base64 forms and their first 12 characters are redacted too.
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
        # Longest first, so that a secret that contains another one is redacted as a whole.
        forms = {
            form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in (secret, *secret_forms(secret))
        }
        self._secrets = sorted(forms, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, JsonValue] = {
            "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
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
        suffix = " ".join(f"{name}={_plain(value)}" for name, value in context.items())
        head = f"{line['timestamp']} {record.levelname} {record.name}: {line['message']}"
        return f"{head}  {suffix}" if suffix else head

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return escape_controls(text)

    def _value(self, value: object) -> JsonValue:
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        return self._clean(value if isinstance(value, str) else str(value))


def _plain(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or "=" in text else text


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to a stream, or to the current `sys.stderr` if no stream is given."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._stream is None:
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
    """Send the library's log records to one stream; a second call replaces the stream of the first.

    Only the logger `roundtable` is changed; handlers of the root logger still get its records too.

    Args:
        level: Lowest level that is written, such as the value of `Settings.log_level`.
        stream: Where to write; standard error when left out.
        json: Whether to write JSON objects, one per line. When left out, JSON is written unless the stream is a
            terminal.
        secrets: Texts to redact, such as the keys in use.
        stack: Whether stacks of logged exceptions are written.

    Raises:
        ConfigurationError: `level` is not a log level.

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
        msg = f"unknown log level {level!r}; choose {', '.join(_LEVELS)}"
        raise ConfigurationError(msg, hint="Pass one of these levels, in lower case.")
    as_json = not (stream or sys.stderr).isatty() if json is None else json
    handler = _Handler(stream)
    handler.setFormatter(ContextFormatter(as_json=as_json, secrets=secrets, stack=stack))
    logger = logging.getLogger(ROOT)
    for old in [old for old in logger.handlers if isinstance(old, _Handler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[level])
    return handler


# A library writes no output by itself; without this handler, Python writes warnings of unconfigured loggers to stderr.
logging.getLogger(ROOT).addHandler(logging.NullHandler())
