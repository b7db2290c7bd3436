"""Removes secrets from everything that is stored, logged or told. Traffic to the upstream and the client is
never changed.

Secrets are found where nothing has changed them yet, in what the agent, the upstream and the policy wrote.
What noise made of them later (repeated, cut, broken over lines, re-spelled) is masked by the secrets that the
session has shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from crosswind.gateway.config.sections import Secrets
from crosswind.gateway.recorder.remains import Remains
from crosswind.gateway.recorder.secret_rules import Span, load_rules
from crosswind.gateway.recorder.secret_rules.reading import Readable, escapes_keys

MASK = b"[redacted]"
SHORTEST = 12
"""Shorter keys (`EMPTY`, `unused`) are placeholders that may occur in any text."""

_REPEATED_BYTES = 8 << 20
"""How many bytes of segments without a secret of a known shape to remember."""
_OF_CREDENTIALS = 32
"""Of how many callers segments are remembered that have none of their credentials either."""
_REPEATED_BYTES_EACH = 256 << 10
_WORTH_REMEMBERING = range(SHORTEST, 64 << 10)
"""The sizes in bytes of segments worth remembering."""
_ENTRY_BYTES = 200
"""What an entry takes beside its segment."""
_SHORT_PART = 8
"""Shorter parts of a name, between colons, are words of ours and ordinals."""
_MOST_CLEAR = 256 << 10
"""How many bytes of a turn's texts are looked through for their parts, about."""
APART = bytes.maketrans(b":#/|,;@()[]{}<>\x1f", b" " * 16)
"""What joins the parts of a name, each of which may be a secret."""


class Redactor:
    """Masks text that looks like a secret, configured secrets, the caller's own credentials, and what noise
    left of secrets that its session has shown.

    With `body_secrets: keep` or `block_training` it masks configured secrets and credentials only.
    """

    __slots__ = ("_callers", "_clean", "_clear", "_known", "_literal", "_remains", "_safe", "mode")

    def __init__(self, mode: Secrets, configured: Iterable[str] = ()) -> None:
        self.mode = mode
        self._literal = self._known = _spellings(tuple(configured))
        self._clean = _Clean(_REPEATED_BYTES)
        """Segments without a secret of a known shape."""
        self._safe = _Clean(_REPEATED_BYTES_EACH)
        """Segments without any secret, as long as the session has shown none."""
        self._callers: dict[tuple[str, ...], tuple[tuple[bytes, ...], _Clean]] = {}
        """By their credentials: what to look for, and what has none of it."""
        self._clear = b""
        """Texts of this turn without a secret: their parts (names, ids, messages) have none either."""
        self._remains: Remains | None = None

    def of_turn(self, credentials: tuple[str, ...], remains: Remains | None = None) -> Redactor:
        """The redactor for one request: with its own `credentials`, and its session's secrets."""
        other: Redactor = Redactor.__new__(Redactor)
        other.mode, other._literal, other._clean, other._clear = self.mode, self._literal, self._clean, b""
        caller = self._callers.get(credentials)
        if caller is None:
            if len(self._callers) >= _OF_CREDENTIALS:
                self._callers.clear()
            known = (*_spellings(credentials), *self._literal)
            caller = self._callers[credentials] = known, _Clean(_REPEATED_BYTES_EACH)
        (other._known, other._safe), other._remains = caller, remains
        other._callers = self._callers
        return other

    def mask(self, segment: bytes) -> bytes:
        """Mask the segment for storage; return the same object if it has no secret."""
        if len(segment) < SHORTEST:
            return segment
        masked, remains = segment, self._remains
        # `in` looks first whether bytes are a number: `find` takes half the time.
        if (remains is None or not remains.secrets) and (
            segment in self._safe or self._clear.find(segment) >= 0
        ):
            return segment
        for credential in self._known:
            if masked.find(credential) >= 0:
                masked = masked.replace(credential, MASK)
                if remains is not None:
                    remains.add((credential,))
        readable = Readable(masked) if self._known else None
        if readable is not None and readable.escaped:
            masked, readable = self._mask_escaped(masked), None
        if self.mode != "redact":
            return masked
        repeated = masked in self._clean
        if not repeated:
            masked = self._mask_shaped(masked, readable)
        if remains is not None and remains.secrets:
            masked = self._mask_remains(masked)
        elif repeated and masked is segment:
            self._safe.add(segment)
        if masked is segment and len(self._clear) < _MOST_CLEAR:
            self._clear += b"\0" + segment
        return masked

    def forget_texts(self) -> None:
        """Forget the request's texts: names that come with its answer stand in the answer's."""
        self._clear = b""

    def _is_name_of_parts(self, name: bytes) -> bool:
        """Whether it is a text's part, or made of some, as anchors are: `call:` and a call's id."""
        clear = b"" if self.has_seen_secrets else self._clear
        if clear.find(name) >= 0:
            return True
        for part in name.replace(b"#", b":").split(b":"):
            if len(part) >= _SHORT_PART and clear.find(part) < 0:
                return False
        return True

    def mask_text(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        if self._clear and not self.has_seen_secrets and _written_in_json(raw) in self._clear:
            return text
        masked = self.mask(raw)
        return text if masked is raw else masked.decode("utf-8", "surrogatepass")

    def mask_name(self, name: str) -> str:
        """Mask a name or an id: in every mode, since it isn't a body."""
        raw = name.encode("utf-8", "surrogatepass")
        if len(raw) < SHORTEST or self._is_name_of_parts(raw):
            return name
        masked = self._mask_remains(self.mask(raw))
        if spans := _find_in_name(masked):
            masked = replace_spans(masked, spans)
        return name if masked is raw else masked.decode("utf-8", "surrogatepass")

    def is_clean(self, text: str) -> bool:
        """Whether a text may be stored as it is."""
        return self.mask_text(text) is text

    def is_clean_name(self, name: str) -> bool:
        """Whether a name or an id may be stored as it is."""
        return self.mask_name(name) is name

    @property
    def has_seen_secrets(self) -> bool:
        """Whether the session has shown a secret."""
        return self._remains is not None and bool(self._remains.secrets)

    def contains_secret(self, segment: bytes) -> bool:
        """Whether the segment contains a secret, in any mode."""
        return (
            any(one in segment for one in self._known)
            or (escapes_keys(segment) and self._mask_escaped(segment) is not segment)
            or (segment not in self._clean and self._mask_shaped(segment) is not segment)
        )

    def _mask_escaped(self, segment: bytes) -> bytes:
        """Mask the credentials that are spelled with escapes which JSON allows and doesn't need."""
        readable = Readable(segment)
        text = readable.text
        shown = [one for one in self._known if one in text]
        if not shown:
            return segment
        spans = [found.span() for found in re.finditer(b"|".join(map(re.escape, shown)), text)]
        if self._remains is not None:
            self._remains.add(text[begin:end] for begin, end in spans)
        return replace_spans(segment, readable.locate(spans))

    def _mask_shaped(self, segment: bytes, readable: Readable | None = None) -> bytes:
        spans = load_rules().find_in(readable or Readable(segment))
        if not spans:
            self._clean.add(segment)
            return segment
        if self._remains is not None:
            self._remains.add(segment[begin:end] for begin, end in spans)
        return replace_spans(segment, spans)

    def _mask_remains(self, segment: bytes) -> bytes:
        spans = self._remains.find(segment) if self._remains is not None and self._remains.secrets else []
        return replace_spans(segment, spans) if spans else segment


def _written_in_json(text: bytes) -> bytes:
    """A text as most clients write it in a body. One spelled otherwise isn't found there, and is searched."""
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def replace_spans(segment: bytes, spans: Iterable[Span]) -> bytes:
    """The segment with a mask in place of each span."""
    parts: list[bytes] = []
    at = 0
    for begin, end in spans:
        parts += [segment[at:begin], MASK]
        at = end
    return b"".join([*parts, segment[at:]])


@lru_cache(4096)
def holds_secret(name: str) -> bool:
    """Whether a name or an id is, or holds, a secret that is known by its own shape."""
    raw = name.encode("utf-8", "surrogatepass")
    return len(raw) >= SHORTEST and bool(_find_in_name(raw, named=False))


@lru_cache(4096)
def _find_in_name(name: bytes, *, named: bool = True) -> tuple[Span, ...]:
    """The secrets in a name as it is written, or else in its parts."""
    apart, rules = name.translate(APART), load_rules()
    if not rules.may_find(b"%b\n%b" % (name, apart)):
        return ()
    return tuple(rules.find(name, named=named) or rules.find(apart, named=named))


@lru_cache(256)
def _spellings(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    """The secrets as they may stand in a text or in JSON, the longest first."""
    given = {secret for secret in secrets if len(secret) >= SHORTEST}
    spelled = {one.encode("utf-8", "surrogatepass") for one in given}
    spelled |= {one.encode("latin-1") for one in given if one.isprintable() and max(one) < "\xff"}
    spelled |= {json.dumps(one)[1:-1].encode() for one in given}
    spelled |= {quote(one, safe="").encode() for one in given}
    return tuple(sorted(spelled, key=len, reverse=True))


class _Clean:
    """Segments recently found clean: tools, system prompts and message frames occur again and again. When
    half of what is remembered is new, the rest is dropped.
    """

    __slots__ = ("_bytes", "_most", "_new", "_old")

    def __init__(self, capacity_bytes: int) -> None:
        self._most = capacity_bytes // 2
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()
        self._bytes = 0

    def __contains__(self, segment: bytes) -> bool:
        if segment in self._new:
            return True
        if segment not in self._old:
            return False
        self.add(segment)
        return True

    def add(self, segment: bytes) -> None:
        if len(segment) not in _WORTH_REMEMBERING:
            return
        self._new.add(segment)
        self._bytes += len(segment) + _ENTRY_BYTES
        if self._bytes > self._most:
            self._old, self._new, self._bytes = self._new, set(), 0
