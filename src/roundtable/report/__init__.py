"""Rendering a report view as text, Markdown or HTML; whatever agents wrote comes out inert."""

from roundtable.report.answers import Words, in_words
from roundtable.report.cost import cost_in_words
from roundtable.report.render import to_html, to_markdown, to_text
from roundtable.report.view import ReportView, RoundView, SpeakerView

__all__ = [
    "ReportView",
    "RoundView",
    "SpeakerView",
    "Words",
    "cost_in_words",
    "in_words",
    "to_html",
    "to_markdown",
    "to_text",
]
