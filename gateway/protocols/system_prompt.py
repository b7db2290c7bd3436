"""A request's instructions to the model, wherever its protocol has them: read, and written back."""

from __future__ import annotations

from dataclasses import dataclass

from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.json_values import as_mapping, decode, encode
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.conversation import InstructionText, Ref, Site
from crosswind.injectors.identity import text_anchor

ROLES = frozenset({"system", "developer"})
TEXTS = ("text", "input_text")


@dataclass(frozen=True, slots=True)
class Instructions:
    """The first text of a request's instructions. `member`: the body's member that holds it, if that isn't
    one of the messages.
    """

    item: InstructionText
    member: str | None = None

    def replace_text(self, request: Request, text: str, replacements: dict[Ref, str]) -> None:
        """Add the replacement to the request's edits, or to those of its messages."""
        if self.member is None:
            replacements[self.item.ref] = text
            return
        value = request.frame.value(self.member)
        part = self.item.ref.part
        if part is not None:
            value = [{**one, "text": text} if at == part else one for at, one in enumerate(value)]
        request.edits = {**request.edits, self.member: encode(text if part is None else value)}


def find_instructions(request: Request, member: str | None) -> Instructions | None:
    """The instructions in that member, or else in a first message of the system's."""
    if member is not None and (found := _first_text(request.frame.value(member), -1)) is not None:
        return Instructions(found, member)
    if request.held or not request.steps:
        return None
    step = request.steps[0]
    message = as_mapping(
        decode(step.raw[step.lead :]) if step.raw[step.lead : step.lead + 1] == b"{" else None
    )
    if message.get("role") not in ROLES:
        return None
    found = _first_text(message.get("content"), 0)
    return None if found is None else Instructions(found)


def _first_text(content: object, message: int) -> InstructionText | None:
    for part, text in read_content_texts(content, TEXTS):
        if text.strip():
            return InstructionText(Ref(message, part), text, text_anchor(Site.INSTRUCTIONS, text, 0), 0)
    return None
