"""Addresses that no server of tools may have: link-local ones, and those of clouds' metadata services."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_METADATA = tuple(
    ip_network(one)
    for one in (
        "169.254.0.0/16",  # link-local; most clouds' metadata among them
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
        "fe80::/10",
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google
    )
)
_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_NAT64 = ip_network("64:ff9b::/96")


def is_internal(address: str) -> bool:
    """Whether an IP address is link-local, that of a metadata service, or no single host's."""
    try:
        found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        found = _find_ipv4(found) or found
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        return True
    return any(found.version == network.version and found in network for network in _METADATA)


def _find_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]


def find_internal_address(url: str) -> str | None:
    """The host of a URL, if it is such an address as it stands there. Names are looked up on connecting."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    return host if host in _NAMES or is_internal(host) else None
