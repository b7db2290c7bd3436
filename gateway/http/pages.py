"""Tell requests of web pages: a page in somebody's browser reaches whatever that machine reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_OTHER_SITES = (b"cross-site", b"same-site")


class PageGuard:
    """Finds what speaks against a request: a Host that isn't ours, or a page of another origin.

    IP addresses, localhost and the given names are ours. A page that rebinds its own name to our address (DNS
    rebinding) keeps its name in Host.
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str] = ()) -> None:
        """`origins` are those whose pages may come."""
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    def find_foreign_host(self, headers: Mapping[bytes, bytes]) -> str | None:
        """The request's Host, if it isn't ours."""
        host = headers.get(b"host", b"").decode("latin-1")
        return None if self._is_own_name(_split_url(f"//{host}").hostname or "") else host

    def comes_from_elsewhere(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a page of another origin, or of another site, sent the request."""
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin")
        if origin is not None:
            named = origin.decode("latin-1").lower()
            if named in self._origins:
                return False
            if _split_url(named).netloc != host.lower():
                return True
        return headers.get(b"sec-fetch-site") in _OTHER_SITES

    def _is_own_name(self, name: str) -> bool:
        if name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True


def is_of_browser(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser seems to have sent a request. SDKs send neither of these."""
    return (
        any(name in headers for name in (b"origin", b"referer", b"sec-fetch-site"))
        or headers.get(b"user-agent", b"")[:8] == b"Mozilla/"
    )


def _split_url(url: str) -> SplitResult:
    """Split a URL; an invalid one gives empty parts, which match no host."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
