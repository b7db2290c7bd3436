"""The protocol of trajectory stores, and how a URL selects one.

Methods are synchronous: the gateway calls `write` from its one writer thread, the trainer reads from its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Protocol

from crosswind.gateway.trajectory.ledger_rows import DestroyedAnswer, NameMap, Shown
from crosswind.gateway.trajectory.outcomes import NoiseEvent, SessionOutcome, Withholding
from crosswind.gateway.trajectory.record import (
    Event,
    GeneratedText,
    GroupProgress,
    Reward,
    Row,
    Session,
    SessionState,
    Setting,
    TrainStep,
    Trajectory,
    Turn,
    TurnHead,
)
from crosswind.gateway.trajectory.summary import Summary

_PAGE = 500


class StoreError(Exception):
    """The store can't do what was asked. The message names the file or URL and the fix."""


class StoreUnavailable(StoreError):
    """The store can't write now (disk full, busy, an I/O error). Nothing was written. Try again later."""


class RowRefused(StoreError):
    """The store can never take one of these rows. None of them was written."""


class Writer(Protocol):
    """Writes rows of the record."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows in one transaction; they are durable on return. A row with a known identity is not
        written again. Ledger rows (`Shown`, `NameMap`) come with a turn of their session.

        Raises StoreUnavailable (try again) or RowRefused (final). Nothing was written then.
        """


class SessionReader(Protocol):
    """Reads sessions."""

    def session(self, session_id: str) -> Session | None: ...

    def sessions(
        self,
        *,
        group_id: str | None = None,
        label: Mapping[str, str] | None = None,
        tenant: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Session]:
        """List sessions, the last to arrive first. Label values are compared as text."""

    def session_state(self, session_id: str) -> SessionState | None:
        """The session's newest row number and its state; None if it doesn't exist.

        A single point query, cheap enough for every request on the event loop: it never waits for a writer
        and its cost does not grow with the session.
        """

    def is_unknown(self, session_id: str) -> bool:
        """Whether there is no session of this id, and none was deleted, as long as `forget_deleted` keeps
        that. One point query.
        """

    def rewards(self, session_id: str) -> list[Reward]:
        """Every reward of the session, in order of arrival."""


class TurnReader(Protocol):
    """Reads the turns, events and ledger of a session."""

    def turns(self, session_id: str) -> list[Turn]:
        """The session's turns by index and attempt, including updates from after they were written."""

    def turns_since(self, session_id: str, after_row: int) -> list[TurnHead]:
        """The session's turns above `after_row`, in order of writing; 0 gives all."""

    def turns_of_responses(self, session_id: str, response_ids: Sequence[str]) -> Mapping[str, Turn]:
        """The session's newest turn with each of these responses."""

    def events(self, session_id: str) -> list[Event]: ...

    def trajectory(self, session_id: str) -> Trajectory | None: ...

    def ledger(self, session_id: str) -> list[Shown]: ...

    def ledger_since(self, session_id: str, after_row: int) -> list[Shown]:
        """The session's ledger rows that came with turns above `after_row`, in order; 0 gives all."""

    def names(self, session_id: str) -> list[NameMap]:
        """The session's name map."""


class LookUp(Protocol):
    """Finds what a request refers to without naming its session."""

    def session_of_response(self, response_id: str) -> str | None:
        """The id of the newest session with this response, if the provider keeps it (`Turn.kept`)."""

    def owners_of_objects(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The tenants of those of a provider's objects that are on record; empty for the operator's own."""

    def sessions_of_delivered_id(self, name: str) -> list[str]:
        """At most two ids of sessions in which this `DeliveredId` was delivered: two mean it is ambiguous."""

    def destroyed_answers(self, alike: str, window_us: int) -> list[tuple[DestroyedAnswer, int]]:
        """The answers to requests with these draws that noise destroyed within that time, each with its age
        in microseconds: the newest first, at most some hundred."""

    def generated_texts(self, keys: Sequence[str]) -> Mapping[str, GeneratedText]:
        """The first text stored under each key, in any session. Keys without a text are left out."""


class SettingReader(Protocol):
    """Reads the settings of the control plane."""

    def setting(self, kind: str, name: str) -> Setting | None: ...

    def settings(self, kind: str) -> list[Setting]:
        """All settings of a kind, by name."""

    def settings_as_they_came(self, kinds: Sequence[str]) -> list[Setting]:
        """All settings of these kinds, in the order of their last updates."""


class TrainingRecord(Protocol):
    """Groups to train on, and the steps of training runs."""

    def groups_since(self, after: int) -> list[GroupProgress]:
        """The groups in which something happened after this time of the store, by when it last did. Its cost
        grows with these groups, not with the store.
        """

    def sessions_since(self, after: int) -> list[GroupProgress]:
        """The same of sessions that are in no group, each as a group of its own."""

    def group(self, group_id: str) -> list[Trajectory]:
        """The trajectories of the group with this name, by rollout index. They are all of one tenant."""

    def plan_step(self, step: TrainStep) -> None:
        """Write the write-ahead row of a step, durable on return. An existing row is kept."""

    def complete_step(self, step: TrainStep) -> None: ...

    def steps(self, run: str) -> list[TrainStep]: ...

    def runs(self) -> list[str]:
        """The names of the training runs, oldest first."""


class Statistics(Protocol):
    """Figures of a whole store, for reports."""

    def injections(self) -> Mapping[str, int]:
        """Injections per operator; withheld ones don't count."""

    def noise_by_session(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """Of each session, by operator, how often noise was injected, and how often it was decided and
        withheld. Sessions without any of these are left out.
        """

    def outcomes(self) -> list[SessionOutcome]:
        """All sessions without their content, by their numbers."""

    def noise_events(self) -> list[NoiseEvent]:
        """All noise that acted, by session and turn."""

    def withholdings(self) -> list[Withholding]:
        """All noise that was drawn and did not act, and why requests had none, counted by session."""

    def versions(self) -> list[str]:
        """The policy versions that sampled tokens, in order of their first turn."""

    def summary(self) -> Summary:
        """Statistics of the store's traffic."""

    def counts(self) -> Mapping[str, Any]:
        """Rows per kind (sessions, turns, events, ...)."""


class Upkeep(Protocol):
    """Retention, and the state of the store itself."""

    def prunable_sessions(self, *, idle_s: float | None, everything: bool, limit: int) -> list[str]:
        """List the ids of sessions that may be deleted, oldest first: those without activity for `idle_s`.
        Time runs steadily, whatever happens to the wall clock.

        Skips open sessions and those that await a reward, unless `everything`. A session with an expired
        reward counts as ended.
        """

    def expire_rewards(self, idle_s: float, limit: int = 500) -> int:
        """Expire the pending rewards of sessions without activity for `idle_s`; return how many.

        Expires at most `limit` in one short transaction. A later reward still counts.
        """

    def sweep(self, most: int = 500) -> int:
        """Delete at most `most` of the turns that are left of deleted sessions; return how many.

        One short transaction; call it again until it returns 0.
        """

    def forget_deleted(self, age_s: float, limit: int = 500) -> int:
        """Forget the ids of sessions that were deleted longer ago; return how many, `limit` at most."""

    def file_problem(self) -> str | None:
        """What somebody did to the files of the open store, with the fix; None if they are in order, or if
        the store has none.
        """

    def reopen(self) -> bool:
        """If another store has been put into the place of the one that was opened, go on with that one.

        Returns whether it did. Raises StoreError if what is there can't be opened; then nothing has changed.
        """

    def used_bytes(self) -> int:
        """Bytes in use; free space within the store does not count."""

    def shrink(self) -> int:
        """Return some free space to the file system; the result is how much, 0 if there is none."""

    def close(self) -> None: ...


class Store(
    Writer,
    SessionReader,
    TurnReader,
    LookUp,
    SettingReader,
    TrainingRecord,
    Statistics,
    Upkeep,
    Protocol,
):
    """A trajectory store. Opening one with another schema than the code's is refused."""


def location(url: str) -> str:
    """The path in a file store's URL: `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    scheme, separator, path = url.partition("://")
    if not separator or not path.startswith("/") or len(path) < 2 or "?" in path or "#" in path:
        raise StoreError(f"store URL {url!r} names no file; write {scheme or 'sqlite'}:///path/to/file.db")
    return path[1:]


def stores() -> dict[str, type[Any]]:
    """The store classes by URL scheme: those of the modules `store` of this package's sub-packages, and those
    of entry points `crosswind.stores`.

    A store class names its `schemes` and has a class method `from_url(url, **settings)`. An entry point names
    a module. Modules import drivers that may be missing only when a store is opened.
    """
    package = importlib.import_module("crosswind.gateway.trajectory")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}.store")
        for found in pkgutil.iter_modules(package.__path__)
        if found.ispkg and find_spec(f"{package.__name__}.{found.name}.store")
    ]
    modules += [entry.load() for entry in entry_points(group="crosswind.stores")]
    return {
        scheme: kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
        for scheme in getattr(kind, "schemes", ())
    }


def open_store(url: str, **settings: Any) -> Store:
    """Open the store that the URL names (`sqlite:///crosswind.db`), with its class's own settings.

    Raises StoreError where no store class knows the scheme, or where the store can't be opened.
    """
    known = stores()
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in known:
        raise StoreError(
            f"store URL {url!r} has no scheme of {', '.join(sorted(known))}; write sqlite:///crosswind.db"
        )
    store: Store = known[scheme].from_url(url, **settings)
    return store


def open_existing(place: str) -> Store:
    """Open the store that a command names by a path or a URL. Raises StoreError."""
    return open_store(place if "://" in place else f"sqlite:///{place}", create=False)


def iterate_sessions(store: Store, **selected: Any) -> Iterator[Session]:
    """All sessions that `Store.sessions` selects, newest first. One may come again where others are opened
    meanwhile."""
    offset = 0
    while page := store.sessions(**selected, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)
