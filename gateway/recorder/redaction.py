"""Removes secrets from everything that is stored. Traffic to the upstream and the client is never changed."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock

from crosswind.gateway.config.sections import Secrets

MASK = b"[redacted]"
SHORTEST = 12
"""Shorter keys (`EMPTY`, `unused`) are placeholders that may occur in any text."""

_KEYS = (
    (b"sk-", rb"\bsk-[A-Za-z0-9_\-]{20,}"),
    (b"cw-", rb"\bcw-[A-Za-z0-9_\-]{24,}"),
    (b"AKIA", rb"\bAKIA[0-9A-Z]{16}\b"),
    (b"ASIA", rb"\bASIA[0-9A-Z]{16}\b"),
    (b"ghp_", rb"\bghp_[A-Za-z0-9]{30,}"),
    (b"gho_", rb"\bgho_[A-Za-z0-9]{30,}"),
    (b"ghu_", rb"\bghu_[A-Za-z0-9]{30,}"),
    (b"ghs_", rb"\bghs_[A-Za-z0-9]{30,}"),
    (b"ghr_", rb"\bghr_[A-Za-z0-9]{30,}"),
    (b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{30,}"),
    (b"glpat-", rb"\bglpat-[A-Za-z0-9_\-]{20,}"),
    (b"xox", rb"\bxox[abposr]-[A-Za-z0-9\-]{10,}"),
    (b"AIza", rb"\bAIza[0-9A-Za-z_\-]{35}"),
    (b"hf_", rb"\bhf_[A-Za-z0-9]{30,}"),
    (b".eyJ", rb"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"),
)
"""Patterns of keys, each with a literal piece that every key of the kind contains."""
_BEARER = rb"(?i:\bbearer) +[A-Za-z0-9._~+/\-]{20,}=*"
_PRIVATE_KEY = rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.{0,20000}?-----END [A-Z ]*PRIVATE KEY-----"

_KEY_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/")
_CHARACTER_CLASSES = bytes(ord("k") if byte in _KEY_CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"k" * 15
"""Every kind of key but a private key has at least this many key characters in a row."""

_REPEATED_BYTES = 8 << 20
"""How many bytes of clean segments to remember."""
_WORTH_REMEMBERING = range(64, 64 << 10)
"""The sizes in bytes of segments worth remembering."""


@lru_cache(256)
def _compile(expressions: tuple[bytes, ...]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(expressions), re.DOTALL)


def _find_runs(segment: bytes) -> bytes:
    """The parts of a segment that may contain a key: its long runs of key characters, joined by spaces.

    Searching only them costs a tenth of searching the whole segment, because words are short.
    """
    classes = segment.translate(_CHARACTER_CLASSES)
    at, runs = classes.find(_RUN), []
    while at >= 0:
        end = classes.find(b" ", at)
        if end < 0:
            end = len(segment)
        runs.append(segment[at:end])
        at = classes.find(_RUN, end)
    return b" ".join(runs)


class Redactor:
    """Masks text that looks like a secret, configured secrets and the caller's own credential."""

    __slots__ = ("_clean", "_credential", "_literal", "mode")

    def __init__(self, mode: Secrets, configured: Iterable[str] = ()) -> None:
        literal = [secret.encode() for secret in configured if len(secret) >= SHORTEST]
        self.mode = mode
        self._literal = tuple((secret, re.escape(secret)) for secret in literal)
        self._clean = _Clean()
        self._credential = b""

    def of_caller(self, credential: str | None) -> Redactor:
        if credential is None or len(credential) < SHORTEST:
            return self
        other: Redactor = Redactor.__new__(Redactor)
        other.mode, other._literal, other._clean = self.mode, self._literal, self._clean
        other._credential = credential.encode("latin-1", "replace")
        return other

    def mask(self, segment: bytes) -> bytes:
        """Mask the segment for storage; return the same object if it has no secret."""
        if self.mode != "redact" or len(segment) < SHORTEST:
            return segment
        masked = segment if segment in self._clean else self._without_secrets(segment)
        if self._credential and self._credential in masked:
            return masked.replace(self._credential, MASK)
        return masked

    def _without_secrets(self, segment: bytes) -> bytes:
        secret = self._possible(segment)
        masked = segment if secret is None else secret.sub(MASK, segment)
        if masked != segment:
            return masked
        self._clean.add(segment)
        return segment

    def _possible(self, segment: bytes) -> re.Pattern[bytes] | None:
        """The pattern of the secrets that a segment may contain, by their literal pieces; None if none."""
        found = [expression for secret, expression in self._literal if secret in segment]
        if b"-----BEGIN " in segment:
            found.insert(0, _PRIVATE_KEY)
        if runs := _find_runs(segment):
            bearer = [_BEARER] if b"bearer " in segment.lower() else []
            found = [*[expression for piece, expression in _KEYS if piece in runs], *bearer, *found]
        return _compile(tuple(found)) if found else None

    def mask_text(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        masked = self.mask(raw)
        return text if masked is raw else masked.decode("utf-8", "surrogatepass")

    def contains_secret(self, segment: bytes) -> bool:
        """Whether the segment contains a secret, in any mode."""
        secret = self._possible(segment)
        if secret is not None and secret.search(segment) is not None:
            return True
        return bool(self._credential and self._credential in segment)


class _Clean:
    """Segments recently found clean: tools, system prompts and message frames occur again and again."""

    def __init__(self) -> None:
        self._segments: OrderedDict[bytes, None] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __contains__(self, segment: bytes) -> bool:
        if len(segment) not in _WORTH_REMEMBERING:
            return False
        try:
            self._segments.move_to_end(segment)
        except KeyError:  # Not there, or another thread has just dropped it.
            return False
        return True

    def add(self, segment: bytes) -> None:
        """Remember a segment; drop the least recently used ones."""
        if len(segment) not in _WORTH_REMEMBERING:
            return
        with self._lock:
            if segment in self._segments:
                return
            self._segments[segment] = None
            self._bytes += len(segment)
            while self._bytes > _REPEATED_BYTES:
                self._bytes -= len(self._segments.popitem(last=False)[0])
