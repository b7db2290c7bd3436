"""The addresses on which the gateway listens: how they are bound, who can reach them, and whether an upstream
or the noise model is one of them.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from crosswind.gateway.config.settings import Settings, is_loopback
from crosswind.gateway.errors import ConfigurationError

_BACKLOG = 2048
_EVERY_ADDRESS = ("", "0.0.0.0", "::")
_PORTS = {"http": 80, "https": 443}


class PortInUse(ConfigurationError):
    """Another process listens there."""


def bind_planes(settings: Settings) -> tuple[socket.socket, socket.socket]:
    """Bind the data plane's socket and the control plane's, first of all, so that what is wrong with an
    address is said at once. Raises ConfigurationError.
    """
    data = listen(settings.host, settings.port, "")
    try:
        return data, listen(settings.control_host, settings.control_port, "control_")
    except PortInUse:
        data.close()
        if share_an_address(settings):
            raise ConfigurationError(
                f"port and control_port are both {settings.port}; give another --control-port"
            ) from None
        raise
    except ConfigurationError:
        data.close()
        raise


def share_an_address(settings: Settings) -> bool:
    """Whether both planes are to have the same port of the same address."""
    hosts = {settings.host, settings.control_host}
    same = len(hosts) == 1 or not hosts.isdisjoint(_EVERY_ADDRESS)
    return settings.port == settings.control_port != 0 and same


def listen(host: str, port: int, prefix: str) -> socket.socket:
    """Listen on an address; `prefix` is that of its settings `host` and `port`."""
    listener = bind(host, port, prefix)
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    return listener


def bind(host: str, port: int, prefix: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol: asyncio disables Nagle's algorithm only for sockets with a named one.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise _describe_failure(error, host, port, prefix) from None
    return bound


def _describe_failure(error: OSError, host: str, port: int, prefix: str) -> ConfigurationError:
    flag = f"--{prefix}".replace("_", "-")
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return ConfigurationError(
            f"{prefix}host {host!r} is no address of this machine ({error.strerror}); give {flag}host "
            "127.0.0.1 for this machine only, 0.0.0.0 for all its addresses, or one of them"
        )
    if error.errno == errno.EADDRINUSE:
        return PortInUse(
            f"{prefix}port {port} on {host} can't be used (another process listens there); end it, or give "
            f"another {flag}port"
        )
    return ConfigurationError(
        f"{prefix}port {port} on {host} can't be used ({error.strerror}); give another {flag}port"
    )


def refuse_own_addresses(settings: Settings) -> None:
    """Raise ConfigurationError for upstreams and noise models that are this gateway: each request would come
    back for ever.
    """
    if found := list(find_own_addresses(settings)):
        raise ConfigurationError(*found)


def find_own_addresses(settings: Settings) -> Iterator[str]:
    """Describe the upstreams and noise models that are the gateway's own addresses, with the fix."""
    planes = (
        ("data plane", settings.host, settings.port),
        ("control plane", settings.control_host, settings.control_port),
    )
    for name, url in _list_servers(settings):
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        for plane, host, own_port in planes:
            if port == own_port and _is_same_host(parts.hostname or "", host):
                yield (
                    f"{name}: {url} is this gateway's own {plane}; give the model "
                    f"server's URL, or another {'' if plane == 'data plane' else 'control '}port"
                )


def _list_servers(settings: Settings) -> Iterator[tuple[str, str]]:
    """The servers of models that the gateway asks, by what the configuration calls them, and their URLs."""
    for upstream in settings.every_upstream:
        yield from ((f"upstream {upstream.name}", base) for base in upstream.bases)
    if (writer := settings.noise_model) is not None:
        yield "noise_model.url", writer.url
        if writer.judge is not None:
            yield "noise_model.judge.url", writer.judge.url


def _is_same_host(name: str, bound: str) -> bool:
    """Whether a connection to `name` reaches a socket that is bound to `bound`."""
    addresses = _resolve(name)
    if bound in _EVERY_ADDRESS:
        return any(_is_local(address) for address in addresses)
    return not addresses.isdisjoint(_resolve(bound))


def _resolve(name: str) -> set[str]:
    try:
        found = socket.getaddrinfo("127.0.0.1" if name == "0.0.0.0" else name, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(entry[4][0]) for entry in found}


def _is_local(address: str) -> bool:
    """Whether it is an address of this machine: only such a one can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def describe_exposure(settings: Settings) -> Iterator[str]:
    """Say what other machines can reach, and what that takes."""
    if not is_loopback(settings.host):
        yield f"data plane on {settings.host}: {_describe_data_access(settings)}"
    if not is_loopback(settings.control_host):
        made = ", which is made and printed at each start: set control_key to keep one"
        yield (
            f"control plane on {settings.control_host}: other machines can read the record and steer noise, "
            f"with a key{made if settings.needs_control_key else ''}; it speaks no TLS"
        )


def _describe_data_access(settings: Settings) -> str:
    if settings.auth == "keys":
        return "other machines can send requests, with one of `keys`; it speaks no TLS"
    keyed = [upstream.name for upstream in settings.every_upstream if upstream.has_credentials]
    spent = f" and spend the key of upstream {', '.join(keyed)}" if keyed else ""
    return (
        f"other machines can send requests{spent} without a key of the gateway's; set auth: keys, or keep "
        "strangers out by a firewall"
    )
