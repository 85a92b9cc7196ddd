"""Show `Example:` sections as code in the reference.

Our docstrings head it in the singular, which griffe takes for a note; it knows the plural as a section of examples.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import griffe

if TYPE_CHECKING:
    from griffe import Object

SECTION = re.compile(r"^Example:$", re.MULTILINE)


class SingularExamples(griffe.Extension):
    """Read `Example:` as `Examples:`."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Rename the section in the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = SECTION.sub("Examples:", obj.docstring.value)
