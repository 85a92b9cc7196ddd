"""Functions that render a report as text, Markdown, HTML or CSV; all text from agents is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.report.changes import ChangeView, Sentence, compare_words, new_sentences, split_sentences
    from roundtable.report.csv import csv_parts
    from roundtable.report.html import page_parts, section_parts, to_fragment, to_page
    from roundtable.report.html_builder import Html
    from roundtable.report.markdown import markdown_parts, to_markdown
    from roundtable.report.notebook import render_within
    from roundtable.report.sanitize import plain, unmarked
    from roundtable.report.style import STYLE
    from roundtable.report.text import Words, cost_in_words, flow_lines, in_words, pair_lines, to_text
    from roundtable.report.view import (
        ArgumentsView,
        CampView,
        ClaimView,
        CostView,
        EvidenceView,
        FlowCell,
        FlowView,
        OptionView,
        PairTable,
        Parts,
        ReportView,
        RoundView,
        SourceView,
        SpeakerView,
        choice_prefix,
        initials,
        short_answer,
    )

__all__ = [
    "STYLE",
    "ArgumentsView",
    "CampView",
    "ChangeView",
    "ClaimView",
    "CostView",
    "EvidenceView",
    "FlowCell",
    "FlowView",
    "Html",
    "OptionView",
    "PairTable",
    "Parts",
    "ReportView",
    "RoundView",
    "Sentence",
    "SourceView",
    "SpeakerView",
    "Words",
    "choice_prefix",
    "compare_words",
    "cost_in_words",
    "csv_parts",
    "flow_lines",
    "in_words",
    "initials",
    "markdown_parts",
    "new_sentences",
    "page_parts",
    "pair_lines",
    "plain",
    "render_within",
    "section_parts",
    "short_answer",
    "split_sentences",
    "to_fragment",
    "to_markdown",
    "to_page",
    "to_text",
    "unmarked",
]

_NAMES = {
    "changes": "ChangeView Sentence compare_words new_sentences split_sentences",
    "csv": "csv_parts",
    "html": "page_parts section_parts to_fragment to_page",
    "notebook": "render_within",
    "html_builder": "Html",
    "markdown": "markdown_parts to_markdown",
    "sanitize": "plain unmarked",
    "style": "STYLE",
    "text": "Words cost_in_words flow_lines in_words pair_lines to_text",
    "view": "ArgumentsView CampView ClaimView CostView EvidenceView FlowCell FlowView OptionView PairTable Parts"
    " ReportView RoundView SourceView SpeakerView choice_prefix initials short_answer",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()})
