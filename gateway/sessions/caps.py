"""Caps on a new session's noise: whether it may be noisy at all, and how many injections it may have."""

from __future__ import annotations

import dataclasses

from crosswind.gateway.config.sections import Dose
from crosswind.injectors.engine.plan import CLEAN, Plan
from crosswind.injectors.seeded_random import draw_once


def find_share(dose: Dose, tenant: str | None) -> float:
    """The share of a tenant's sessions that may be noisy."""
    return min(dose.share, dose.tenants.get(tenant, 1.0) if tenant is not None else 1.0)


def may_be_noisy(dose: Dose, tenant: str | None, *, seed: int, key: str) -> bool:
    """Whether a session may be noisy: a share of sessions is, and the same ones in each run."""
    share = find_share(dose, tenant)
    return share >= 1.0 or draw_once(f"dose|{seed}|{key}") < share


def apply_caps(plan: Plan, dose: Dose) -> Plan:
    """The plan with its bounds tightened to the caps. A clean plan is returned unchanged."""
    if plan.arm == CLEAN or not plan.rules:
        return plan
    bounds = plan.bounds
    session = min(bounds.events_per_session, dose.events_per_session or bounds.events_per_session)
    caps = [one for one in (bounds.events_per_tool, dose.events_per_tool) if one is not None]
    tool = min(caps) if caps else None
    if (session, tool) == (bounds.events_per_session, bounds.events_per_tool):
        return plan
    tighter = dataclasses.replace(bounds, events_per_session=session, events_per_tool=tool)
    return dataclasses.replace(plan, bounds=tighter)
