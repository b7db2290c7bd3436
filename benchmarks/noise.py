"""What noise costs a turn: decisions and their application, beside one JSON decode of the same body.

`make bench-noise` leads conversations of 40 turns and 60 KB through ten active operators. All but the last
turn are known, as they are to a gateway that took them; then the last turn is timed, with another text each
time, so that nothing of it can be remembered. By turns with it are timed a decode of the body with the
standard library, and one with the codec's decoder. So is the whole of a gateway's work on that turn's body:
to split it, to read what is new, to decide, and to write what is sent. And the first turn of a conversation
that comes whole, with everything new. Medians of the thread's own time on the processor.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from crosswind.gateway.noise.decide import Circumstances
from crosswind.gateway.noise.pipeline import add_noise
from crosswind.gateway.protocols.codec import Codec, SessionReader, codecs
from crosswind.gateway.protocols.history import hide_nothing
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.record import Session as SessionRecord
from crosswind.injectors.conversation import Conversation
from crosswind.injectors.engine.decision import KnownText
from crosswind.injectors.engine.faults import FaultMemory, decide_faults
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.engine.resume import Walks
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.profiles.load import parse

TURNS, SIZE = 40, 60_000
OPERATORS = (
    *("user.typos", "user.redundant", "user.paraphrase", "tool.timeout", "tool.incomplete"),
    *(
        "tool.misleading",
        "tool.erroneous",
        "schema.paraphrase_tool",
        "transport.latency",
        "model.rate_limited",
    ),
)
PROFILE = "name: bench\nbounds: {faults_per_session: 100}\nrules:\n" + "".join(
    f"  - {{operator: {name}, severity: 0.3}}\n" for name in OPERATORS
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"get_{thing}",
            "description": f"Look up the specified {thing}. Returns its status and what belongs to it.",
            "parameters": {
                "type": "object",
                "properties": {
                    f"{thing}_id": {"type": "string", "description": f"The specified {thing}'s number."},
                    "detail": {"type": "string", "enum": ["short", "full"]},
                },
                "required": [f"{thing}_id"],
            },
        },
    }
    for thing in ("order", "user", "product", "parcel", "invoice", "booking", "ticket", "address")
]


RULES = parse(PROFILE, "bench")


def messages(begin: int = 0) -> list[dict[str, Any]]:
    """A conversation of TURNS turns and about SIZE bytes: users and tools by turns. Its orders are numbered
    from `begin` on."""
    out: list[dict[str, Any]] = [{"role": "system", "content": "You help the customers of a shop."}]
    for turn in range(begin, begin + TURNS // 2):
        words = f"Hello, please tell me where order #W{turn} is, I need to know it before Friday, thank you. "
        out.append({"role": "user", "content": words * 12})
        function = {"name": "get_order", "arguments": json.dumps({"order_id": f"#W{turn}"})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        out.append({"role": "assistant", "content": None, "tool_calls": [call]})
        items = [
            {
                "item_id": f"{turn}-{at}",
                "name": "a kettle of blue steel",
                "price": 38.5 + at,
                "status": "shipped",
            }
            for at in range(16)
        ]
        result = {"order_id": f"#W{turn}", "status": "delivered", "items": items, "total": 616.0}
        out.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": json.dumps(result)})
        out.append({"role": "assistant", "content": "It was delivered; all of its items are listed above."})
    return out[:-1]


def other_ends(said: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The same conversation, with another last result each time."""
    result, number = json.loads(said[-1]["content"]), 0
    while True:
        number += 1
        result["order_id"], result["total"] = f"#V{number}", 616.0 + number
        yield [*said[:-1], {**said[-1], "content": json.dumps(result)}]


def plan_of(name: str) -> Plan:
    return make_plan(RULES, Seed(1, name))


class Session:
    """A session's noise, as a gateway keeps it: its plan, and what was shown so far."""

    def __init__(self) -> None:
        self.plan = plan_of("bench")
        self.known: dict[str, KnownText] = {}
        self.tools: ShownTools | None = None
        self.walks = Walks()
        self.fault_memory: FaultMemory = {}

    def turn(self, said: Conversation, turn: int, *, keep: bool) -> int:
        """One turn's noise; returns how many texts differ from what was sent."""
        shown = perturb_tools(self.plan, said.tools, known=self.tools, turn=turn)
        walked = self.walks.before(self.plan, said, self.known)
        found = perturb_messages(self.plan, said, self.known, walked=walked)
        decide_faults(self.plan, turn=turn, attempt=0, streaming=True, memory=self.fault_memory)
        if keep:
            self.tools = shown
            self.walks.keep(found.walked)
            self.known.update({new.item.anchor: KnownText(new.text, new.decisions) for new in found.new})
        return len(found.replacements)


class Gateway:
    """A session in a gateway: bodies as they come are split, read, decided about and written."""

    def __init__(self) -> None:
        self.codec: Codec = codecs()["chat"]
        plan = plan_of("bench")
        self.session = LiveSession(SessionRecord("bench", 0, plan.to_json()), plan)
        self.redactor = Redactor("keep")

    def turn(self, body: bytes, turn: int) -> bytes:
        """What is sent in place of a body."""
        reader = self.session.reader(self.codec)
        split = self.codec.split(body, reader)
        if split is None:
            raise ValueError("the benchmark's body can't be split")
        request = self.codec.read(split, reader, self.redactor.mask)
        now = Circumstances(enabled=True, allow_new=True, streaming=True, now_us=0)
        noise = add_noise(self.session, self.codec, request, TurnPosition(turn), now, self.redactor)
        sent, _ = request.write(noise.replacements, noise.members, self.redactor.mask, noise.forward)
        return sent


def median_us(pieces: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Medians in microseconds of several pieces of work, done by turns."""
    times: list[list[float]] = [[] for _ in pieces]
    for _ in range(repeats):
        for at, one in enumerate(pieces):
            begin = time.thread_time_ns()
            one()
            times[at].append((time.thread_time_ns() - begin) / 1000)
    return [statistics.median(found) for found in times]


def body_of(said: list[dict[str, Any]]) -> bytes:
    return json.dumps({"model": "m", "messages": said, "tools": TOOLS}).encode()


def conversation(said: list[dict[str, Any]]) -> Conversation:
    codec = codecs()["chat"]
    split = codec.split(body_of(said))
    assert split is not None
    return codec.read(split, SessionReader(codec), hide_nothing).conversation


def views(said: list[dict[str, Any]], count: int) -> tuple[list[Conversation], list[Conversation]]:
    """A conversation turn by turn without its last result, and so many that begin with it, each with a last
    one of its own. As in a gateway, what is known is the same object each turn."""
    whole, ends = conversation(said), other_ends(said)
    turns = [Conversation(whole.items[:length], whole.tools) for length in range(1, len(whole.items))]
    lasts = (conversation(next(ends)).items[-1] for _ in range(count))
    return turns, [Conversation((*whole.items[:-1], last), whole.tools) for last in lasts]


def last_turns(repeats: int) -> dict[str, float]:
    """The last of 40 turns, all before it being known."""
    said = messages()
    body = body_of(said)
    before, wholes = views(said, repeats)
    session, turns = Session(), iter(wholes)
    for number, turn in enumerate(before):
        session.turn(turn, number, keep=True)
    changed = []
    pieces = [
        lambda: changed.append(session.turn(next(turns), TURNS - 1, keep=False)),
        lambda: json.loads(body),
        lambda: decode(body),
    ]
    last, standard, codec = median_us(pieces, repeats)
    return {
        "bytes": len(body),
        "operators": len(OPERATORS),
        "texts": len(wholes[0].items),
        "texts that differ": statistics.median(changed),
        "last turn, us": last,
        "standard library's decode, us": standard,
        "codec's decode, us": codec,
        "last turn / standard library's decode": last / standard,
        "last turn / codec's decode": last / codec,
    }


def in_the_gateway(repeats: int) -> dict[str, float]:
    """The same turn from bytes to bytes."""
    said = messages()
    body = body_of(said)
    before = [body_of(said[:length]) for length in (-4, -2)]
    bodies = [body_of(one) for one, _ in zip(other_ends(said), range(repeats), strict=False)]
    gateways = [Gateway() for _ in bodies]
    for gateway in gateways:
        for number, turn in enumerate(before, TURNS - 3):
            gateway.turn(turn, number)
    work = iter(zip(gateways, bodies, strict=True))

    def last_turn() -> None:
        gateway, last = next(work)
        gateway.turn(last, TURNS - 1)

    ours, standard = median_us([last_turn, lambda: json.loads(body)], repeats)
    return {
        "bytes to bytes in the gateway, us": ours,
        "the same / standard library's decode": ours / standard,
    }


def all_new(repeats: int) -> dict[str, float]:
    """A conversation of 40 turns that comes whole, with everything new."""
    fresh = iter([conversation(messages(100 * number)) for number in range(1, repeats + 1)])
    body = body_of(messages())
    first, standard = median_us(
        [lambda: Session().turn(next(fresh), 0, keep=False), lambda: json.loads(body)], repeats
    )
    return {"all new at once, us": first, "all new at once / standard library's decode": first / standard}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    few = max(3, repeats // 10)
    for name, value in {**last_turns(repeats), **in_the_gateway(few), **all_new(few)}.items():
        print(f"{name:44} {value:12,.2f}")


if __name__ == "__main__":
    main()
