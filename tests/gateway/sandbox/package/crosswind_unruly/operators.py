"""One operator that behaves, and some that don't."""

import os

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Send
from crosswind.injectors.operator import operator
from crosswind.injectors.targets import Recovery, Result


class Base:
    """Severity: the probability that it acts."""

    def __init_subclass__(cls):
        cls.__doc__ = cls.__doc__ or Base.__doc__

    def draw(self, target, rng, severity):
        return {"point": rng.uniform()} if rng.chance(severity) else None

    def apply(self, target, draw):
        return Result(f"{target.text} Greetings.", "A greeting came with the message.")


def user(name):
    return operator(f"user.{name}", site=Site.USER_TEXT, recovery=Recovery.IGNORE, source="a third party")


@user("behaves")
class Behaves(Base):
    pass


@user("raises")
class Raises(Base):
    def draw(self, target, rng, severity):
        raise KeyError("nothing here")


@user("stalls")
class Stalls(Base):
    def apply(self, target, draw):
        while True:
            pass


@user("ends")
class Ends(Base):
    def draw(self, target, rng, severity):
        print("operators may print", flush=True)
        os._exit(3)


@user("allocates")
class Allocates(Base):
    def draw(self, target, rng, severity):
        return {"held": len([bytearray(1 << 24) for _ in range(256)])}


@user("changes_its_target")
class ChangesItsTarget(Base):
    def draw(self, target, rng, severity):
        object.__setattr__(target, "text", "")
        for tool in target.tools:
            tool.parameters.clear()
        return super().draw(target, rng, severity)


@user("draws_no_json")
class DrawsNoJson(Base):
    def draw(self, target, rng, severity):
        return {"self": self}


@user("gives_no_text")
class GivesNoText(Base):
    def apply(self, target, draw):
        return Result(7, "Seven.")


@user("lies")
class Lies(Base):
    def apply(self, target, draw):
        return Result(f"{target.text} It is W99.", "A false fact came with the message.")


@operator("transport.for_ever", site=Site.TRANSPORT, recovery=Recovery.RETRY, source="a third party")
class ForEver(Base):
    def apply(self, target, draw):
        return Result({"where": "request", "kind": "delay", "delay_ms": "for ever"}, "It waits.")


class EchoFault(Fault):
    """Every event comes so many times."""

    kind = "echo"
    where = "stream"
    times: int

    def pass_event(self, event):
        return [Send(event.raw)] * self.times


@operator("transport.echoes", site=Site.TRANSPORT, recovery=Recovery.NONE_NEEDED, source="a third party")
class Echoes(Base):
    def apply(self, target, draw):
        return Result(EchoFault(2), "Every event came twice.")
