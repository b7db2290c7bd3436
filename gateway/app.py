"""Start a gateway from its configuration and from what its store holds."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, KillSwitch, find_reason, switch_file
from crosswind.gateway.parts import use_packs
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.protocols.codec import codecs
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.sessions.curricula import KIND, Curricula
from crosswind.gateway.sessions.drills import KIND as DRILL
from crosswind.gateway.sessions.drills import DrillCounts, Drills, count_recorded
from crosswind.gateway.sessions.profiles import PROFILE, Profiles, read_profile_files
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store, StoreError, open_store
from crosswind.gateway.trajectory.trust import VERSION, Trust

_log = structlog.get_logger("crosswind.gateway")


def create_app(
    settings: Settings, peers: Peers | None = None, source: Callable[[], Settings] | None = None
) -> Gateway:
    """Build a gateway. Raises ConfigurationError if the store, the packs, the profile or a protocol can't
    be used.

    `peers` are the other processes, if there are several; `source` reads the configuration again.
    """
    codecs()  # so that a protocol that can't be loaded is an error now, not at the first request
    folder, reading = (None, 0) if peers is None else (peers.folder, peers.reading)
    use_packs(settings, folder, reading)  # before profiles are read: one may weigh their entries
    profiles = Profiles(folder, reading)
    store = _open_store(settings)
    try:
        for stored in store.settings(PROFILE):
            profiles.restore(stored.name, stored.value)
        profiles.take(read_profile_files(settings, profiles, reading), reading)
        curricula = Curricula(store, store.settings(KIND))
        trust = Trust.of(
            store.settings_as_they_came((VERSION, SERVER)), single=len(settings.every_upstream) == 1
        )
        known = store.settings(DRILL)
        counts = DrillCounts(
            None if folder is None else folder / "drills.sqlite", count_recorded(store, known)
        )
        drills = Drills(known, counts)
        switch = _load_switch(settings, store, tells=peers is None or peers.number == 0)
    except BaseException:
        store.close()
        raise
    return Gateway(
        settings, store, profiles, curricula, drills, trust, switch, peers, source or (lambda: settings)
    )


def _load_switch(settings: Settings, store: Store, *, tells: bool) -> KillSwitch:
    """The kill switch, in its stored state; off, where that can't be read. `tells`: whether this process logs
    that it is off.
    """
    try:
        stored = store.setting(NOISE, SWITCH)
        enabled = stored is None or bool(stored.value.get("enabled"))
        if tells and not enabled:
            _log.warning(
                "noise is off, as when the last run ended; PUT /api/noise or SIGUSR2 switches it on",
                reason=find_reason(None, stored),
            )
    except StoreError as error:
        _log.error("the kill switch can't be read: noise is off", error=str(error))
        enabled = False
    return KillSwitch(switch_file(settings), enabled=enabled)


def _open_store(settings: Settings) -> Store:
    try:
        return open_store(settings.store)
    except StoreError as error:
        raise ConfigurationError(f"store {settings.store!r} can't be opened: {error}") from error
