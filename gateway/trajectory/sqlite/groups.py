"""Groups of sessions in an SQLite store: what has happened in them, and their trajectories."""

from __future__ import annotations

import sqlite3

from crosswind.gateway.trajectory.record import GroupProgress, Trajectory
from crosswind.gateway.trajectory.sqlite.trajectories import read_trajectories

_OWNER = "coalesce(tenant, 'default')"
"""The tenant of a session in SQL. A session without one is the default tenant's."""
_FIRST_OWNER = f"SELECT {_OWNER} FROM session WHERE group_id = ? ORDER BY number LIMIT 1"
_OF_TENANT = "\x1f"
"""Separates a group's id from its tenant; no id holds it. The tenant that used the id first needs none, so
that the groups of stores that were written before keep their names.
"""


_ALONE = "\x1e"
"""Comes before the id of a session without a group where it stands among groups; no id holds it."""
_TOUCHED = "max(arrival, coalesce(closed_arrival, 0), coalesce(rewarded_arrival, 0))"
"""As the indices `session_touched` and `session_alone` have it."""
_GROUPS_SINCE = f"""
WITH changed AS MATERIALIZED (
  SELECT DISTINCT group_id AS id, {_OWNER} AS owner FROM session INDEXED BY session_touched
  WHERE group_id IS NOT NULL AND {_TOUCHED} > ?
), rollout AS (
  SELECT changed.id, owner, max(group_size) AS size,
    max(status = 'closed' AND reward_state = 'given') AS rewarded,
    min(status = 'closed' AND reward_state <> 'pending') AS settled,
    max(max(coalesce(closed_arrival, 0), coalesce(rewarded_arrival, 0))) AS completed,
    max({_TOUCHED}) AS touched, min(arrival) AS opened
  FROM changed JOIN session ON group_id = changed.id AND {_OWNER} = owner
  GROUP BY changed.id, owner, coalesce(rollout_index, session.id)
)
SELECT id, owner, owner = ({_FIRST_OWNER.replace("?", "rollout.id")}),
  min(opened), max(touched) AS touched, max(iif(rewarded OR settled, completed, 0)),
  sum(rewarded OR settled) >= max(size), max(rewarded)
FROM rollout GROUP BY id, owner ORDER BY touched, id"""


_SESSIONS_SINCE = f"""
SELECT id, arrival, {_TOUCHED} AS touched, max(coalesce(closed_arrival, 0), coalesce(rewarded_arrival, 0)),
  status = 'closed' AND reward_state <> 'pending', status = 'closed' AND reward_state = 'given'
FROM session INDEXED BY session_alone WHERE group_id IS NULL AND {_TOUCHED} > ? ORDER BY touched, id"""


def sessions_since(connection: sqlite3.Connection, after: int) -> list[GroupProgress]:
    found = []
    for session_id, opened, touched, completed, settled, rewarded in connection.execute(
        _SESSIONS_SINCE, (after,)
    ):
        name = f"{_ALONE}{session_id}"
        found.append(GroupProgress(name, name, opened, touched, completed, bool(settled), bool(rewarded)))
    return found


def groups_since(connection: sqlite3.Connection, after: int) -> list[GroupProgress]:
    found = []
    for group_id, owner, first, opened, touched, completed, settled, rewarded in connection.execute(
        _GROUPS_SINCE, (after,)
    ):
        key = f"{group_id}{_OF_TENANT}{owner}"
        # The tenant before it may be deleted: then its group is called by the id alone from now on.
        name = group_id if first else key
        found.append(GroupProgress(key, name, opened, touched, completed, bool(settled), bool(rewarded)))
    return found


def group(connection: sqlite3.Connection, group_id: str) -> list[Trajectory]:
    if group_id.startswith(_ALONE):
        return read_trajectories(connection, "WHERE id = ? AND group_id IS NULL", group_id[len(_ALONE) :])
    group_id, _, owner = group_id.partition(_OF_TENANT)
    owner = owner or _first_owner(connection, group_id)
    rest = f"WHERE group_id = ? AND {_OWNER} = ? ORDER BY rollout_index IS NULL, rollout_index, number"
    return read_trajectories(connection, rest, group_id, owner)


def _first_owner(connection: sqlite3.Connection, group_id: str) -> str:
    """The tenant that opened the group's oldest session."""
    first: tuple[str] = connection.execute(_FIRST_OWNER, (group_id,)).fetchone() or ("",)
    return first[0]
