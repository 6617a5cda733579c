"""Who may read the metrics. Pure."""

import ipaddress
import secrets
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

# Where one of these is present a proxy stands between, and the address we see is the proxy's.
FORWARDING: Final = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_HOST", "HTTP_VIA")


class Refusal(Enum):
    """Why a caller is refused."""

    UNAUTHORISED = auto()
    FORBIDDEN = auto()


def refusal(meta: Mapping[str, Any], token: str) -> Refusal | None:
    """None where the caller may read: with the bearer token where one is set, else from this machine, directly."""
    if token:
        scheme, _, given = str(meta.get("HTTP_AUTHORIZATION", "")).partition(" ")
        right = secrets.compare_digest(given.strip().encode(), token.encode())
        return None if scheme.lower() == "bearer" and right else Refusal.UNAUTHORISED
    if any(name in meta for name in FORWARDING) or not _is_loopback(str(meta.get("REMOTE_ADDR", ""))):
        return Refusal.FORBIDDEN
    return None


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        # '' behind a Unix socket: whoever is on the other side, it is a proxy.
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped if mapped is not None else found).is_loopback
