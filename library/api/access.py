"""Who may call the API, how they prove who they are, and how often they may ask."""

import logging
from typing import Any

from django.http import HttpRequest
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import JWTAuthentication

from library.conf import access_config
from library.services.access import may_ask

log = logging.getLogger(__name__)


class MayAsk(BasePermission):
    """Whoever is signed in, and anyone where public access is allowed."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """False is answered by 401."""
        return may_ask(request.user)


class CountedThrottle(SimpleRateThrottle):
    """Lets everyone through, and says so in the log, while the cache that the counts are in is away."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Whether the request is within the bound; counts it."""
        # Backends raise errors of their own libraries, which need not be installed here.
        try:
            return bool(super().allow_request(request, view))
        except Exception:
            log.exception("Requests cannot be counted: the cache is away")
            return True


class UserThrottle(CountedThrottle, UserRateThrottle):
    """Bounds the requests of each user."""

    scope = "library_user"

    def get_rate(self) -> str | None:
        """API_THROTTLE_USER."""
        return access_config().user_rate

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """None for callers who are not signed in: `AnonymousThrottle` bounds them."""
        return super().get_cache_key(request, view) if request.user and request.user.is_authenticated else None


class AnonymousThrottle(CountedThrottle, AnonRateThrottle):
    """Bounds the requests of each address that is not signed in."""

    scope = "library_anonymous"

    def get_rate(self) -> str | None:
        """API_THROTTLE_ANONYMOUS."""
        return access_config().anonymous_rate


class SignInThrottle(AnonymousThrottle):
    """Bounds how often an address may try a password."""

    scope = "library_sign_in"

    def get_cache_key(self, request: Request, view: Any) -> str:
        """By address, whoever asks."""
        return str(self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)})


def address_may_ask(request: HttpRequest) -> bool:
    """Whether a page's caller who is not signed in is within the bound of their address; counts the request."""
    return AnonymousThrottle().allow_request(Request(request), APIView())


def callers_jwt(request: Request) -> str:
    """The JWT that the caller came with, to be forwarded to model services that take it; '' without one."""
    if not isinstance(request.successful_authenticator, JWTAuthentication):
        return ""
    return str(request.headers.get("Authorization", "")).split()[-1]
