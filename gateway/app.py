"""The composition root: build a gateway from its parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.http.auth import Authenticator
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, KillSwitch, switch_file
from crosswind.gateway.noise.limits import AbortWatch, FaultsInFlight
from crosswind.gateway.noise_model.generation import TextGenerator
from crosswind.gateway.noise_model.preparation import TextPreparation
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.proxy.models import ModelList
from crosswind.gateway.proxy.passthrough import PassThrough
from crosswind.gateway.proxy.proxy import DataPlane, Proxy
from crosswind.gateway.proxy.relay import ResponseRelay
from crosswind.gateway.proxy.request_builder import RequestBuilder
from crosswind.gateway.proxy.shared_calls import SharedCalls
from crosswind.gateway.proxy.short_circuit import ShortCircuit
from crosswind.gateway.proxy.stored_responses import StoredResponses
from crosswind.gateway.proxy.websockets import WebSockets
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.sandbox.confinement import Confined
from crosswind.gateway.sessions.curricula import KIND, Curricula
from crosswind.gateway.sessions.inference import Inference
from crosswind.gateway.sessions.leases import TurnLeases
from crosswind.gateway.sessions.profiles import PROFILE, Profiles
from crosswind.gateway.sessions.restore import ResponseLookup
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.sessions.sync import WorkerSync
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store, StoreError, open_store
from crosswind.gateway.trajectory.trust import VERSION, Trust
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.turn.tracing import Tracing, open_tracing
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.gateway.upstreams.upstreams import Upstreams, build_upstreams
from crosswind.injectors import registry
from crosswind.injectors.profiles.load import Profile, ProfileError


@dataclass(frozen=True, slots=True)
class _NoiseParts:
    """The parts that decide and stop noise."""

    switch: KillSwitch
    watch: AbortWatch
    in_flight: FaultsInFlight
    preparation: TextPreparation | None
    """Present if a language model writes noise."""
    confinement: Confined | None
    """The process of third-party operators, if there are any."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that a reload keeps."""

    profiles: Profiles
    recorder: Recorder
    sessions: Sessions
    noise: _NoiseParts
    trust: Trust
    metrics: Metrics
    inference: Inference
    spans: Tracing | None
    shared: SharedCalls

    def build_proxy(
        self, settings: Settings, known: Upstreams | None, reading: int
    ) -> tuple[Proxy, tuple[str, ...]]:
        """Build the parts that depend on the configuration; called again on a reload. Returns the proxy and
        the profile files that changed.
        """
        files = _read_profile_files(settings, self.profiles, reading)
        upstreams, authenticator = build_upstreams(settings, known), Authenticator(settings)
        sessions, recorder, metrics, noise = self.sessions, self.recorder, self.metrics, self.noise
        recording = Recording(
            settings.durability, recorder, metrics, self.inference, noise.watch, self.spans, self.trust
        )
        proxy = Proxy(
            settings=settings,
            upstreams=upstreams,
            sessions=sessions,
            authenticator=authenticator,
            redactor=Redactor(settings.body_secrets, _collect_secrets(settings)),
            metrics=metrics,
            recording=recording,
            relay=ResponseRelay(settings, recording),
            short_circuit=ShortCircuit(recording, settings.markers),
            shared=self.shared,
            in_flight=noise.in_flight,
            builder=RequestBuilder(settings, noise.switch, noise.preparation, noise.confinement),
            passthrough=PassThrough(
                settings,
                upstreams,
                ModelList(upstreams, settings.limits.answer),
                sessions,
                StoredResponses(sessions),
                metrics,
                recorder,
            ),
            websockets=WebSockets(settings, upstreams, sessions, authenticator, recorder, metrics),
            preparation=noise.preparation,
        )
        # Replace the profiles last: if a part above can't be built, nothing has changed.
        return proxy, self.profiles.take(files, reading)


def create_app(
    settings: Settings, peers: Peers | None = None, source: Callable[[], Settings] | None = None
) -> Gateway:
    """Build a gateway. Raises ConfigurationError if the store or the profile can't be used.

    `peers` are the other processes, if there are several; `source` reads the configuration again.
    """
    reading = 0 if peers is None else peers.reading
    profiles = Profiles(None if peers is None else peers.folder, reading)
    store = _open_store(settings)
    try:
        for stored in store.settings(PROFILE):
            profiles.put(stored.name, str(stored.value["yaml"]))
        _read_profile_files(settings, profiles, reading)
        curricula = Curricula(store, store.settings(KIND))
        trust = Trust.of(
            [*store.settings(VERSION), *store.settings(SERVER)], single=len(settings.every_upstream) == 1
        )
        switch = _load_switch(settings, store)
    except BaseException:
        store.close()
        raise
    recorder = Recorder(store, detail=settings.record, durability_wait_s=settings.durability_wait)
    leases = None if peers is None else TurnLeases(peers.folder / "claims.sqlite")
    worker_sync = None if leases is None else WorkerSync(store, leases)
    inference, shared = Inference(store, leases), SharedCalls(settings.retry_grace)
    sessions = Sessions(settings, store, profiles, inference, ResponseLookup(store, recorder), worker_sync)

    def upstream_states() -> dict[str, dict[str, ReplicaState]]:
        return data.proxy.upstreams.states()

    metrics = Metrics(recorder.state, sessions.live, upstream_states, trust)

    noise, spans = (
        _build_noise_parts(settings, store, recorder, metrics, switch),
        open_tracing(settings.telemetry),
    )
    parts = _Parts(profiles, recorder, sessions, noise, trust, metrics, inference, spans, shared)
    data = DataPlane(parts.build_proxy(settings, None, reading)[0])
    return Gateway(
        settings,
        store,
        recorder,
        profiles,
        sessions,
        curricula,
        switch,
        trust,
        metrics,
        data,
        parts.build_proxy,
        source or (lambda: settings),
        peers,
        worker_sync,
        noise.confinement,
    )


def _load_switch(settings: Settings, store: Store) -> KillSwitch:
    """The kill switch, in its stored state."""
    stored = store.setting(NOISE, SWITCH)
    return KillSwitch(switch_file(settings), enabled=stored is None or bool(stored.value["enabled"]))


def _build_noise_parts(
    settings: Settings, store: Store, recorder: Recorder, metrics: Metrics, switch: KillSwitch
) -> _NoiseParts:
    def stop_noise(reason: str) -> None:
        switch.set(False)
        metrics.noise_stopped.inc()
        recorder.offer([Setting(NOISE, SWITCH, {"enabled": False, "reason": reason}, now_us())])

    writer = settings.noise_model
    return _NoiseParts(
        switch,
        AbortWatch(settings.abort, stop_noise, time.monotonic),
        FaultsInFlight(settings.dose.faults_in_flight, settings.workers),
        None if writer is None else TextPreparation(TextGenerator(writer, store, recorder, metrics)),
        _build_confinement(settings, metrics) if registry.has_third_parties() else None,
    )


def _build_confinement(settings: Settings, metrics: Metrics) -> Confined:
    try:
        registry.operators()
    except registry.BrokenOperatorPackageError as error:
        raise ConfigurationError(str(error)) from error
    return Confined(
        settings.third_party,
        lambda operator, kind: metrics.operator_failures.labels(operator, kind).inc(),
        lambda operator: metrics.operators_off.labels(operator).set(1),
    )


def _open_store(settings: Settings) -> Store:
    try:
        return open_store(settings.store)
    except StoreError as error:
        raise ConfigurationError(f"store {settings.store!r} can't be opened: {error}") from error


def _read_profile_files(settings: Settings, profiles: Profiles, reading: int) -> Mapping[str, Profile]:
    """Read the profile files that the configuration names. Raises ConfigurationError if it names a profile
    that can't be used.
    """
    names = [settings.profile, *(key.profile for key in settings.keys)]
    named = {name: None for name in [*names, *(settings.steering_cap.profiles or ())] if name is not None}
    try:
        files = profiles.read(named, reading)
        for name in named.keys() - files.keys():
            profiles.get(name)
    except ProfileError as error:
        raise ConfigurationError(" ".join(str(error).split())) from error
    return files


def _collect_secrets(settings: Settings) -> list[str]:
    """The secrets of the configuration, to be redacted; keys that are given as digests are unknown."""
    upstreams = settings.every_upstream
    given = [key.key for key in settings.keys if key.key is not None]
    given += [value for upstream in upstreams for value in upstream.headers.add.values()]
    writer = settings.noise_model
    models = [model for model in (writer, writer and writer.judge) if model is not None]
    given += [SecretStr(model.secret) for model in models if model.secret is not None]
    return [secret.get_secret_value() for secret in given] + [
        upstream.secret for upstream in upstreams if upstream.secret is not None
    ]
