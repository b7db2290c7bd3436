"""An answer with the wrong Content-Type."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Headers
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

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
    fault=True,
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
