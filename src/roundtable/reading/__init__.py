"""Read the answer in a text: one reader for debates, votes, people, studies, imports and the command.

Pure: the same text and question always give the same reading.
"""

from roundtable.reading.abstentions import ABSTAIN
from roundtable.reading.asked import Asked, QuestionKind
from roundtable.reading.options import own_labels
from roundtable.reading.parts import Part, as_stated, read_parts
from roundtable.reading.reader import READER_VERSION, read_answer
from roundtable.reading.references import OWN
from roundtable.reading.thoughts import without_thoughts

__all__ = [
    "ABSTAIN",
    "OWN",
    "READER_VERSION",
    "Asked",
    "Part",
    "QuestionKind",
    "as_stated",
    "own_labels",
    "read_answer",
    "read_parts",
    "without_thoughts",
]
