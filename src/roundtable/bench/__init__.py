"""Benchmarks: scenarios and experiments, and studies that measure whether debating pays."""

from roundtable.bench.arms import BASELINES, Extract, StudyAnswer, extract_last
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
    ConsensusMetrics,
    ContentMetrics,
    InteractionMetrics,
    LatencyMetrics,
    interaction_score,
)
from roundtable.bench.progress import print_progress
from roundtable.bench.questions import Question, read_questions
from roundtable.bench.results import (
    Comparison,
    Delta,
    MetricsCollector,
    Recommendation,
    calculate_delta,
    compare_metrics,
    metrics_of,
)
from roundtable.bench.runner import BenchmarkRunner, BenchmarkScenario, Executor, RepeatedScenario, ScenarioRun, Spread
from roundtable.bench.statistics import Interval, mcnemar_test, paired_bootstrap, questions_needed, wilson_interval
from roundtable.bench.study import ArmReport, Movement, PairedReport, StudyReport, StudyVerdict, Worth, run_study

__all__ = [
    "BASELINES",
    "ArmReport",
    "BenchmarkMetrics",
    "BenchmarkRunner",
    "BenchmarkScenario",
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
    "Movement",
    "PairedReport",
    "Question",
    "Recommendation",
    "RepeatedScenario",
    "ScenarioRun",
    "Spread",
    "StudyAnswer",
    "StudyReport",
    "StudyVerdict",
    "Worth",
    "calculate_delta",
    "compare_metrics",
    "extract_last",
    "interaction_score",
    "mcnemar_test",
    "metrics_of",
    "paired_bootstrap",
    "print_progress",
    "questions_needed",
    "read_experiment",
    "read_metrics",
    "read_questions",
    "run_experiment",
    "run_study",
    "wilson_interval",
]
