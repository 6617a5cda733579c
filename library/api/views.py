"""The REST API: validate, call the service, render."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase, QueryDict
from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView

from library.addresses import API_THUMBNAIL, with_addresses
from library.api.access import AnonymousThrottle, MayAsk, SignInThrottle, UserThrottle, callers_jwt
from library.api.exception_handler import exception_handler
from library.api.parsers import MAX_BODY_BYTES, StrictJSONParser, check_size
from library.api.serializers import ConceptGraphInput, ConceptListInput, NoInput, SearchInput
from library.conf import search_config
from library.graph import browse
from library.graph.concept_graph import concept_graph
from library.image_answer import image_answer
from library.parameters import single_values, wants_fresh
from library.services.access import allowed_library_uids, scope_of
from library.services.present import as_plain, response_as_dict
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import Scope


class LibraryView(APIView):
    """What all routes share, named here so that they are the same in any project that installs the app."""

    authentication_classes = (TokenAuthentication, JWTAuthentication, SessionAuthentication)
    permission_classes = (MayAsk,)
    throttle_classes = (UserThrottle, AnonymousThrottle)
    parser_classes = (StrictJSONParser, FormParser, MultiPartParser)
    renderer_classes = (JSONRenderer,)

    def get_exception_handler(self) -> Any:
        """One shape for every error."""
        return exception_handler

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After the caller is known, and before the body is read: is it of a sensible size?"""
        super().initial(request, *args, **kwargs)
        check_size(request, self.most_bytes())

    def most_bytes(self) -> int:
        """Of a body."""
        return MAX_BODY_BYTES


class SearchView(LibraryView):
    """POST a search; subclasses force how it is done."""

    forced: ClassVar[dict[str, Any]] = {}

    def most_bytes(self) -> int:
        """A picture may come with a search, in base64 a third larger than it is."""
        return MAX_BODY_BYTES + search_config().max_image_bytes * 4 // 3

    def post(self, request: Request) -> Response:
        """The whole `SearchResponse`, whatever legs answered."""
        NoInput(data=single_values(request.query_params)).given()
        body = _body(request)
        if not isinstance(body, Mapping) or body.get("query_image") is None:
            # Only a picture may be large.
            check_size(request)
        given = SearchInput(data=body).given() | self.forced
        query = given.pop("query", "")
        found = build_request(
            query,
            **given,
            fresh=wants_fresh(request.headers),
            caller_jwt=callers_jwt(request),
            allowed_library_uids=allowed_library_uids(request.user),
        )
        return Response(response_as_dict(with_addresses(SearchService().search(found), API_THUMBNAIL)))


class VectorSearchView(SearchView):
    """By meaning only."""

    forced: ClassVar[dict[str, Any]] = {"search_types": ["vector"], "strategy": "semantic"}


class FulltextSearchView(SearchView):
    """By words only."""

    forced: ClassVar[dict[str, Any]] = {"search_types": ["fulltext"], "strategy": "lexical"}


class LibraryListView(LibraryView):
    """The libraries that the caller may search, for filters."""

    def get(self, request: Request) -> Response:
        """By name, with their collections."""
        NoInput(data=single_values(request.query_params)).given()
        found = browse.libraries(Scope(allowed_library_uids(request.user)))
        return Response({"results": as_plain(found)})


class ImageView(LibraryView):
    """The bytes of a picture; the same to all who may see it, 404 to others."""

    small: ClassVar[bool] = False

    def get(self, request: Request, uid: str) -> HttpResponseBase:
        """As it was taken in, or small."""
        return image_answer(request, Scope(allowed_library_uids(request.user)), uid, self.small)


class ThumbnailView(ImageView):
    """A small JPEG of a picture."""

    small: ClassVar[bool] = True


class ConceptListView(LibraryView):
    """Concepts by name, with what is about each of them."""

    def get(self, request: Request) -> Response:
        """One page of them."""
        given = ConceptListInput(data=single_values(request.query_params)).given()
        scope = _scope(request, given)
        found = browse.concepts(scope, given["q"], given["offset"], given["limit"])
        return Response(
            {
                "count": found.total,
                "offset": given["offset"],
                "limit": given["limit"],
                "results": as_plain(found.entries),
            }
        )


class ConceptGraphView(LibraryView):
    """The neighbourhood of one concept."""

    def get(self, request: Request, uid: str) -> Response:
        """Nodes and edges; 404 for a concept that the caller's libraries do not mention."""
        given = ConceptGraphInput(data=single_values(request.query_params)).given()
        found = concept_graph(_scope(request, given), uid, given["depth"], given["limit"])
        if found is None:
            raise Http404
        return Response({"uid": uid, "depth": given["depth"], **as_plain(found)})


def _body(request: Request) -> Any:
    data = request.data
    if not isinstance(data, QueryDict):
        return data
    given = single_values(data, ("search_types",))
    if "image" in given and "query_image" not in given:
        # What a file of a form is most often called.
        given["query_image"] = given.pop("image")
    return given


def _scope(request: Request, given: dict[str, Any]) -> Scope:
    allowed = allowed_library_uids(request.user)
    return scope_of(allowed, given.get("library_uid"), given.get("library_type"))


class TokenView(TokenObtainPairView):
    """POST a name and a password: a JWT for a while, and another to renew it with."""

    throttle_classes = (SignInThrottle,)

    def get_exception_handler(self) -> Any:
        """One shape for every error."""
        return exception_handler


class TokenRenewalView(TokenRefreshView):
    """POST the second of the two tokens: the first one anew."""

    throttle_classes = (SignInThrottle,)

    def get_exception_handler(self) -> Any:
        """One shape for every error."""
        return exception_handler
