"""What the relay makes of a control plane that answers oddly: a real server with raw answers."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crosswind.gateway.stdio.attachment import Attachment
from crosswind.gateway.stdio.control_plane import ControlPlane, Refused, Unreachable
from crosswind.gateway.stdio.spool import Spool
from tests.gateway.stdio.play import call, play, relayed

EVENT = {"id": "a", "session": "s", "at_us": 1, "link": "l", "tool": "t", "anchor": "", "operator": "call"}


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives the last of these answers to all further requests; gives its URL, and them."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        left = list(answers)
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as request:
                head = b"".join(iter(request.readline, b"\r\n")).lower()
                length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
                seen.append(head + request.read(length))
                connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    "answer",
    [
        *(ok(body) for body in (b"null", b"5", b"[1]", b"<html>", b"[" * 100_000)),
        b"HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\nhalf",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_answer_that_makes_no_sense_is_one_of_no_gateway(answer: bytes) -> None:
    with answering(answer) as (url, _), pytest.raises(Unreachable):
        ControlPlane(url, None).post("/api/sessions", {}, 10)


@pytest.mark.parametrize("body", [b"{}", b'{"session": "s"}', b'{"session": "s", "plan": {}, "noise": true}'])
@pytest.mark.parametrize("session", [None, "s"])
def test_an_answer_without_what_a_control_plane_says_is_told(body: bytes, session: str | None) -> None:
    with (
        answering(ok(body)) as (url, _),
        pytest.raises(Refused, match=r"none of a control plane.*give the control plane's URL"),
    ):
        Attachment(ControlPlane(url, None), "shop", session, None, 10)


def test_a_file_that_no_relay_of_this_user_wrote_is_left_alone(tmp_path: Path) -> None:
    spool, secret = tmp_path / "spool", tmp_path / "secret"
    spool.mkdir()
    with answering(ok(b"{}")) as (url, seen):
        head = json.dumps({"control": url, "session": "s"})
        secret.write_text(f"{head}\n{json.dumps(EVENT)}\n")
        (spool / "a.jsonl").symlink_to(secret)
        os.mkfifo(spool / "b.jsonl")
        (spool / "c.jsonl").write_text("[]\n")
        (spool / "d.jsonl").write_text(f"{head}\n{json.dumps(EVENT)}\n")
        Spool(spool, "new", ControlPlane(url, None), "s").close(60)
        assert sorted(path.name for path in spool.iterdir()) == ["a.jsonl", "b.jsonl", "c.jsonl"]
        assert len([one for one in seen if b'"events": []' not in one]) == 1
    for taken in ("a", "c"):
        with pytest.raises(FileExistsError):
            Spool(spool, taken, ControlPlane("http://127.0.0.1:9", None), "s")
    assert secret.read_text().count("\n") == 2


def test_the_key_goes_to_no_other_server() -> None:
    with answering(ok(b"{}")) as (other, theirs):
        moved = f"HTTP/1.1 302 Found\r\nLocation: {other}/\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(moved) as (url, ours), pytest.raises(ValueError, match="refused"):
            ControlPlane(url, "the-key").post("/api/sessions", {}, 10)
    assert len(ours) == 1
    assert theirs == []


def test_events_that_were_left_go_in_requests_that_the_control_plane_takes(tmp_path: Path) -> None:
    with answering(ok(b"{}")) as (url, seen):
        large = json.dumps({**EVENT, "before": "x" * 100_000, "after": "y" * 100_000})
        head = json.dumps({"control": url, "session": "s"})
        (tmp_path / "old.jsonl").write_text("\n".join([head, *[large] * 60, large[:50]]))
        Spool(tmp_path, "new", ControlPlane(url, None), "s").close(60)
        assert list(tmp_path.glob("*.jsonl")) == []
        assert max(map(len, seen)) < 4 << 20
        assert sum(one.count(b'"before"') for one in seen) == 60


def test_the_server_does_not_get_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSWIND_CONTROL_KEY", "the-key")
    tell = "import json, os; input(); print(json.dumps({'id': 1, 'result': os.environ.get('%s')}))"
    said, status = play(relayed(["python3", "-c", tell % "CROSSWIND_CONTROL_KEY"]), [call(1, "t")])
    assert (json.loads(said), status) == ({"id": 1, "result": None}, 0)
