"""What noise costs a turn: decisions and their application, beside one JSON decode of the same body.

`make bench-noise` leads a conversation of 40 turns and 60 KB through ten active operators. All but the last
turn are known, as they are to a gateway that took them; then the last turn's decisions are timed, and, by
turns, a decode of the body with the codec's decoder and with the standard library's. The first turn of a
conversation that comes whole, with everything new, is timed too. Medians of the thread's own time on the
processor.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from gateway.protocols.document import decode
from injectors.decide import perturb
from injectors.decision import Known
from injectors.documents import conversation
from injectors.link import decide_transport
from injectors.model_link import LINK, decide_model
from injectors.plan import Plan, make_plan
from injectors.profile import parse
from injectors.schemas import perturb_tools
from injectors.shown_tools import ShownTools

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


class Session:
    """A session as a gateway keeps it: its plan, and what was shown so far."""

    def __init__(self) -> None:
        self.plan: Plan = make_plan(
            parse(PROFILE, "bench"), seed=1, scope="session", scope_key="bench", arm="noisy"
        )
        self.known: dict[str, Known] = {}
        self.tools: ShownTools | None = None

    def turn(self, said: Any, turn: int, *, keep: bool) -> int:
        """One turn's noise; returns how many texts differ from what was sent."""
        shown = perturb_tools(self.plan, said.tools, known=self.tools, turn=turn)
        found = perturb(self.plan, said, self.known)
        decide_transport(self.plan, link=LINK, turn=turn, attempt=0, streaming=True)
        decide_model(self.plan, turn=turn, attempt=0, streaming=True)
        if keep:
            self.tools = shown
            self.known.update({new.item.anchor: Known(new.text, new.decisions) for new in found.new})
        return len(found.replacements)


def median_us(work: Callable[[], Any], others: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Medians in microseconds of several pieces of work, done by turns."""
    times: list[list[float]] = [[] for _ in (work, *others)]
    for _ in range(repeats):
        for at, one in enumerate((work, *others)):
            begin = time.thread_time_ns()
            one()
            times[at].append((time.thread_time_ns() - begin) / 1000)
    return [statistics.median(found) for found in times]


def measure(repeats: int) -> dict[str, float]:
    """The figures of one run, in microseconds and as ratios."""
    said = messages()
    body = json.dumps({"model": "m", "messages": said, "tools": TOOLS}).encode()
    session = Session()
    whole = conversation(said, TOOLS)
    before = conversation(said[:-1], TOOLS)
    session.turn(before, TURNS - 2, keep=True)
    changed = session.turn(whole, TURNS - 1, keep=False)
    last, ours, standard = median_us(
        lambda: session.turn(whole, TURNS - 1, keep=False),
        [lambda: decode(body), lambda: json.loads(body)],
        repeats,
    )
    times = max(3, repeats // 20)
    fresh = iter([conversation(messages(100 * number), TOOLS) for number in range(1, times + 1)])
    first, _ = median_us(lambda: Session().turn(next(fresh), 0, keep=False), [lambda: decode(body)], times)
    return {
        "bytes": len(body),
        "operators": len(OPERATORS),
        "texts": len(whole.items),
        "texts that differ": changed,
        "last turn, us": last,
        "decode, us": ours,
        "standard library's decode, us": standard,
        "last turn / decode": last / ours,
        "last turn / standard library's decode": last / standard,
        "all new at once, us": first,
        "all new at once / decode": first / ours,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    for name, value in measure(parser.parse_args().repeats).items():
        print(f"{name:40} {value:12,.2f}")


if __name__ == "__main__":
    main()
