"""Words of what systems tell at length beside an answer: names of fields, what happened, and by whom."""

from __future__ import annotations

from crosswind.injectors.operators.words import fields
from crosswind.injectors.targets import Half

HOLDERS = {
    "series": """
        history readings samples series past trend timeline previous recorded measurements datapoints log
        graph archive track snapshots earlier
    """.split(),
    "items": "details index members entries_detail usage listing catalogue lookup stats directory".split(),
    "files": "long_format listing ls_l details stat_list long entries dir_info verbose attributes".split(),
    "columns": "fields metadata column_info description result_info columns_meta".split(),
    "events": """
        events audit activity trail journal timeline log feed sightings recent access stream happenings
        lately occurrences
    """.split(),
    "calls": """
        operations recent queue log activity journal last_calls requests usage served invocations runs
    """.split(),
    "commands": """
        history shell_log typed fc bash_history recent commands before scrollback inputs stack ran lines
    """.split(),
    "sums": "tape memory history earlier ans previous_results stack worksheet scratchpad".split(),
    "session": "session earlier previous context recent transcript recent_results so_far replay".split(),
}
"""Names of fields, by what they hold."""

TIMES = (
    *(("at", "iso"), ("time", "clock"), ("timestamp", "epoch"), ("ts", "epoch"), ("when", "date")),
    *(("t", "ago"), ("offset_s", "ago"), ("clock", "clock"), ("n", "index"), ("i", "index")),
    *(("recorded", "date"), ("date", "plain"), ("moment", "clock"), ("slot", "index"), ("cycle", "index")),
    *(("stamp", "epoch"), ("k", "index"), ("step", "index"), ("on", "date"), ("logged", "plain")),
    *(("epoch", "epoch"), ("idx", "index"), ("lap", "index"), ("day", "date"), ("tick", "index")),
)
"""Fields of moments, with how these are written."""

COUNTED_UP = frozenset({"odometer", "mileage", "likes", "views", "followers", "steps", "kwh"})
"""Words of fields whose figures were lower before."""
SLOW = frozenset(
    {"balance", "odometer", "followers", "likes", "glucose", "stock", "seats", "score", "rating"}
)
"""Words of fields that change from day to day."""
VARYING = (
    fields.MEASURED
    - {
        "length",
        "width",
        "height",
        "depth",
        "range",
        "distance",
        "level",
        "angle",
        "duration",
        "usage",
        "area",
    }
    | {"price", "rate", "change", "availability", "ma", "high", "low"}
    | {"fuellevel", "batterylevel"}
    | COUNTED_UP
    | SLOW
) - {"rating", "volume"}
"""Words of fields whose figures are others at other times."""


def _events(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


EVENTS: tuple[tuple[frozenset[str], dict[Half, tuple[str, ...]]], ...] = (
    (
        frozenset(
            "vehicle engine car brake tire fuel gear door doors lock navigation parking odometer speed "
            "headlights trunk cruise climate temperature".split()
        ),
        {
            Half.TRAIN: _events(
                "key detected, app connected, trip ended, lights auto, door closed, wipers off, "
                "map tile loaded, "
                "gps fix, seat belt fastened, cabin light off"
            ),
            Half.TEST: _events(
                "phone paired, telemetry sent, ignition off, window closed, radio muted, mirror folded, "
                "satellite lock, driver recognised, horn test ok, clock set"
            ),
        },
    ),
    (
        frozenset("device thermostat lamp light lights sensor camera room vacuum energy humidity".split()),
        {
            Half.TRAIN: _events(
                "motion cleared, schedule run, online, button press, heartbeat, scene stored, wifi rejoined, "
                "telemetry sent, app opened"
            ),
            Half.TEST: _events(
                "presence ended, routine checked, poll ok, remote pressed, hub contacted, group read, "
                "mesh rerouted, report sent, session closed"
            ),
        },
    ),
    (
        frozenset("message messages mail inbox chat contact user users".split()),
        {
            Half.TRAIN: _events(
                "delivered, read, typing, push sent, device added, badge cleared, searched, presence changed"
            ),
            Half.TEST: _events(
                "received, opened, notified, synced to phone, away, back online, avatar loaded, thread viewed"
            ),
        },
    ),
    (
        frozenset("tweet post comment follower followers retweet hashtag profile".split()),
        {
            Half.TRAIN: _events(
                "viewed, shared by link, profile visit, saved, impression, link click, expanded"
            ),
            Half.TEST: _events("seen, embedded, copied, hovered, quoted in a digest, listed, bookmarked"),
        },
    ),
    (
        frozenset("ticket issue case article incident pull request build branch".split()),
        {
            Half.TRAIN: _events(
                "viewed, watcher notified, SLA checked, search indexed, template shown, mail sent, exported"
            ),
            Half.TEST: _events(
                "opened in portal, reminder queued, macro listed, subscriber told, printed, "
                "report run, linked"
            ),
        },
    ),
    (
        frozenset("account balance transaction transfer invoice card payment stock order watchlist".split()),
        {
            Half.TRAIN: _events(
                "statement viewed, rate fetched, limit checked, quote refreshed, alert sent, export, login"
            ),
            Half.TEST: _events(
                "position listed, feed tick, session opened, risk check ok, report mailed, chart drawn, sync"
            ),
        },
    ),
    (
        frozenset("patient medication doctor appointment lab prescription vitals allergies allergy".split()),
        {
            Half.TRAIN: _events(
                "chart viewed, label printed, form scanned, consent checked, list printed, file opened"
            ),
            Half.TEST: _events(
                "record accessed, summary sent, desk check, wristband read, insurance queried, note viewed"
            ),
        },
    ),
    (
        frozenset("file files directory folder table query schema".split()),
        {
            Half.TRAIN: _events("open, read, close, stat, lock released, access checked"),
            Half.TEST: _events("lookup, mapped, released, opened, checked, snapshot"),
        },
    ),
)
"""What happens to the things that a tool's words speak of, which changes nothing that the answer tells."""

ANY_EVENT = {
    Half.TRAIN: _events(
        "viewed, listed, exported, shared, printed, searched, opened on mobile, reminder shown"
    ),
    Half.TEST: _events(
        "seen, fetched, mailed, bookmarked, compared, reloaded, opened on desktop, summarised"
    ),
}

COMMANDS = {
    Half.TRAIN: _events(
        "cd .., ls -la, git status, vim notes.txt, make, df -h, grep -rn TODO ., tail -n 50 app.log, ps aux, "
        "clear, man tar, which python3, echo $PATH, uptime, cat README.md, ssh build-2, tar tzf old.tgz, "
        "chmod +x run.sh, kill %1, jobs, alias, crontab -l, curl -I localhost, wc -l *.csv, sudo "
        "-l, screen -ls, "
        "diff a b, sort -u ids.txt, ping -c 1 db, pip list, node -v, touch x, umask, export EDITOR=vim, bg, "
        "journalctl -n 20, sleep 5, test -d out, sha256sum iso, sed -n 1p list"
    ),
    Half.TEST: _events(
        "pwd, ls -1, du -sh *, less CHANGELOG, nano todo.txt, git log --oneline, free -m, find . "
        "-name '*.log', "
        "head -20 data.csv, top, whoami, env, tmux ls, file *, type ls, date, scp a host:, unzip -l "
        "pack.zip, "
        "chown -R app ., fg, history, unalias gs, atq, wget -q url, cut -d: -f1 users, su - web, lsof -i, "
        "cmp x y, uniq -c words, dig host, npm ls, java -version, stat z, ulimit -n, source "
        ".profile, disown, "
        "dmesg, watch -n 2 ls, true, md5sum iso, awk 1 list, strings core"
    ),
}
"""Earlier commands of a shell."""

ACTORS = (
    ("by", ("system", "scheduler", "operator")),
    ("actor", ("cron", "batch", "daemon")),
    ("source", ("web", "mobile", "desktop")),
    ("node", ("a1", "a2", "b1", "b4", "c3")),
    ("channel", ("queue", "stream", "ui")),
    ("ms", (2, 3, 5, 8, 11, 17, 24, 41, 66)),
    ("via", ("app", "portal", "kiosk")),
    ("worker", (1, 2, 3, 4, 5, 6)),
    ("took", ("3 ms", "8 ms", "14 ms", "22 ms")),
    ("session", (17, 18, 21, 22, 30)),
    ("", ("",)),
    ("", ("",)),
)
"""Fields of who did it or how long it took, with what they say; "": none."""

EVENT_KEYS = "action event op activity what type change kind label note msg entry subject did".split()
"""Fields of what happened."""

CALL_KEYS = "op call tool method function endpoint request name handler verb job task".split()
"""Fields of which tool was called."""
