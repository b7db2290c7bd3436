"""A provider that follows a script: it speaks each protocol as its provider does, refuses what its provider
refuses, and keeps all that it saw.
"""

from tests.clients.upstream.app import provider
from tests.clients.upstream.dialogue import Answer, Asked, Call, Dialogue, Given, Policy, Said, Tool
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import Refused
from tests.clients.upstream.script import Step, script

__all__ = [
    "Answer",
    "Asked",
    "Call",
    "Dialogue",
    "Given",
    "Policy",
    "Provider",
    "Refused",
    "Said",
    "Seen",
    "Step",
    "Tool",
    "provider",
    "script",
]
