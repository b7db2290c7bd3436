"""Which process serves a client: found by the ends of its connection, as the kernel lists them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx


def local_port(response: httpx.Response) -> int:
    """The client's end of the connection that a response came over."""
    stream: Any = response.extensions["network_stream"]
    return int(stream.get_extra_info("client_addr")[1])


def server_of(client_port: int, server_port: int, supervisor: int) -> int:
    """The child of the supervisor that holds the server's end of this connection."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(server_port, client_port)}
    for process in children(supervisor):
        with suppress(OSError):
            for descriptor in Path(f"/proc/{process}/fd").iterdir():
                with suppress(OSError):
                    if str(descriptor.readlink()) in wanted:
                        return process
    raise AssertionError(f"nobody serves the connection from port {client_port}")


def children(process: int) -> list[int]:
    """The processes that this one's main thread started and that live."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _inodes(local: int, remote: int) -> list[str]:
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        ports = [int(end.rpartition(":")[2], 16) for end in fields[1:3]]
        if ports == [local, remote]:
            found.append(fields[9])
    return found
