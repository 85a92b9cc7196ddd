"""Endpoints that show the agents, modes and profiles of the server, and the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import Response

from roundtable.server.openapi_parts import json_response
from roundtable.server.response_bodies import (
    AgentList,
    LimitLeft,
    Me,
    ModeList,
    OfferedAgent,
    OfferedProfile,
    ProfileList,
)
from roundtable.server.runs import json_answer
from roundtable.server.state import Reader

if TYPE_CHECKING:
    from roundtable.api.offered import AgentOffer

__all__ = ["router"]


router: APIRouter = APIRouter(prefix="/api", tags=["offers"], default_response_class=Response)


@router.get("/agents", operation_id="listAgents", responses=json_response("Agents and models.", AgentList))
async def list_agents(caller: Reader) -> Response:
    """List the agents and models that can debate on this server."""
    agents = tuple(map(_agent, caller.tenant_session.table.agent_offers()))
    return json_answer(AgentList(agents=agents, models=tuple(caller.state.options.get("models", ()))))


def _agent(offer: AgentOffer) -> OfferedAgent:
    config, problem = offer
    return OfferedAgent(
        id=config.id,
        name=config.name,
        provider=config.provider,
        model=config.model,
        persona=None if config.persona is None else config.persona.name,
        active=problem is None,
        error=problem,
    )


@router.get("/modes", operation_id="listModes", responses=json_response("Modes.", ModeList))
async def list_modes(caller: Reader) -> Response:
    """List the debate modes."""
    return json_answer(ModeList(modes=caller.tenant_session.table.modes()))


@router.get("/profiles", operation_id="listProfiles", responses=json_response("Profiles.", ProfileList))
async def list_profiles(caller: Reader) -> Response:
    """List the profiles that teams can use."""
    entries = caller.tenant_session.table.catalog.profiles
    profiles = [entry.thing for entry in entries]
    return json_answer(
        ProfileList(
            profiles=tuple(
                OfferedProfile(
                    name=profile.name,
                    tools=tuple(map(_tool_name, profile.tools)),
                    max_steps=profile.max_steps,
                    on_error=profile.on_error,
                )
                for profile in profiles
            )
        )
    )


def _tool_name(tool: object) -> str:
    if isinstance(tool, str):
        return tool
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__)


@router.get("/me", operation_id="whoAmI", responses=json_response("The caller.", Me))
async def who_am_i(caller: Reader) -> Response:
    """Return the caller, their scopes, and what is left of their limits."""
    identity = caller.identity
    limits = await caller.state.limits.standings(identity.user)
    return json_answer(
        Me(
            user=identity.user,
            scopes=identity.scopes,
            token_id=identity.token_id,
            expires_at=identity.expires_at,
            limits=tuple(
                LimitLeft.model_validate(
                    {
                        "limit": limit.name,
                        "quota": limit.quota,
                        "remaining": limit.remaining,
                        "window_s": limit.window_s,
                        "reset_s": limit.reset_s,
                    }
                )
                for limit in limits
            ),
        )
    )
