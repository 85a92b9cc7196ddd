"""Folds, which are pure: events in, sessions and records out; and the way back, for who changes a session by hand."""

from roundtable.record.amend import append_response, save_changes, store_whole
from roundtable.record.archive import ARCHIVE_FORMAT, ARCHIVE_VERSION, archive_parts, read_archive, with_id
from roundtable.record.course import follow
from roundtable.record.fold import Fold, fold_debate, fold_session
from roundtable.record.past import past_until, with_past
from roundtable.record.progress import Progress, advance, start_progress
from roundtable.record.team import reports, result_of, team_outcome
from roundtable.record.versions import read_record

__all__ = [
    "ARCHIVE_FORMAT",
    "ARCHIVE_VERSION",
    "Fold",
    "Progress",
    "advance",
    "append_response",
    "archive_parts",
    "fold_debate",
    "fold_session",
    "follow",
    "past_until",
    "read_archive",
    "read_record",
    "reports",
    "result_of",
    "save_changes",
    "start_progress",
    "store_whole",
    "team_outcome",
    "with_id",
    "with_past",
]
