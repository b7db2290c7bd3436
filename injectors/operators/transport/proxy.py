"""What a proxy on the way does wrong: an error of its own, a request sent twice, a wrong Content-Type."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Headers, Reply, Resend
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, TransportTarget

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
class Status:
    """The request isn't sent on, and is answered with status 500, 502, 503 or 504, as likely.

    Severity: the probability that an exchange is answered so.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        failed, status = rng.chance(severity), rng.choice(STATUSES)
        return {"status": status} if failed else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"The request was answered with status {draw['status']} on its way."
        return Result(StatusFault(**draw), note)


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
class DuplicatedDelivery:
    """The request is sent twice; the first answer counts, and the other one is dropped.

    Severity: the probability that a request is sent twice. Only on the link to the model, where it costs
    tokens and has no other effect.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"times": 2} if rng.chance(severity) and target.repeatable else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = "The request was delivered twice, and the second answer dropped."
        return Result(DuplicateFault(**draw), note)


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
class WrongContentType:
    """The answer's Content-Type is that of a page, of plain text, or of bytes; its body is as it was.

    Severity: the probability that an answer is labelled so. Only on the link to the model: a client that
    refuses the answer asks again.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        wrong, label = rng.chance(severity), rng.choice(LABELS)
        return {"content_type": label} if wrong and target.repeatable else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        return Result(ContentTypeFault(**draw), f"The answer was labelled {draw['content_type']}.")
