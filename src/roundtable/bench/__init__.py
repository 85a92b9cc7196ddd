"""Benchmarks: scenarios and experiments, and studies that measure whether debating pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.bench.arms import BASELINES, Extract, Moves, StudyAnswer, extract_last
from roundtable.bench.experiments import (
    Experiment,
    ExperimentOptions,
    ExperimentOutput,
    ExperimentRun,
    ExperimentVariables,
    read_experiment,
    read_metrics,
    run_experiment,
)
from roundtable.bench.metrics import (
    BenchmarkMetrics,
    Comparison,
    ConsensusMetrics,
    ContentMetrics,
    Delta,
    InteractionMetrics,
    LatencyMetrics,
    MetricsCollector,
    Recommendation,
    calculate_delta,
    compare_metrics,
    interaction_score,
    metrics_of,
)
from roundtable.bench.paper import write_paper
from roundtable.bench.progress import print_progress
from roundtable.bench.questions import Question, read_questions
from roundtable.bench.report import (
    AnswerChanges,
    ArmReport,
    Calibration,
    CategoryReport,
    PairedReport,
    Price,
    PricePoint,
    ReliabilityBin,
    StudyReport,
    StudyVerdict,
    Worth,
)
from roundtable.bench.runner import BenchmarkRunner, BenchmarkScenario, Executor, RepeatedScenario, ScenarioRun, Spread
from roundtable.bench.statistics import (
    Interval,
    holm_correction,
    mcnemar_test,
    paired_bootstrap,
    questions_needed,
    questions_to_see,
    smallest_difference,
    wilson_interval,
)
from roundtable.bench.study import Study, read_study, run_study
from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BASELINES",
    "AnswerChanges",
    "ArmReport",
    "BenchmarkMetrics",
    "BenchmarkRunner",
    "BenchmarkScenario",
    "Calibration",
    "CategoryReport",
    "Comparison",
    "ConsensusMetrics",
    "ContentMetrics",
    "Delta",
    "Executor",
    "Experiment",
    "ExperimentOptions",
    "ExperimentOutput",
    "ExperimentRun",
    "ExperimentVariables",
    "Extract",
    "InteractionMetrics",
    "Interval",
    "LatencyMetrics",
    "MetricsCollector",
    "Moves",
    "PairedReport",
    "Price",
    "PricePoint",
    "Question",
    "Recommendation",
    "ReliabilityBin",
    "RepeatedScenario",
    "ScenarioRun",
    "Spread",
    "Study",
    "StudyAnswer",
    "StudyReport",
    "StudyVerdict",
    "Worth",
    "calculate_delta",
    "compare_metrics",
    "extract_last",
    "holm_correction",
    "interaction_score",
    "mcnemar_test",
    "metrics_of",
    "paired_bootstrap",
    "print_progress",
    "questions_needed",
    "questions_to_see",
    "read_experiment",
    "read_metrics",
    "read_questions",
    "read_study",
    "run_experiment",
    "run_study",
    "smallest_difference",
    "wilson_interval",
    "write_paper",
]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {})
