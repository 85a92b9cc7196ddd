"""Parse a model's text into an answer. Pure: the same text always gives the same answer."""

from roundtable.parsing.answers import Parsed, ParseFailure, parse_answer, parse_prose, with_reading
from roundtable.parsing.json_in_text import Document, find_document
from roundtable.parsing.replies import read_reply
from roundtable.parsing.values import check_answer_schema, value_problem

__all__ = [
    "Document",
    "ParseFailure",
    "Parsed",
    "check_answer_schema",
    "find_document",
    "parse_answer",
    "parse_prose",
    "read_reply",
    "value_problem",
    "with_reading",
]
