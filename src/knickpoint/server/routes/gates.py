"""Routes of gates."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.server.answers.gates import list_gates
from knickpoint.server.routes.dependencies import RequestInstance, Visible
from knickpoint.server.schemas.gates import GateAnswer

__all__ = ["router"]

router = APIRouter(tags=["gates"])


@router.get("/gates")
def get_gates(visible: Visible, instance: RequestInstance) -> list[GateAnswer]:
    """List the gates: which commits they measure, what waits, what became of their newest probes."""
    return list_gates(instance, visible)
