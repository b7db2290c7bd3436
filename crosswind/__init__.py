"""The public interface of Crosswind: import these names from here, wherever the code behind them lives.

A name's module is imported when the name is first used: `import crosswind` needs the standard library only,
and neither a client nor an operator waits for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosswind.gateway.client import AsyncClient, Client, GatewayError, OpenedSession, SessionInfo
    from crosswind.gateway.trajectory.store import RowRefused, Store, StoreError, StoreUnavailable, open_store
    from crosswind.injectors.conversation import Site, ToolSchema
    from crosswind.injectors.engine.curriculum import Curriculum
    from crosswind.injectors.faults import (
        AnswerContent,
        AnswerEdit,
        Close,
        Fault,
        Reply,
        Resend,
        Send,
        StreamEvent,
        Wait,
    )
    from crosswind.injectors.operator import operator
    from crosswind.injectors.seeded_random import SeededRandom
    from crosswind.injectors.targets import (
        AddedTool,
        Draw,
        Effect,
        InstructionsTarget,
        ModelTarget,
        Recovery,
        Result,
        ToolChange,
        ToolClass,
        ToolResultTarget,
        ToolTarget,
        TransportTarget,
        UserTarget,
    )
    from crosswind.injectors.wording import UnusableText, written_form
    from crosswind.policies.engine import (
        Engine,
        EngineAway,
        EngineError,
        EngineHealth,
        PublishedVersion,
        ScoredTokens,
    )
    from crosswind.policies.server import PolicyServer, ServeError, ServeRequest
    from crosswind.policies.versions.version import PolicyVersion
    from crosswind.simulators.environment import Environment, Episode, Oracle, Task, Verdict
    from crosswind.trainer.curriculum.schedule import Schedule, schedule
    from crosswind.trainer.objectives.objective import (
        LossScale,
        ObjectiveResult,
        ObjectiveSettings,
        SampledTokens,
        objective,
    )
    from crosswind.trainer.rewards.reward import reward

    __version__: str

_HOMES = {
    # A user of the gateway
    "AsyncClient": "crosswind.gateway.client:AsyncClient",
    "Client": "crosswind.gateway.client:Client",
    "GatewayError": "crosswind.gateway.client:GatewayError",
    "OpenedSession": "crosswind.gateway.client:OpenedSession",
    "SessionInfo": "crosswind.gateway.client:SessionInfo",
    # An author of operators
    "Site": "crosswind.injectors.conversation:Site",
    "ToolSchema": "crosswind.injectors.conversation:ToolSchema",
    "AnswerContent": "crosswind.injectors.faults:AnswerContent",
    "AnswerEdit": "crosswind.injectors.faults:AnswerEdit",
    "Close": "crosswind.injectors.faults:Close",
    "Fault": "crosswind.injectors.faults:Fault",
    "Reply": "crosswind.injectors.faults:Reply",
    "Resend": "crosswind.injectors.faults:Resend",
    "Send": "crosswind.injectors.faults:Send",
    "StreamEvent": "crosswind.injectors.faults:StreamEvent",
    "Wait": "crosswind.injectors.faults:Wait",
    "operator": "crosswind.injectors.operator:operator",
    "SeededRandom": "crosswind.injectors.seeded_random:SeededRandom",
    "AddedTool": "crosswind.injectors.targets:AddedTool",
    "Draw": "crosswind.injectors.targets:Draw",
    "Effect": "crosswind.injectors.targets:Effect",
    "InstructionsTarget": "crosswind.injectors.targets:InstructionsTarget",
    "ModelTarget": "crosswind.injectors.targets:ModelTarget",
    "Recovery": "crosswind.injectors.targets:Recovery",
    "Result": "crosswind.injectors.targets:Result",
    "ToolChange": "crosswind.injectors.targets:ToolChange",
    "ToolClass": "crosswind.injectors.targets:ToolClass",
    "ToolResultTarget": "crosswind.injectors.targets:ToolResultTarget",
    "ToolTarget": "crosswind.injectors.targets:ToolTarget",
    "TransportTarget": "crosswind.injectors.targets:TransportTarget",
    "UserTarget": "crosswind.injectors.targets:UserTarget",
    "UnusableText": "crosswind.injectors.wording:UnusableText",
    "written_form": "crosswind.injectors.wording:written_form",
    # An author of environments
    "Environment": "crosswind.simulators.environment:Environment",
    "Episode": "crosswind.simulators.environment:Episode",
    "Oracle": "crosswind.simulators.environment:Oracle",
    "Task": "crosswind.simulators.environment:Task",
    "Verdict": "crosswind.simulators.environment:Verdict",
    # An author of objectives
    "LossScale": "crosswind.trainer.objectives.objective:LossScale",
    "ObjectiveResult": "crosswind.trainer.objectives.objective:ObjectiveResult",
    "ObjectiveSettings": "crosswind.trainer.objectives.objective:ObjectiveSettings",
    "SampledTokens": "crosswind.trainer.objectives.objective:SampledTokens",
    "objective": "crosswind.trainer.objectives.objective:objective",
    # An author of curricula and rewards
    "Curriculum": "crosswind.injectors.engine.curriculum:Curriculum",
    "Schedule": "crosswind.trainer.curriculum.schedule:Schedule",
    "schedule": "crosswind.trainer.curriculum.schedule:schedule",
    "reward": "crosswind.trainer.rewards.reward:reward",
    # An author of publishers and servers for an engine
    "Engine": "crosswind.policies.engine:Engine",
    "EngineAway": "crosswind.policies.engine:EngineAway",
    "EngineError": "crosswind.policies.engine:EngineError",
    "EngineHealth": "crosswind.policies.engine:EngineHealth",
    "PublishedVersion": "crosswind.policies.engine:PublishedVersion",
    "ScoredTokens": "crosswind.policies.engine:ScoredTokens",
    "ServeError": "crosswind.policies.server:ServeError",
    "ServeRequest": "crosswind.policies.server:ServeRequest",
    "PolicyServer": "crosswind.policies.server:PolicyServer",
    "PolicyVersion": "crosswind.policies.versions.version:PolicyVersion",
    # An author or a reader of a store
    "RowRefused": "crosswind.gateway.trajectory.store:RowRefused",
    "Store": "crosswind.gateway.trajectory.store:Store",
    "StoreError": "crosswind.gateway.trajectory.store:StoreError",
    "StoreUnavailable": "crosswind.gateway.trajectory.store:StoreUnavailable",
    "open_store": "crosswind.gateway.trajectory.store:open_store",
}
"""Public name -> module:attribute, as an entry point writes it. A test holds it to the imports above."""

__all__ = [
    "AddedTool",
    "AnswerContent",
    "AnswerEdit",
    "AsyncClient",
    "Client",
    "Close",
    "Curriculum",
    "Draw",
    "Effect",
    "Engine",
    "EngineAway",
    "EngineError",
    "EngineHealth",
    "Environment",
    "Episode",
    "Fault",
    "GatewayError",
    "InstructionsTarget",
    "LossScale",
    "ModelTarget",
    "ObjectiveResult",
    "ObjectiveSettings",
    "OpenedSession",
    "Oracle",
    "PolicyServer",
    "PolicyVersion",
    "PublishedVersion",
    "Recovery",
    "Reply",
    "Resend",
    "Result",
    "RowRefused",
    "SampledTokens",
    "Schedule",
    "ScoredTokens",
    "SeededRandom",
    "Send",
    "ServeError",
    "ServeRequest",
    "SessionInfo",
    "Site",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "StreamEvent",
    "Task",
    "ToolChange",
    "ToolClass",
    "ToolResultTarget",
    "ToolSchema",
    "ToolTarget",
    "TransportTarget",
    "UnusableText",
    "UserTarget",
    "Verdict",
    "Wait",
    "objective",
    "open_store",
    "operator",
    "reward",
    "schedule",
    "written_form",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # here, since it takes longer than all the rest

        return version("crosswind")
    if name not in _HOMES:
        raise AttributeError(f"module 'crosswind' has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
