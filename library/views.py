"""The pages: validate, call the service, render. And the metrics, which are for Prometheus."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from django.contrib.auth.views import redirect_to_login
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.views.decorators.http import require_http_methods, require_safe

from library import metrics as families
from library.api.access import address_may_ask
from library.api.exception_handler import http_status
from library.conf import metrics_token, search_config
from library.exceptions import GraphError, InvalidRequest, MnemosyneError
from library.forms import CONCEPTS_A_PAGE, ConceptForm, SearchForm
from library.graph import browse
from library.image_answer import image_answer
from library.metrics_access import Refusal, refusal
from library.pages import paging, results
from library.parameters import single_values, wants_fresh
from library.services.access import allowed_library_uids, may_ask, scope_of
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import Scope

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
        try:
            return view(request, *args, **kwargs)
        except GraphError as error:
            # What the caller may see could not be found out: nothing is shown.
            return render(request, "library/problem.html", {"problem": str(error)}, status=http_status(error))

    return inner  # type: ignore[return-value]


@require_safe
@guarded
@for_callers
def search(request: HttpRequest) -> HttpResponse:
    """The search page: the form, and the results once there is a query."""
    return _search_page(request, request.GET)


@require_http_methods(["GET", "HEAD", "POST"])
@guarded
@for_callers
def search_by_picture(request: HttpRequest) -> HttpResponse:
    """The search page with a picture for a question, which no link can hold; without one, the search page."""
    if request.method != "POST":
        return redirect("library:search")
    sent = request.POST.copy()
    sent.pop("csrfmiddlewaretoken", None)
    return _search_page(request, sent)


def _search_page(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    allowed = allowed_library_uids(request.user)
    context: dict[str, Any] = {}
    try:
        given = single_values(sent)
    except InvalidRequest as error:
        given = {name: values[-1] for name, values in sent.lists()}
        context["problem"], status = str(error), 400
    else:
        status = 200
    form = SearchForm(given, _libraries(allowed, context), search_config().limit)
    if form.is_valid() and "problem" not in context:
        status = _search(form, given, allowed, context, _extras(request))
    elif form.errors:
        status = 400
    return render(request, "library/search.html", {**context, "form": form}, status=status)


def _extras(request: HttpRequest) -> dict[str, Any]:
    """What a request has beside its form: a picture, and whether anything may come out of the cache."""
    picture = request.FILES.get("query_image")
    # One byte more than is allowed is enough to be refused for it.
    most = search_config().max_image_bytes + 1
    return {
        "fresh": wants_fresh(request.headers),
        "query_image": picture.read(most) if isinstance(picture, UploadedFile) else None,
    }


def _search(
    form: SearchForm,
    given: dict[str, Any],
    allowed: frozenset[str] | None,
    context: dict[str, Any],
    extras: dict[str, Any],
) -> int:
    """Put the results, or what is wrong, into the context; the HTTP status."""
    try:
        asked = "query" in given or extras["query_image"] is not None
        query = form.cleaned_data["query"] if asked else "-"
        # Before there is a query, a stand-in lets the other parameters be checked all the same.
        found = build_request(query, **form.given(), facets=True, allowed_library_uids=allowed, **extras)
        if asked:
            answer = SearchService().search(found)
            context["results"] = results(answer, given, found.offset, found.limit)
    except InvalidRequest as error:
        form.refuse(error)
        return 400
    except MnemosyneError as error:
        context["problem"] = str(error)
        return http_status(error)
    return 200


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
def image(request: HttpRequest, uid: str) -> HttpResponseBase:
    """The bytes of a picture that the caller may see, if they are a picture's bytes."""
    return _image(request, uid, small=False)


@require_safe
@guarded
@for_callers
def image_thumbnail(request: HttpRequest, uid: str) -> HttpResponseBase:
    """A small JPEG of a picture that the caller may see."""
    return _image(request, uid, small=True)


def _image(request: HttpRequest, uid: str, small: bool) -> HttpResponseBase:
    try:
        return image_answer(request, Scope(allowed_library_uids(request.user)), uid, small)
    except GraphError as error:
        return HttpResponse(str(error), status=http_status(error), content_type="text/plain")


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, for a caller with the token, or for this machine where no token is set."""
    refused = refusal(request.META, metrics_token())
    if refused is Refusal.UNAUTHORISED:
        return HttpResponse("A bearer token is needed.\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    if refused is Refusal.FORBIDDEN:
        return HttpResponse("Only for this machine, unless METRICS_TOKEN is set.\n", status=403)
    return HttpResponse(families.exposition(), content_type=families.CONTENT_TYPE)
