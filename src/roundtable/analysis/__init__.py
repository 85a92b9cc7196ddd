"""Analysis of a round: how far its positions agree, and what the rule of the debate decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.analysis.ai import AIConsensusAnalyzer, AnalyzerDiagnostics
    from roundtable.analysis.basic import ConsensusAnalyzer, PlainAnalyzer
    from roundtable.analysis.chain import AnalyzerChain, AskingMeter, NamedMeter
    from roundtable.analysis.decision import (
        BallotBasis,
        CastVote,
        ballots_of,
        cast_votes,
        check_decider,
        check_rule,
        decide_record,
    )
    from roundtable.analysis.declared import DeclaredAnalyzer, RoundCamps
    from roundtable.analysis.factories import BUILTIN_ANALYZERS, AnalyzerSetup, DebateAnalyzerFactory, Readers
    from roundtable.analysis.findings import (
        Baselines,
        Dissent,
        MinorityReport,
        Vote,
        answer_changed,
        baselines_of,
        conformity_delta,
        dissenting_votes,
        independent_consensus,
        independent_turns,
        minority_report,
        votes_of,
    )
    from roundtable.analysis.health import DebateHealth, HealthFlag, Sycophancy, debate_health, detect_groupthink
    from roundtable.analysis.key_points import KeyPointsExtractor, key_points_by_rules
    from roundtable.analysis.pairs import LexicalScorer, PairScore, PairScorer
    from roundtable.analysis.response import (
        HIGH_AGREEMENT,
        MEDIUM_AGREEMENT,
        ResponseSettings,
        build_response,
        level_of,
    )
    from roundtable.analysis.semantic import SemanticAnalyzer, StanceAnalyzer
    from roundtable.core.engine.closing import independent_agreement

__all__ = [
    "BUILTIN_ANALYZERS",
    "HIGH_AGREEMENT",
    "MEDIUM_AGREEMENT",
    "AIConsensusAnalyzer",
    "AnalyzerChain",
    "AnalyzerDiagnostics",
    "AnalyzerSetup",
    "AskingMeter",
    "BallotBasis",
    "Baselines",
    "CastVote",
    "ConsensusAnalyzer",
    "DebateAnalyzerFactory",
    "DebateHealth",
    "DeclaredAnalyzer",
    "Dissent",
    "HealthFlag",
    "KeyPointsExtractor",
    "LexicalScorer",
    "MinorityReport",
    "NamedMeter",
    "PairScore",
    "PairScorer",
    "PlainAnalyzer",
    "Readers",
    "ResponseSettings",
    "RoundCamps",
    "SemanticAnalyzer",
    "StanceAnalyzer",
    "Sycophancy",
    "Vote",
    "answer_changed",
    "ballots_of",
    "baselines_of",
    "build_response",
    "cast_votes",
    "check_decider",
    "check_rule",
    "conformity_delta",
    "debate_health",
    "decide_record",
    "detect_groupthink",
    "dissenting_votes",
    "independent_agreement",
    "independent_consensus",
    "independent_turns",
    "key_points_by_rules",
    "level_of",
    "minority_report",
    "votes_of",
]

_NAMES = {
    ".core.engine.closing": "independent_agreement",
    "ai": "AIConsensusAnalyzer AnalyzerDiagnostics",
    "basic": "ConsensusAnalyzer PlainAnalyzer",
    "chain": "AnalyzerChain AskingMeter NamedMeter",
    "decision": "BallotBasis CastVote ballots_of cast_votes check_decider check_rule decide_record",
    "declared": "DeclaredAnalyzer RoundCamps",
    "factories": "BUILTIN_ANALYZERS AnalyzerSetup DebateAnalyzerFactory Readers",
    "findings": (
        "Baselines Dissent MinorityReport Vote answer_changed baselines_of conformity_delta "
        "dissenting_votes independent_consensus independent_turns minority_report votes_of"
    ),
    "health": "DebateHealth HealthFlag Sycophancy debate_health detect_groupthink",
    "key_points": "KeyPointsExtractor key_points_by_rules",
    "pairs": "LexicalScorer PairScore PairScorer",
    "response": "HIGH_AGREEMENT MEDIUM_AGREEMENT ResponseSettings build_response level_of",
    "semantic": "SemanticAnalyzer StanceAnalyzer",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()})
