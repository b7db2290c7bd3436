"""The kill switch, and what clients may ask for by header at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.trajectory.record import Setting

_log = structlog.get_logger("crosswind.safety")
NOISE = "noise"
SWITCH = "switch"
"""Kind and name of the setting that keeps the kill switch over a restart."""
SWITCHED_OFF = "it was switched off by PUT /api/noise or SIGUSR1"
SWITCH_ON = 'PUT /api/noise {"enabled": true}, or SIGUSR2, switches it on'
_LOOK_EVERY_S = 1.0


class KillSwitch:
    """Switches all noise off. Memory first, then a file, so that it works when the disk is full.

    While the file exists there is no noise, so that an operator may create it by hand; it is checked at most
    once a second.
    """

    def __init__(
        self, file: Path | None, *, enabled: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = file
        self._enabled = enabled
        self._clock = clock
        self._looked = -_LOOK_EVERY_S
        self._file_says_off = False

    @property
    def enabled(self) -> bool:
        now = self._clock()
        if self._file is not None and now - self._looked >= _LOOK_EVERY_S:
            self._looked = now
            exists = self._file.exists()
            if exists and not self._file_says_off:
                _log.warning(
                    "noise is off while this file exists; PUT /api/noise or SIGUSR2 deletes it",
                    file=str(self._file),
                )
            self._file_says_off = exists
        return self._enabled and not self._file_says_off

    def hear(self, enabled: bool) -> None:
        """Switch in memory only: the process that got the order writes the file."""
        self._enabled = enabled
        self._file_says_off = False

    def set(self, enabled: bool) -> None:
        """Switch. Never fails: a file that can't be written is logged."""
        self.hear(enabled)
        if self._file is None:
            return
        try:
            if enabled:
                self._file.unlink(missing_ok=True)
            else:
                self._file.touch(mode=0o600)
        except OSError as error:
            _log.error("the kill switch's file can't be written", file=str(self._file), error=str(error))
            self._looked -= _LOOK_EVERY_S  # A file that can't be deleted keeps noise off.

    def find_reason(self, stored: Setting | None) -> str | None:
        """Why noise is off; None while it is on. `stored`: the setting of the kill switch."""
        if self.enabled:
            return None
        return find_reason(self._file, stored) or SWITCHED_OFF


def find_reason(file: Path | None, stored: Setting | None) -> str | None:
    """What keeps noise off over a restart: an order on record, or the file; None if nothing does."""
    if stored is not None and not stored.value.get("enabled"):
        return str(stored.value.get("reason") or SWITCHED_OFF)
    return f"the file {file} exists: delete it" if file is not None and file.exists() else None


def switch_file(settings: Settings) -> Path | None:
    """The kill switch's file: as configured, else beside an SQLite store."""
    if settings.noise_off_file is not None:
        return settings.noise_off_file
    scheme, _, path = settings.store.partition(":///")
    return Path(path + ".noise-off") if scheme == "sqlite" and path else None


def may_ask_for(settings: Settings, profile: str) -> bool:
    allowed = settings.steering_cap.profiles
    return profile == settings.profile if allowed is None else profile in allowed
