"""From a model's text to an answer. Pure; the same text always reads the same."""

from roundtable.parsing.answers import Parsed, ParseFailure, parse_answer, parse_prose
from roundtable.parsing.documents import Document, find_document

__all__ = ["Document", "ParseFailure", "Parsed", "find_document", "parse_answer", "parse_prose"]
