"""MCP: the list of a server's tools as the clients of a session are shown it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.list_changes import ListChanges
from crosswind.gateway.tools.mcp_results import Members
from crosswind.gateway.tools.mcp_tools import ToolListView, ToolNames, merge_pages, tell_names
from crosswind.injectors.conversation import Site, ToolList, ToolSchema
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.engine.plan import NO_RULES, Plan
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.solvability import SPENT
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.profiles.schedule import WHOLE

UNSEEN = "The client was told that the list has changed, and didn't ask for it."


class ShownToolList:
    """The list of one server, with the noise on it.

    Under a rule that begins later than the session, it may change in the middle of it: what such rules do is
    decided when a call was made, and the clients that can be told are told.
    """

    def __init__(self, leg: ToolLeg, link: str) -> None:
        self._leg, self._link = leg, link
        self.names = ToolNames.recorded(leg.shown.get(link, ()))
        self.outputs: dict[str, Any] = {}
        """The output schemas, by tool."""
        self.changes = ListChanges()
        self.scheduled = _is_scheduled(leg.plan)
        """Whether noise may change the list in the middle of the session."""
        self._shown: ShownTools | None = None
        self._pages: list[list[ToolSchema]] = []
        self._decided_at = -1
        """The number of calls at which later rules were last asked."""
        self._unseen: list[Injection] = []
        """Done to a list that no client was shown yet."""
        self._spared: list[Injection] = []
        """More than whoever ordered the noise leaves."""
        self._told: set[str] = set()
        """The slots that were recorded, where rules are asked again."""

    def show(self, members: Members, *, first: bool, now_us: int) -> Members | None:
        """A page of the server's list, as clients are shown it; None: as it is. Raises msgspec.DecodeError,
        UnicodeError or KeyError where the members are none.
        """
        page = ToolListView.read(members)
        leg, link = self._leg, self._link
        leg.tools[link] = merge_pages(leg.tools_of(link), page.declared, first=first)
        self.outputs |= page.outputs
        self._pages = [page.tools] if first else [*self._pages, page.tools]
        shown = self._perturb(page.tools)
        told = [tell_names(one, shown) for one in (*self._unseen, *shown.injections)]
        self._record([*told, *self._spared], now_us)
        self._spared.clear()
        self._unseen.clear()
        self._decided_at = leg.calls
        self.names.learn(shown, page.names)
        uncached = self.scheduled and leg.enabled and "ttlMs" in members
        if shown.untouched and not uncached:
            return None
        changed = dict(members)
        if not shown.untouched:
            changed["tools"] = page.write(shown)
            if "cacheScope" in members:
                # One session's noise is no other's.
                changed["cacheScope"] = msgspec.Raw(b'"private"')
        if uncached:
            # It may be another list after the next call.
            changed["ttlMs"] = msgspec.Raw(b"0")
        return changed

    def renew(self) -> None:
        """A call was made: rules that begin now change the list, where a client can be told."""
        leg = self._leg
        if not (self.scheduled and self._pages and leg.enabled and self.changes.anyone):
            return
        if self._decided_at == leg.calls:
            return
        self._decided_at = leg.calls
        for tools in self._pages:
            done = [one for one in self._perturb(tools).injections if one.after is not None]
            self._unseen += done
            if done:
                self.changes.tell()

    def close(self, now_us: int) -> None:
        """No client will ask for the list any more."""
        told = [msgspec.structs.replace(one, after=None, note=UNSEEN) for one in self._unseen]
        self._record(told, now_us)
        self._unseen.clear()

    def _perturb(self, tools: Sequence[ToolSchema]) -> ShownTools:
        leg = self._leg
        shown = self._decide(tools, new=leg.enabled)
        acting = [one for one in shown.injections if one.after is not None]
        count = sum(one.decision.slot not in self._told for one in acting)
        left = leg.allowance.count_left()
        if left is not None and count > left:
            self._spared = [
                msgspec.structs.replace(one, after=None, note=f"Withheld: {SPENT}.") for one in acting
            ]
            shown = self._decide(tools, new=False)
        else:
            leg.allowance.take(count)
        if shown.anchor:
            self._shown = shown
        return shown

    def _decide(self, tools: Sequence[ToolSchema], *, new: bool) -> ShownTools:
        leg = self._leg
        taken = {tool.name for tool in leg.tools_of(self._link)} - {tool.name for tool in tools}
        return perturb_tools(
            leg.plan,
            ToolList(tools),
            ToolConstraints(duplicates="suffixed", taken=frozenset(taken)),
            known=self._shown,
            allow_new=new,
            turn=leg.calls,
            again=self.scheduled and new,
        )

    def _record(self, injections: Sequence[Injection], now_us: int) -> None:
        if self.scheduled:
            injections = [one for one in injections if one.decision.slot not in self._told]
            self._told.update(one.decision.slot for one in injections)
        self._leg.add_injections(self._link, injections, now_us)


def _is_scheduled(plan: Plan) -> bool:
    """Whether a rule on lists of tools begins, or ends, at a certain turn."""
    rules = plan.rules_by_site.get(Site.TOOL_SCHEMA, NO_RULES).values()
    return any(one.rule.when.start > 0 or one.rule.window != WHOLE for one in rules)
