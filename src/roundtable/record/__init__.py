"""Sessions and records from events, and events from edited sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.record.chain import ChainHead, LogFault
    from roundtable.core.record.fold import (
        Fold,
        Progress,
        advance,
        fold_debate,
        fold_session,
        reports,
        result_of,
        start_progress,
        team_outcome,
    )
    from roundtable.core.record.transitions import follow, rebase_past, shared_past
    from roundtable.record.archive import (
        ARCHIVE_FORMAT,
        ARCHIVE_VERSION,
        archive_parts,
        read_archive,
        read_record,
        with_id,
    )
    from roundtable.record.session_edit import append_response, save_changes, store_whole
    from roundtable.record.signature import LogSignature, sign_head
    from roundtable.record.verification import Verification, verify_archive, verify_log

__all__ = [
    "ARCHIVE_FORMAT",
    "ARCHIVE_VERSION",
    "ChainHead",
    "Fold",
    "LogFault",
    "LogSignature",
    "Progress",
    "Verification",
    "advance",
    "append_response",
    "archive_parts",
    "fold_debate",
    "fold_session",
    "follow",
    "read_archive",
    "read_record",
    "rebase_past",
    "reports",
    "result_of",
    "save_changes",
    "shared_past",
    "sign_head",
    "start_progress",
    "store_whole",
    "team_outcome",
    "verify_archive",
    "verify_log",
    "with_id",
]

_NAMES = {
    "archive": "ARCHIVE_FORMAT ARCHIVE_VERSION archive_parts read_archive read_record with_id",
    ".core.record.chain": "ChainHead LogFault",
    ".core.record.fold": "Fold Progress advance fold_debate fold_session reports result_of start_progress team_outcome",
    "session_edit": "append_response save_changes store_whole",
    "signature": "LogSignature sign_head",
    ".core.record.transitions": "follow rebase_past shared_past",
    "verification": "Verification verify_archive verify_log",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()})
