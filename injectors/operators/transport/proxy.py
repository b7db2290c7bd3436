"""What a proxy on the way does wrong: an error of its own, a request sent twice, a wrong Content-Type."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Headers, Reply, Resend
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.fault_by_chance import FaultByChance
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, TransportTarget

STATUSES = (500, 502, 503, 504)


class StatusFault(Fault):
    """The request is answered with this status, and isn't sent on."""

    kind = "status"
    where = "request"
    status: Annotated[int, Meta(ge=200, le=599)]

    def before_request(self) -> tuple[Reply]:
        return (Reply(self.status),)


@operator(
    "transport.status",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.REPLACES,
)
class Status(FaultByChance[TransportTarget]):
    """The request isn't sent on, and is answered with status 500, 502, 503 or 504, as likely.

    Severity: the probability that an exchange is answered so.
    """

    note = "The request was answered with status {status} on its way."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"status": rng.choice(STATUSES)}

    def make(self, draw: Draw) -> StatusFault:
        return StatusFault(**draw)


class DuplicateFault(Fault):
    """The request is sent so many times; the first answer counts."""

    kind = "duplicate"
    where = "request"
    times: Annotated[int, Meta(ge=1, le=10)]

    def before_request(self) -> list[Resend]:
        return [Resend()] * (self.times - 1)


@operator(
    "transport.duplicated_delivery",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.ADDS,
)
class DuplicatedDelivery(FaultByChance[TransportTarget]):
    """The request is sent twice; the first answer counts, and the other one is dropped.

    Severity: the probability that a request is sent twice. Only on the link to the model, where it costs
    tokens and has no other effect.
    """

    note = "The request was delivered twice, and the second answer dropped."

    def fits(self, target: TransportTarget) -> bool:
        return target.repeatable

    def choose(self, rng: SeededRandom) -> Draw:
        return {"times": 2}

    def make(self, draw: Draw) -> DuplicateFault:
        return DuplicateFault(**draw)


LABELS = ("text/html; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream")


class ContentTypeFault(Fault):
    """The answer has this Content-Type."""

    kind = "content_type"
    where = "response"
    content_type: str

    def change_headers(self, headers: Headers) -> Headers:
        kept = [field for field in headers if field[0].lower() != b"content-type"]
        return [*kept, (b"content-type", self.content_type.encode("latin-1"))]


@operator(
    "transport.wrong_content_type",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.REPLACES,
)
class WrongContentType(FaultByChance[TransportTarget]):
    """The answer's Content-Type is that of a page, of plain text, or of bytes; its body is as it was.

    Severity: the probability that an answer is labelled so. Only on the link to the model: a client that
    refuses the answer asks again.
    """

    note = "The answer was labelled {content_type}."

    def fits(self, target: TransportTarget) -> bool:
        return target.repeatable

    def choose(self, rng: SeededRandom) -> Draw:
        return {"content_type": rng.choice(LABELS)}

    def make(self, draw: Draw) -> ContentTypeFault:
        return ContentTypeFault(**draw)
