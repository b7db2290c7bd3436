"""The three identities of a piece of noise: slot, anchor and logical call. They are never one another.

- A *slot* is the seed key of a draw: where in the run a draw happens, whatever the bytes are.
- An *anchor* is how a decision is found again when the client resends its history.
- A *logical call* is what faults are counted by: a retry has a new tool-call id and is the same logical call.

Events store the keys of slots, and stored runs are replayed by them: their form never changes.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import Any

import msgspec

_END = "\x1f"
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_decode_quickly = msgspec.json.Decoder().decode
_encode_quickly = msgspec.json.Encoder(order="sorted").encode
_SPELT_OTHERWISE = re.compile(r"[0-9][.eE]|[0-9]{16}|-0")
"""Numbers that msgspec writes otherwise than the standard library."""


def slot_line(seed: int, scope: str, scope_key: str, rule: str, site: str) -> str:
    """The part that all slots of one rule at one site share."""
    return f"{seed}{_END}{scope}{_END}{scope_key}{_END}{rule}{_END}{site}"


def slot_on(line: str, ordinal: int, part: int = 0, attempt: int = 0) -> str:
    """The key of one slot. `ordinal` counts the site's items along the branch, from 0; `part` tells apart the
    texts of one message. Content has attempt 0: only faults are drawn again when a client retries."""
    return f"{line}{_END}{ordinal}{_END}{part}{_END}{attempt}"


def slot_of_text(line: str, text: str) -> str:
    """The key of a slot that depends on what a text says, not on where it stands."""
    return f"{line}{_END}text:{digest(text)}"


def slot_of_call(line: str, call: str, order: int, part: int = 0) -> str:
    """The key of a slot that depends on a logical call and its order among equal ones, not on what was called
    before."""
    return f"{line}{_END}{call}{_END}{order}{_END}{part}"


def digest(*parts: str) -> str:
    """A 128-bit hexadecimal digest of an ordered list of strings, lone surrogates included."""
    framed: list[bytes] = []
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        framed += (len(raw).to_bytes(8, "little"), raw)
    return hashlib.blake2b(b"".join(framed), digest_size=16).hexdigest()


def normalise(text: str) -> str:
    """The text as clients may re-serialise it: NFC, one kind of line end, no white space at the ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def call_anchor(call_id: str, occurrence: int) -> str:
    """Anchor of a tool result by its tool-call id; endpoints repeat ids, hence the occurrence (from 0)."""
    return f"call:{call_id}#{occurrence}"


def text_anchor(site: str, text: str, occurrence: int) -> str:
    """Anchor of a text part by its normalised content, with its occurrence among equals (from 0)."""
    return f"text:{digest(site, normalise(text))}#{occurrence}"


def is_digest(anchor: str) -> bool:
    """Whether an anchor is made of a text's digest, and holds nothing that anybody wrote."""
    return anchor.startswith("text:")


def canonical_arguments(arguments: str) -> str:
    """JSON arguments with sorted keys and no white space; text that is not JSON is only normalised."""
    if _SPELT_OTHERWISE.search(arguments) is None:
        try:
            return _encode_quickly(_decode_quickly(arguments)).decode()
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # The standard library accepts more: lone surrogates, NaN.
    try:
        value: Any = json.loads(arguments) if arguments.strip() else {}
        return _canonical(value)
    except (ValueError, RecursionError):
        return normalise(arguments)


def logical_call(tool: str, arguments: str) -> str:
    """The key that faults are counted by: the tool and its canonical arguments."""
    return f"logical:{digest(tool, canonical_arguments(arguments), '')}"
