"""The composition root: everything that a gateway is made of, put together and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from gateway.answering import Answering
from gateway.auth import Authenticator
from gateway.config import Settings
from gateway.errors import ConfigurationError, ServiceError
from gateway.metrics import Metrics
from gateway.passing import PassThrough
from gateway.profiles import Profiles
from gateway.proxy import Proxy
from gateway.recorder import NotDurable, Recorder
from gateway.recording import Recording
from gateway.redaction import Redactor
from gateway.safety import KillSwitch, switch_file
from gateway.sessions import Sessions
from gateway.trajectory.record import Row
from gateway.trajectory.store import Store, StoreError, open_store
from gateway.upstream import Upstream
from injectors.profile import ProfileError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from gateway.control.curricula import Curricula


@dataclass(slots=True)
class Gateway:
    """A gateway: `data` and `control` are its two ASGI applications, for two ports and one loop."""

    settings: Settings
    store: Store
    recorder: Recorder
    profiles: Profiles
    sessions: Sessions
    curricula: Curricula
    switch: KillSwitch
    metrics: Metrics
    upstream: Upstream
    data: Proxy
    _unnamed: count[int] = field(default_factory=count)

    def control(self) -> ASGIApp:
        """The control plane's application."""
        from gateway.control.application import create_control

        return create_control(self)

    def next_unnamed(self) -> str:
        """The name of a session that was given none: the number of such sessions so far, so that a run
        repeats.
        """
        return f"unnamed-{next(self._unnamed)}"

    async def acknowledge(self, rows: Sequence[Row]) -> None:
        """Write rows and wait until they are on disk. ServiceError 503 where they aren't: nothing was written
        then.
        """
        ticket = self.recorder.submit(rows, retry=False)
        try:
            await self.recorder.acknowledged(ticket, self.settings.acknowledge_wait)
        except NotDurable as error:
            raise ServiceError(
                503,
                f"{error}; free space or mend the store, then send it again",
                kind="server_error",
                code="not_durable",
            ) from error

    async def close(self) -> None:
        """Write what is queued and let go of everything."""
        await self.upstream.close()
        await self.recorder.aclose()
        self.store.close()


def create_app(settings: Settings) -> Gateway:
    """Put a gateway together. ConfigurationError where the store or the profile can't be used."""
    from gateway.control.curricula import KIND, Curricula
    from gateway.control.profiles import NOISE, PROFILE, SWITCH

    profiles = Profiles()
    store = _opened(settings)
    try:
        for stored in store.settings(PROFILE):
            profiles.put(stored.name, str(stored.value["yaml"]))
        _check_profiles(settings, profiles)
        curricula = Curricula(store, store.settings(KIND))
        switched = store.setting(NOISE, SWITCH)
    except BaseException:
        store.close()
        raise
    recorder = Recorder(store, detail=settings.record, durability_wait_s=settings.durability_wait)
    sessions = Sessions(settings, store, profiles)
    switch = KillSwitch(switch_file(settings), enabled=switched is None or bool(switched.value["enabled"]))
    metrics = Metrics(recorder.state, sessions.live)
    upstream = Upstream(settings.upstream, settings.timeouts, settings.limits)
    authenticator = Authenticator(settings)
    recording = Recording(settings.durability, recorder, metrics)
    data = Proxy(
        settings=settings,
        upstream=upstream,
        sessions=sessions,
        authenticator=authenticator,
        switch=switch,
        redactor=Redactor(settings.body_secrets, _secrets(settings)),
        metrics=metrics,
        recording=recording,
        answering=Answering(settings, recording),
        passing=PassThrough(settings, upstream, sessions, authenticator, metrics),
    )
    return Gateway(settings, store, recorder, profiles, sessions, curricula, switch, metrics, upstream, data)


def _opened(settings: Settings) -> Store:
    try:
        return open_store(settings.store)
    except StoreError as error:
        raise ConfigurationError(f"store {settings.store!r} can't be opened: {error}") from error


def _check_profiles(settings: Settings, profiles: Profiles) -> None:
    named = [
        settings.profile,
        *(key.profile for key in settings.keys),
        *(settings.steering_cap.profiles or ()),
    ]
    for name in dict.fromkeys(named):
        if name is None:
            continue
        try:
            profiles.get(name)
        except ProfileError as error:
            raise ConfigurationError(" ".join(str(error).split())) from error


def _secrets(settings: Settings) -> list[str]:
    keys = [key.key for key in settings.keys] + ([settings.upstream_key] if settings.upstream_key else [])
    return [key.get_secret_value() for key in keys]
