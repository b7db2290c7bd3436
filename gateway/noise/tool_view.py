"""How one turn's policy sees the tools, and how its calls are mapped back to the client's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from crosswind.gateway.protocols.call_ids import MessageIds, find_true_ids
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, HistoryEdits
from crosswind.gateway.protocols.history import policy_anchor_base
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.tool_mapping import AnswerAnchor, ToolMapping, WrittenTools
from crosswind.gateway.protocols.tools import rename_tool_choice, tool_choice_names
from crosswind.gateway.sessions.ledger import Ledger
from crosswind.injectors.conversation import ToolList
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.wording import Texts

UNKNOWN_TOOL = '{"error": "unknown_tool", "message": "there is no tool of that name"}'
MOST_ROUNDS = 3
"""How many rounds in a row a phantom answers; then it leaves the schema."""


@dataclass(slots=True)
class TurnTools(CallMapping):
    """The tools as a turn's policy sees them: the `CallMapping` by which the turn's answer is read."""

    mapping: ToolMapping
    shown: ShownTools
    answered: Mapping[str, int]
    """By tool: the calls answered inside the gateway before this turn."""
    members: dict[str, bytes | None] = field(default_factory=dict)
    """The members of the body that differ from the client's: its tools and its choice of tools."""
    forward: HistoryEdits | None = None

    lasting: ShownTools = field(init=False)
    """What the ledger keeps. A list that only this request needed in another form is arranged again later."""

    def __post_init__(self) -> None:
        self.lasting = self.shown

    def client_name(self, name: str) -> str:
        return self.shown.declared_of.get(name, name)

    def shown_name(self, name: str) -> str:
        declared = self.client_name(name)
        return self.shown.shown_of.get(declared, declared)

    def is_hidden(self, name: str, arguments: str) -> bool:
        return name in self.shown.phantoms or self._objection(name, arguments) is not None

    def needs_arguments(self, name: str) -> bool:
        return name in self.shown.refusals and not self.answered.get(name)

    def may_continue(self, name: str) -> bool:
        names = (*(tool.name for tool in self.shown.tools), *self.shown.phantoms)
        return any(one != name and one.startswith(name) for one in names)

    @property
    def hides_calls(self) -> bool:
        return bool(self.shown.phantoms or self.shown.refusals)

    def answer(self, call: HiddenCall, before: int) -> str:
        """The result of an inner call. `before` counts its tool's calls answered earlier in this turn."""
        phantom = self.shown.phantoms.get(call.name)
        if phantom is not None:
            return phantom.answer(self.answered.get(call.name, 0) + before)
        return self._objection(call.name, call.arguments) or UNKNOWN_TOOL

    def _objection(self, name: str, arguments: str) -> str | None:
        refusal = self.shown.refusals.get(name)
        return refusal.objection(arguments) if refusal and not self.answered.get(name) else None


def show_tools(
    codec: Codec,
    plan: Plan,
    ledger: Ledger,
    request: Request,
    *,
    turn: int,
    allow_new: bool,
    duplicates: str,
    texts: Texts | None,
    elsewhere: frozenset[str] = frozenset(),
) -> TurnTools | None:
    """Show the declared tools as before, or decide how. None: as the client declared them, and nothing has to
    be mapped. Tools `elsewhere` are a tool leg's, and stay as declared.
    """
    tools = request.conversation.tools
    raw = request.frame.raw("tools")
    mapping = codec.tool_mapping
    if mapping is None or raw is None or not tools:
        return show_declared(codec, ledger, request)
    constraints = constrain_tools(mapping, request, raw, ledger.last_tools, duplicates)
    shown = perturb_tools(
        plan,
        tools,
        constraints,
        known=ledger.shown_tools(ToolList.of(tools).anchor),
        allow_new=allow_new,
        turn=turn,
        texts=texts,
        elsewhere=elsewhere,
    )
    view = TurnTools(mapping, shown, dict(ledger.answered))
    if constraints.choices > 1 or constraints.forced:
        view.lasting = replace(shown, anchor=f"{shown.anchor}!")
    if not shown.untouched:
        view.members["tools"] = ledger.last_tools.write_tools(mapping, raw, shown.tools)
    names = shown.shown_of
    written = request.frame.raw("tool_choice")
    if names and written is not None:
        view.members["tool_choice"] = rename_tool_choice(written, names)
    put_back = {
        index: put
        for index, anchor in enumerate(request.policy_anchors() if ledger.reinsertions else ())
        if (put := ledger.reinsertion(codec.name, anchor)) is not None
    }
    ahead, ids = _find_pending(codec, ledger, request), _find_ids(codec, ledger, request)
    view.forward = HistoryEdits(mapping, names, put_back, ahead, ids)
    return view


def constrain_tools(
    mapping: ToolMapping, request: Request, tools: bytes, known: WrittenTools, duplicates: str = "allowed"
) -> ToolConstraints:
    """The limits that a request with these `tools` sets to them. `known`: its session's tools."""
    return ToolConstraints(
        request.choices,
        tool_choice_names(request.frame.value("tool_choice")),
        "suffixed" if "suffixed" in (duplicates, mapping.duplicates) else "allowed",
        known.strict_tools(mapping, tools),
        known.reserved_names(mapping, tools),
    )


def show_declared(codec: Codec, ledger: Ledger, request: Request) -> TurnTools | None:
    """The tools as declared, with the results that the upstream's copy of the history lacks, and with the ids
    that the policy gave its calls. None: nothing of that differs.
    """
    if codec.tool_mapping is None or not (ledger.reinsertions or ledger.changes_ids):
        return None
    pending, ids = _find_pending(codec, ledger, request), _find_ids(codec, ledger, request)
    if not (pending or ids):
        return None
    forward = HistoryEdits(codec.tool_mapping, {}, {}, pending, ids)
    return TurnTools(codec.tool_mapping, ShownTools.clean(request.conversation.tools), {}, forward=forward)


def _find_ids(codec: Codec, ledger: Ledger, request: Request) -> Mapping[int, MessageIds]:
    """The ids of calls that noise changed, by the message of this request's body."""
    if not ledger.changes_ids:
        return {}
    known = request.held + len(request.steps)
    found = find_true_ids(request.history, known, partial(ledger.true_ids, codec.name))
    return {index - request.held: ids for index, ids in found.items() if index >= request.held}


def _find_pending(codec: Codec, ledger: Ledger, request: Request) -> tuple[str, ...]:
    """Results of inner calls that were never sent, of the response that a request continues."""
    return find_pending_results(codec, ledger, request.previous_anchors()) if ledger.reinsertions else ()


def find_pending_results(codec: Codec, ledger: Ledger, goes_on: Iterable[str | None]) -> tuple[str, ...]:
    """Results of inner calls that were never sent, by the anchors of the messages that made the calls."""
    known = [ledger.reinsertion(codec.name, made) for made in goes_on]
    return tuple(result for put in known if put is not None for result in put.owed)


def find_delivered_anchor(request: Request, found: AnswerAnchor) -> str | None:
    """The anchor by which later turns' histories will show the message delivered now."""
    call_id, said, before = found
    base = policy_anchor_base(call_id, said)
    if base is None:
        return None
    known = request.history.policy_anchors(request.held + len(request.steps))
    earlier = sum(anchor is not None and anchor.startswith(base + "#") for anchor in known)
    return f"{base}#{earlier + before}"
