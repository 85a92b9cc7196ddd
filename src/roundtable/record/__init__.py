"""Pure folds: events in, sessions and records out."""

from roundtable.record.fold import Fold, fold_debate, fold_session
from roundtable.record.progress import Progress, advance, start_progress

__all__ = ["Fold", "Progress", "advance", "fold_debate", "fold_session", "start_progress"]
