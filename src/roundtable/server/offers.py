"""What the server offers, and who its caller is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import Response

from roundtable.api.offered import offered_agents, offered_modes
from roundtable.server.answers import (
    AgentList,
    LimitLeft,
    Me,
    ModeList,
    OfferedAgent,
    OfferedProfile,
    ProfileList,
)
from roundtable.server.describing import gives
from roundtable.server.launching import json_answer
from roundtable.server.state import Reader

if TYPE_CHECKING:
    from roundtable.types import AgentConfig

__all__ = ["router"]

router: APIRouter = APIRouter(prefix="/api", tags=["offers"], default_response_class=Response)


@router.get("/agents", operation_id="listAgents", responses=gives("Agents and models.", AgentList))
async def list_agents(caller: Reader) -> Response:
    """List who can debate here."""
    agents = tuple(map(_agent, offered_agents(caller.desk.table)))
    return json_answer(AgentList(agents=agents, models=tuple(caller.state.options.get("models", ()))))


def _agent(config: AgentConfig) -> OfferedAgent:
    persona = None if config.persona is None else config.persona.name
    return OfferedAgent(id=config.id, name=config.name, provider=config.provider, model=config.model, persona=persona)


@router.get("/modes", operation_id="listModes", responses=gives("Modes.", ModeList))
async def list_modes(caller: Reader) -> Response:
    """List the debate modes."""
    return json_answer(ModeList(modes=offered_modes(caller.desk.table.wiring)))


@router.get("/profiles", operation_id="listProfiles", responses=gives("Profiles.", ProfileList))
async def list_profiles(caller: Reader) -> Response:
    """List whom teams can be made of."""
    entries = caller.desk.table.wiring.catalog.profiles
    profiles = [entry.thing for entry in entries]
    return json_answer(
        ProfileList(
            profiles=tuple(
                OfferedProfile(
                    name=one.name,
                    tools=tuple(map(_tool_name, one.tools)),
                    max_steps=one.max_steps,
                    on_error=one.on_error,
                )
                for one in profiles
            )
        )
    )


def _tool_name(tool: object) -> str:
    if isinstance(tool, str):
        return tool
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__)


@router.get("/me", operation_id="whoAmI", responses=gives("The caller.", Me))
async def who_am_i(caller: Reader) -> Response:
    """Say who calls, what they may do, and what is left of their limits."""
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
                        "limit": one.name,
                        "quota": one.quota,
                        "remaining": one.remaining,
                        "window_s": one.window_s,
                        "reset_s": one.reset_s,
                    }
                )
                for one in limits
            ),
        )
    )
