"""The twelve MCP tools."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from roundtable.mcp import inputs, outputs, read_tools, run_tools, texts
from roundtable.mcp.tool import RoundtableTool

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "TOOLS",
    "continue_roundtable",
    "control_session",
    "export_session",
    "get_agents",
    "get_citations",
    "get_consensus",
    "get_response_detail",
    "get_round_details",
    "get_thoughts",
    "list_sessions",
    "start_roundtable",
    "synthesize_debate",
]

start_roundtable: RoundtableTool[inputs.StartInput] = RoundtableTool(
    name="start_roundtable",
    title="Start a debate",
    description=texts.START,
    input=inputs.StartInput,
    output=outputs.DebateOutput,
    work=run_tools.start_debate,
    scope="write",
    calls_models=True,
)
continue_roundtable: RoundtableTool[inputs.ContinueInput] = RoundtableTool(
    name="continue_roundtable",
    title="Continue a debate",
    description=texts.CONTINUE,
    input=inputs.ContinueInput,
    output=outputs.DebateOutput,
    work=run_tools.continue_debate,
    scope="write",
    calls_models=True,
)
get_consensus: RoundtableTool[inputs.ConsensusInput] = RoundtableTool(
    name="get_consensus",
    title="Show agreement",
    description=texts.CONSENSUS,
    input=inputs.ConsensusInput,
    output=outputs.ConsensusOutput,
    work=read_tools.consensus_of,
)
get_agents: RoundtableTool[inputs.NoInput] = RoundtableTool(
    name="get_agents",
    title="List agents",
    description=texts.LIST_AGENTS,
    input=inputs.NoInput,
    output=outputs.AgentsOutput,
    work=read_tools.list_agents,
)
list_sessions: RoundtableTool[inputs.ListInput] = RoundtableTool(
    name="list_sessions",
    title="List debates",
    description=texts.LIST_SESSIONS,
    input=inputs.ListInput,
    output=outputs.ListOutput,
    work=read_tools.list_sessions,
)
get_thoughts: RoundtableTool[inputs.ThoughtsInput] = RoundtableTool(
    name="get_thoughts",
    title="Show what an agent thought",
    description=texts.THOUGHTS,
    input=inputs.ThoughtsInput,
    output=outputs.ThoughtsOutput,
    work=read_tools.thoughts_of,
)
export_session: RoundtableTool[inputs.ExportInput] = RoundtableTool(
    name="export_session",
    title="Export a debate",
    description=texts.EXPORT,
    input=inputs.ExportInput,
    output=outputs.ExportOutput,
    work=read_tools.export,
)
control_session: RoundtableTool[inputs.ControlInput] = RoundtableTool(
    name="control_session",
    title="Pause, resume or stop a debate",
    description=texts.CONTROL,
    input=inputs.ControlInput,
    output=outputs.ControlOutput,
    work=run_tools.control,
    scope="write",
    destructive=True,
    calls_models=True,
)
get_round_details: RoundtableTool[inputs.RoundInput] = RoundtableTool(
    name="get_round_details",
    title="Show a round",
    description=texts.ROUND,
    input=inputs.RoundInput,
    output=outputs.RoundOutput,
    work=read_tools.round_details,
)
get_response_detail: RoundtableTool[inputs.ResponseInput] = RoundtableTool(
    name="get_response_detail",
    title="Show an answer",
    description=texts.RESPONSE,
    input=inputs.ResponseInput,
    output=outputs.ResponseOutput,
    work=read_tools.response_detail,
)
get_citations: RoundtableTool[inputs.CitationsInput] = RoundtableTool(
    name="get_citations",
    title="List sources",
    description=texts.LIST_CITATIONS,
    input=inputs.CitationsInput,
    output=outputs.CitationsOutput,
    work=read_tools.list_citations,
)
synthesize_debate: RoundtableTool[inputs.SynthesisInput] = RoundtableTool(
    name="synthesize_debate",
    title="Synthesize a debate",
    description=texts.SYNTHESIS,
    input=inputs.SynthesisInput,
    output=outputs.SynthesisOutput,
    work=run_tools.synthesize,
    scope="write",
    calls_models=True,
)

TOOLS: Final[Mapping[str, RoundtableTool[Any]]] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            start_roundtable,
            continue_roundtable,
            get_consensus,
            get_agents,
            list_sessions,
            get_thoughts,
            export_session,
            control_session,
            get_round_details,
            get_response_detail,
            get_citations,
            synthesize_debate,
        )
    }
)
"""The tools by name, in the order of the listing."""
