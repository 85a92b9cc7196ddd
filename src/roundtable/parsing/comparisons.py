"""Read what an answer says about earlier answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from roundtable.parsing.members import text_in

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonValue

__all__ = ["parse_comparisons"]

_MOST_VERDICTS: Final = 50


def parse_comparisons(
    value: JsonValue,
) -> tuple[tuple[tuple[str, Literal["same", "different"]], ...], tuple[str, ...]]:
    """Return the verdicts on earlier answers by label, and a warning for each that cannot be read.

    Args:
        value: What the form says about them.

    Example:
        >>> parse_comparisons({"Ada": "same", "Bo": None})
        ((('Ada', 'same'),), ())
    """
    if not isinstance(value, dict):
        return (), () if value is None else ("the comparison with earlier answers is not an object; it does not count",)
    verdicts: list[tuple[str, Literal["same", "different"]]] = []
    warnings: list[str] = []
    for label, verdict in list(value.items())[:_MOST_VERDICTS]:
        match text_in(verdict).casefold().strip(" .!"):
            case "same":
                verdicts.append((label, "same"))
            case "different":
                verdicts.append((label, "different"))
            case _ if verdict is not None:
                warnings.append(f"the answer compared as {label[:80]!r} is neither the same nor different")
            case _:
                pass  # by the schema, null means that the model cannot decide
    if len(value) > _MOST_VERDICTS:
        warnings.append(f"only the first {_MOST_VERDICTS} of {len(value)} comparisons were read")
    return tuple(verdicts), tuple(warnings)
