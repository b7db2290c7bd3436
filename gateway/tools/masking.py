"""Events of tool traffic without secrets: nothing of them is on disk before it is masked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING

import msgspec

from crosswind.gateway.tools.events import LONGEST_TEXT, ToolEvent

if TYPE_CHECKING:
    from crosswind.gateway.recorder.redaction import Redactor
    from crosswind.gateway.recorder.remains import Remains

_SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(_|$)|(^|_)(PASS|PAT)$|_PWD$", re.IGNORECASE
)
_encode = msgspec.json.Encoder().encode


def mask_event(event: ToolEvent, redactor: Redactor) -> ToolEvent:
    """The event without secrets."""
    mask, raw = redactor.mask_text, _encode(event.draw)
    # One search for all: what stands in a text without a secret isn't searched again.
    redactor.forget_texts()
    with suppress(UnicodeEncodeError):  # half a surrogate pair: its texts are searched one by one
        redactor.mask(_encode(event))
    # In this order: what noise left of a secret is known by the text before.
    before = _cut(mask(event.before))
    return msgspec.structs.replace(
        event,
        before=before,
        after=None if event.after is None else _cut(mask(event.after)),
        draw=event.draw if redactor.mask(raw) is raw else {"redacted": True},
        note=mask(event.note),
        slot=redactor.mask_name(event.slot),
        tool=redactor.mask_name(event.tool),
        link=redactor.mask_name(event.link),
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


class EventMask:
    """Masks what a relay or proxy outside the gateway writes of a session: secrets by their shape, its own
    keys, and the values of variables whose names tell of a secret, such as a server's token."""

    def __init__(self, keys: Iterable[str | None] = (), environment: Mapping[str, str] = os.environ) -> None:
        named = [value for name, value in environment.items() if _SECRET_NAME.search(name)]
        self._secrets = (*filter(None, keys), *named)

    @cached_property
    def _remains(self) -> Remains:
        """The secrets that the session has shown."""
        from crosswind.gateway.recorder.remains import Remains

        return Remains()

    def warm(self) -> None:
        """Read the rules, before an event waits for them."""
        _make_redactor(self._secrets).mask_text("nothing secret")

    def mask(self, events: Sequence[ToolEvent]) -> list[ToolEvent]:
        redactor = _make_redactor(self._secrets).of_turn((), self._remains)
        return [mask_event(one, redactor) for one in events]


@cache
def _make_redactor(secrets: tuple[str, ...]) -> Redactor:
    """One for all sessions of a proxy, since it keeps megabytes of texts that were found clean."""
    # Clients wait for a relay's start, which needs neither this nor its rules.
    from crosswind.gateway.recorder.redaction import Redactor

    return Redactor("redact", secrets)
