"""The store protocol: what every trajectory store can do, and how one is found by its URL.

Methods are synchronous: the gateway calls `write` from its one writer thread, the trainer reads from its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import (
    Event,
    GeneratedText,
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


class StoreError(Exception):
    """The store can't do what was asked; the message names the file or URL and the mend."""


class StoreUnavailable(StoreError):
    """The store can't write now (disk full, busy, an I/O error). Nothing was written; try again later."""


class RowRefused(StoreError):
    """A row that the store can't take, now or later; none of the rows that came with it was written."""


class Store(Protocol):
    """A trajectory store. Opening it migrates its schema; a newer schema than the code's is refused."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows in one transaction, on disk when this returns; rows of one identity only once.

        Raises StoreUnavailable (try again) or RowRefused (no use trying); nothing was written then.
        """
        ...

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
        """Sessions, newest first. A label's value is compared as text."""
        ...

    def expendable(self, *, before_us: int | None, everything: bool, limit: int) -> list[str]:
        """Ids of sessions that may be deleted, oldest first: those without activity since `before_us`.

        Open sessions and those that wait for a reward are spared, unless `everything`. A session whose reward
        expired is taken for ended.
        """
        ...

    def expire_rewards(self, before_us: int, limit: int = 500) -> int:
        """Call pending rewards of sessions without activity since `before_us` expired; returns how many.

        `limit` of them in one short transaction. A reward that comes later counts all the same.
        """
        ...

    def session_of_response(self, response_id: str) -> str | None:
        """The id of the newest session that was given the response of this id."""
        ...

    def sessions_given(self, name: str) -> list[str]:
        """The sessions in which what has this name (`DeliveredId`) was delivered; two at most."""
        ...

    def turns(self, session_id: str) -> list[Turn]: ...

    def answered(self, session_id: str, response_id: str) -> Turn | None:
        """The session's newest turn that got the response of this id."""
        ...

    def events(self, session_id: str) -> list[Event]: ...

    def trajectory(self, session_id: str) -> Trajectory | None: ...

    def ledger(self, session_id: str) -> list[Shown]: ...

    def session_state(self, session_id: str) -> SessionState | None:
        """How far the session is; None where there is none (any longer).

        One point query, cheap enough for every request, and for the event loop's thread: it waits for no
        writer and reads nothing that grows with the session.
        """
        ...

    def ledger_since(self, session_id: str, after_row: int) -> list[Shown]:
        """The rows of the session's ledger above `after_row` (a `shown_row`), in order; all above 0."""
        ...

    def turns_since(self, session_id: str, after_row: int) -> list[TurnHead]:
        """The session's turns above `after_row` (a `turn_row`), in order of writing; all above 0."""
        ...

    def generated(self, keys: Sequence[str]) -> Mapping[str, GeneratedText]:
        """What was first written under each of these keys that has something, in whichever session."""
        ...

    def names(self, session_id: str) -> list[NameMap]:
        """The session's name map."""
        ...

    def rewards(self, session_id: str) -> list[Reward]:
        """Every reward that was posted for the session, in order of arrival."""
        ...

    def setting(self, kind: str, name: str) -> Setting | None: ...

    def settings(self, kind: str) -> list[Setting]:
        """All settings of a kind, by name."""
        ...

    def completed_groups(self, *, exclude: frozenset[str] = frozenset(), limit: int = 1000) -> list[str]:
        """Ids of groups whose `group_size` sessions are all closed and rewarded, in order of completion."""
        ...

    def group(self, group_id: str) -> list[Trajectory]:
        """The group's trajectories, by rollout index."""
        ...

    def plan_step(self, step: TrainStep) -> None:
        """The write-ahead row of a step, durable on return; a row that the step has already is kept."""
        ...

    def complete_step(self, step: TrainStep) -> None: ...

    def steps(self, run: str) -> list[TrainStep]: ...

    def runs(self) -> list[str]:
        """The names of the training runs, oldest first."""
        ...

    def injections(self) -> Mapping[str, int]:
        """How often each operator's noise was injected; withdrawn injections don't count."""
        ...

    def versions(self) -> list[str]:
        """The policy versions that sampled a turn's tokens, in order of their first turn."""
        ...

    def summary(self) -> Summary:
        """The store's traffic in figures, for reports."""
        ...

    def counts(self) -> Mapping[str, Any]:
        """Rows per kind (sessions, turns, events, ...), for reports."""
        ...

    def sweep(self, most: int = 500) -> int:
        """Give up about `most` pieces of the content that only deleted sessions had; returns how many.

        One short transaction; to be called again until it returns 0. Content is deleted where no other
        session uses it.
        """
        ...

    def used_bytes(self) -> int:
        """Bytes that hold something, free space within the store not counted."""
        ...

    def shrink(self) -> int:
        """Give some free space back to the file system; returns how much, 0 where there is none to give."""
        ...

    def close(self) -> None: ...


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
        if found.ispkg
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
