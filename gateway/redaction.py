"""Secrets out of everything that is stored. What goes to the upstream and to the client is never touched."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from gateway.configuration.sections import Secrets

MASK = b"[redacted]"
SHORTEST = 12
"""Shorter keys (`EMPTY`, `unused`) are placeholders that may stand in any text."""

_PATTERNS = (
    rb"\bsk-[A-Za-z0-9_\-]{20,}",
    rb"\bcw-[A-Za-z0-9_\-]{24,}",
    rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    rb"\bgh[pousr]_[A-Za-z0-9]{30,}",
    rb"\bgithub_pat_[A-Za-z0-9_]{30,}",
    rb"\bglpat-[A-Za-z0-9_\-]{20,}",
    rb"\bxox[abposr]-[A-Za-z0-9\-]{10,}",
    rb"\bAIza[0-9A-Za-z_\-]{35}",
    rb"\bhf_[A-Za-z0-9]{30,}",
    rb"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+",
    rb"(?i:\bbearer) +[A-Za-z0-9._~+/\-]{20,}=*",
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.{0,20000}?-----END [A-Z ]*PRIVATE KEY-----",
)


class Redactor:
    """Masks what looks like a secret, the secrets that are configured, and a caller's own credential."""

    def __init__(self, mode: Secrets, configured: Iterable[str] = ()) -> None:
        literal = [re.escape(secret.encode()) for secret in configured if len(secret) >= SHORTEST]
        self.mode = mode
        self._secret = re.compile(b"|".join([*_PATTERNS, *literal]), re.DOTALL)
        self._credential = b""

    def of_caller(self, credential: str | None) -> Redactor:
        """A redactor that knows the caller's credential too, whatever that looks like."""
        if credential is None or len(credential) < SHORTEST:
            return self
        other = copy.copy(self)
        other._credential = credential.encode("latin-1", "replace")
        return other

    def mask(self, segment: bytes) -> bytes:
        """The segment as it may be stored: the very same object where nothing had to be hidden."""
        if self.mode != "redact":
            return segment
        masked, count = self._secret.subn(MASK, segment)
        if self._credential and self._credential in masked:
            return masked.replace(self._credential, MASK)
        return masked if count else segment

    def mask_text(self, text: str) -> str:
        """A text as it may be stored: the very same object where nothing had to be hidden."""
        raw = text.encode("utf-8", "surrogatepass")
        masked = self.mask(raw)
        return text if masked is raw else masked.decode("utf-8", "surrogatepass")

    def found(self, segment: bytes) -> bool:
        """Whether something in the segment looks like a secret, whatever is done about it."""
        return self._secret.search(segment) is not None or bool(
            self._credential and self._credential in segment
        )
