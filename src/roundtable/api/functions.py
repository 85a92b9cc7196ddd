"""A debate as a typed function, which other libraries can turn into a tool or a node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Unpack

from pydantic import TypeAdapter, ValidationError

from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.debate import Topic

if TYPE_CHECKING:
    from roundtable.api.options import DebateOptions
    from roundtable.api.table import Roundtable

__all__ = ["as_function"]

_DESCRIPTION: Final = (
    "Ask a panel of experts to debate a question. Returns their answer, how far they agree, and who disagrees."
)


def as_function(
    table: Roundtable, *, name: str = "debate", description: str = _DESCRIPTION, **options: Unpack[DebateOptions]
) -> Callable[[str], Awaitable[str]]:
    """Return a function that debates a question, for libraries that turn typed functions into tools.

    The function has the signature `async def debate(question: str) -> str` and a docstring that describes it. It
    returns the text that `print(result)` shows. If the debate fails, it returns the reason, so that the model that
    called it can continue.

    Args:
        table: The table that runs the debates; you must close it yourself.
        name: Name of the function, which models see.
        description: Description of the function for models.
        options: Options of each debate, as for `Roundtable.debate`.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        >>> consult = as_function(table, name="consult", rounds=1)
        >>> print(anyio.run(consult, "Tea or coffee?").splitlines()[0])
        Tea or coffee?
    """

    async def debate(question: str) -> str:
        try:
            return str(await table.debate(question, **options))
        except RoundtableError as error:
            if isinstance(error, ConfigurationError) and _is_topic(question):
                raise  # the table or an option is wrong, so another question would fail too
            return f"The debate failed: {error.message}"

    debate.__name__ = debate.__qualname__ = name
    debate.__doc__ = (
        f"{description}\n\nArgs:\n    question: The question, with all that the experts must know about it."
    )
    debate.__annotations__ = {"question": str, "return": str}
    return debate


def _is_topic(question: str) -> bool:
    try:
        TypeAdapter(Topic).validate_python(question)
    except ValidationError:
        return False
    return True
