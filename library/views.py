"""The pages: validate, call the service, render. And the metrics, which are for Prometheus."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from django.contrib.auth.views import redirect_to_login
from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.views.decorators.http import require_safe

from library import metrics as families
from library.api.access import address_may_ask
from library.api.exception_handler import http_status
from library.conf import metrics_token, search_config
from library.exceptions import GraphError, InvalidRequest, MnemosyneError
from library.forms import CONCEPTS_A_PAGE, ConceptForm, SearchForm
from library.graph import browse
from library.metrics_access import Refusal, refusal
from library.pages import paging, results
from library.parameters import single_values, wants_fresh
from library.pictures import media_type
from library.services.access import allowed_library_uids, may_ask, scope_of
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import Scope, SearchRequest

View = TypeVar("View", bound=Callable[..., HttpResponseBase])

# Nothing runs on our pages but our style sheet: what a document holds can never become a script.
POLICY: Final = (
    "default-src 'none'; style-src {own}; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def guarded(view: View) -> View:
    """Send the content security policy with every answer of a view."""

    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = view(*args, **kwargs)
        address = static("library/library.css")
        own = "/".join(address.split("/")[:3]) if "://" in address else "'self'"
        answer.headers["Content-Security-Policy"] = POLICY.format(own=own)
        return answer

    return inner  # type: ignore[return-value]


def for_callers(view: View) -> View:
    """Only for whoever may ask, and no oftener than the settings allow; others are sent to sign in."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_ask(request.user):
            return redirect_to_login(request.get_full_path())
        if not request.user.is_authenticated and not address_may_ask(request):
            problem = "Too many requests from this address. Wait a minute, or sign in."
            return render(request, "library/problem.html", {"problem": problem}, status=429)
        request.may_ask = True  # type: ignore[attr-defined]
        return view(request, *args, **kwargs)

    return inner  # type: ignore[return-value]


@require_safe
@guarded
@for_callers
def search(request: HttpRequest) -> HttpResponse:
    """The search page: the form, and the results once there is a query."""
    allowed = allowed_library_uids(request.user)
    context: dict[str, Any] = {}
    try:
        given = single_values(request.GET)
    except InvalidRequest as error:
        given = {name: values[-1] for name, values in request.GET.lists()}
        context["problem"], status = str(error), 400
    else:
        status = 200
    form = SearchForm(given, _libraries(allowed, context), search_config().limit)
    if form.is_valid() and "problem" not in context:
        status = _search(form, given, allowed, context, wants_fresh(request.headers))
    elif form.errors:
        status = 400
    return render(request, "library/search.html", {**context, "form": form}, status=status)


def _search(
    form: SearchForm, given: dict[str, Any], allowed: frozenset[str] | None, context: dict[str, Any], fresh: bool
) -> int:
    """Put the results, or what is wrong, into the context; the HTTP status."""
    try:
        found = _request(form, given, allowed, fresh)
        if "query" in given:
            answer = SearchService().search(found)
            context["results"] = results(answer, given, found.offset, found.limit)
    except InvalidRequest as error:
        form.refuse(error)
        return 400
    except MnemosyneError as error:
        context["problem"] = str(error)
        return http_status(error)
    return 200


def _request(form: SearchForm, given: dict[str, Any], allowed: frozenset[str] | None, fresh: bool) -> SearchRequest:
    """The request; before there is a query, a stand-in lets the other parameters be checked all the same."""
    query = form.cleaned_data["query"] if "query" in given else "-"
    return build_request(query, **form.given(), facets=True, fresh=fresh, allowed_library_uids=allowed)


def _libraries(allowed: frozenset[str] | None, context: dict[str, Any]) -> tuple[browse.LibraryEntry, ...]:
    """The libraries for the filters. Without Neo4j the page still stands, and says what is wrong."""
    try:
        return browse.libraries(Scope(allowed))
    except GraphError as error:
        context["filters_problem"] = str(error)
        return ()


@require_safe
@guarded
@for_callers
def concept_list(request: HttpRequest) -> HttpResponse:
    """Concepts by name, with what is about each of them."""
    allowed = allowed_library_uids(request.user)
    context: dict[str, Any] = {}
    given: dict[str, Any] = {}
    status = 200
    try:
        given = single_values(request.GET)
        form = ConceptForm(given, _libraries(allowed, context))
        status = _concepts(form, given, allowed, context) if form.is_valid() else 400
    except MnemosyneError as error:
        form = ConceptForm(given, ())
        context["problem"], status = str(error), http_status(error)
    return render(request, "library/concept_list.html", {**context, "form": form}, status=status)


def _concepts(form: ConceptForm, given: dict[str, Any], allowed: frozenset[str] | None, context: dict[str, Any]) -> int:
    cleaned = form.cleaned_data
    offset = cleaned["offset"] if cleaned["offset"] is not None else 0
    limit = cleaned["limit"] if cleaned["limit"] is not None else CONCEPTS_A_PAGE
    scope = scope_of(allowed, cleaned["library_uid"], cleaned["library_type"])
    found = browse.concepts(scope, cleaned["q"], offset, limit)
    shown = len(found.entries)
    context["concepts"] = found
    context["paging"] = paging(given, offset, limit, shown, offset + shown < found.total)
    return 200


@require_safe
@guarded
@for_callers
def concept_detail(request: HttpRequest, uid: str) -> HttpResponse:
    """One concept: passages, items, pictures and related concepts."""
    try:
        detail = browse.concept_detail(Scope(allowed_library_uids(request.user)), uid)
    except MnemosyneError as error:
        return render(request, "library/problem.html", {"problem": str(error)}, status=http_status(error))
    if detail is None:
        raise Http404
    return render(request, "library/concept_detail.html", {"detail": detail})


@require_safe
@guarded
@for_callers
def image(request: HttpRequest, uid: str) -> HttpResponse:
    """The bytes of a picture that the caller may see, if they are a picture's bytes."""
    try:
        key = browse.image_key(Scope(allowed_library_uids(request.user)), uid)
    except GraphError as error:
        return HttpResponse(str(error), status=http_status(error), content_type="text/plain")
    if not key or not default_storage.exists(key):
        raise Http404
    with default_storage.open(key) as stored:
        content = stored.read()
    kind = media_type(content)
    if kind is None:
        raise Http404
    # Private: what one caller may see, a shared cache must not show to another.
    return HttpResponse(
        content,
        content_type=kind,
        headers={"Cache-Control": "private, max-age=300", "X-Content-Type-Options": "nosniff"},
    )


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, for a caller with the token, or for this machine where no token is set."""
    refused = refusal(request.META, metrics_token())
    if refused is Refusal.UNAUTHORISED:
        return HttpResponse("A bearer token is needed.\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    if refused is Refusal.FORBIDDEN:
        return HttpResponse("Only for this machine, unless METRICS_TOKEN is set.\n", status=403)
    return HttpResponse(families.exposition(), content_type=families.CONTENT_TYPE)
