"""Read YAML at a price that its length bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from yaml import Node

__all__ = ["MOST_REPEATED", "read_yaml"]

MOST_REPEATED: Final = 100_000
"""The most characters that the aliases of a text may repeat."""


def read_yaml(text: str) -> object:
    """Read a text in YAML.

    A text of a few hundred characters could stand for millions of values, since an alias repeats a value that contains
    aliases. So a text whose aliases repeat too much is refused before its values are created.

    Raises:
        ImportError: PyYAML is not installed.
        ValueError: The text is not YAML, is nested too deeply, or has aliases that repeat too much.
    """
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if _expanded_size(node, {}) > 2 * len(text) + MOST_REPEATED:
            raise ValueError(f"its aliases (*name) repeat more than {MOST_REPEATED:,} characters")
        content: object = loader.construct_document(node)
    # For tags whose text does not fit, such as `!!bool foo`, PyYAML raises errors of all these kinds.
    except (yaml.YAMLError, RecursionError, LookupError, AttributeError, TypeError) as error:
        raise ValueError(str(error) or type(error).__name__) from error
    return content


def _expanded_size(node: Node, sizes: dict[Node, float]) -> float:
    """Return the number of characters and values of a node, with everything that its aliases repeat.

    Without aliases, it is at most twice the length of the text.
    """
    if node not in sizes:
        sizes[node] = math.inf  # a node that contains itself has no end
        if isinstance(node.value, str):
            children: list[Node] = []
            own = len(node.value)
        else:
            parts = [part if isinstance(part, tuple) else (part,) for part in node.value]
            children, own = [child for part in parts for child in part], 0
        sizes[node] = 1 + own + sum(_expanded_size(child, sizes) for child in children)
    return sizes[node]
