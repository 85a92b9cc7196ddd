"""Rendering a report view as text, Markdown, HTML or CSV; whatever agents wrote comes out inert."""

from roundtable.report.answers import Words, in_words
from roundtable.report.cost import cost_in_words
from roundtable.report.fragment import to_fragment
from roundtable.report.inert import plain
from roundtable.report.markdown import markdown_parts, to_markdown
from roundtable.report.page import page_parts, section_parts, to_page
from roundtable.report.sheet import csv_parts
from roundtable.report.style import STYLE
from roundtable.report.tags import Html
from roundtable.report.text import to_text
from roundtable.report.view import CostView, OptionView, Parts, ReportView, RoundView, SourceView, SpeakerView
from roundtable.report.words import initials

__all__ = [
    "STYLE",
    "CostView",
    "Html",
    "OptionView",
    "Parts",
    "ReportView",
    "RoundView",
    "SourceView",
    "SpeakerView",
    "Words",
    "cost_in_words",
    "csv_parts",
    "in_words",
    "initials",
    "markdown_parts",
    "page_parts",
    "plain",
    "section_parts",
    "to_fragment",
    "to_markdown",
    "to_page",
    "to_text",
]
