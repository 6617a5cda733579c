"""The forms of the pages. Types are checked here, ranges and choices by `SearchRequest`, as for the API."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms

from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest
from library.graph.browse import LibraryEntry
from library.services.types import MAX_EXPAND, MAX_LIMIT

ANY_LIBRARY: Final = ("", "All libraries")
ANY_TYPE: Final = ("", "All types")
ANY_COLLECTION: Final = ("", "All collections")
TYPES: Final = [ANY_TYPE, *((kind.name, kind.label) for kind in CONTENT_TYPES.values())]
STRATEGIES: Final = [
    ("auto", "Automatic"),
    ("hybrid", "Hybrid: all ways, fused"),
    ("semantic", "By meaning"),
    ("lexical", "By words"),
    ("lexical_first", "By words, ordered by meaning"),
]
RERANK: Final = [("true", "On"), ("false", "Off: faster")]
GROUPINGS: Final = [("chunk", "Every passage"), ("item", "Best passage of each item")]
# The message of a whole number that is none, as the API words it.
_WHOLE: Final = {"invalid": "A valid integer is required."}
MAX_CONCEPT_OFFSET: Final = 100_000
CONCEPTS_A_PAGE: Final = 50


class FilterForm(forms.Form):
    """What the search and the concept list share. Unknown parameters are refused, as the API refuses them."""

    library_uid = forms.CharField(required=False, label="Library", widget=forms.Select)
    library_type = forms.CharField(required=False, label="Type", widget=forms.Select(choices=TYPES))

    def __init__(self, data: Mapping[str, Any], libraries: Sequence[LibraryEntry]) -> None:
        super().__init__(dict(data))
        self._offer("library_uid", [ANY_LIBRARY, *((library.uid, library.name) for library in libraries)])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        """Fill a select; a value that is not on the list stays visible, so that it is not dropped in silence."""
        chosen = self.data.get(name, "")
        if chosen and chosen not in (value for value, _ in choices):
            choices = [*choices, (chosen, chosen)]
        widget = self.fields[name].widget
        if isinstance(widget, forms.Select):
            widget.choices = choices

    def clean(self) -> dict[str, Any]:
        """Refuse what no field knows."""
        super().clean()
        for name in sorted(set(self.data) - set(self.fields)):
            self.add_error(None, f"{name}: unknown parameter")
        return self.cleaned_data

    def refuse(self, error: InvalidRequest) -> None:
        """Show an error of the request beside its field."""
        if error.field in self.fields:
            self.add_error(error.field, error.message)
        else:
            self.add_error(None, str(error))


class SearchForm(FilterForm):
    """The search page's form, sent by GET so that a search can be linked to."""

    query = forms.CharField(
        required=False, strip=False, label="Search for", widget=forms.TextInput(attrs={"type": "search"})
    )
    collection_uid = forms.CharField(required=False, label="Collection", widget=forms.Select)
    strategy = forms.CharField(required=False, label="How", widget=forms.Select(choices=STRATEGIES))
    limit = forms.IntegerField(
        required=False,
        label="Results a page",
        error_messages=_WHOLE,
        widget=forms.NumberInput(attrs={"min": 1, "max": MAX_LIMIT, "required": True}),
    )
    offset = forms.IntegerField(required=False, error_messages=_WHOLE, widget=forms.HiddenInput)
    rerank = forms.ChoiceField(required=False, label="Re-ranking", choices=RERANK)
    group_by = forms.CharField(required=False, label="Show", widget=forms.Select(choices=GROUPINGS))
    expand = forms.IntegerField(
        required=False,
        label="Passages around each",
        error_messages=_WHOLE,
        widget=forms.NumberInput(attrs={"min": 0, "max": MAX_EXPAND, "required": True}),
    )
    field_order = (
        *("query", "library_uid", "library_type", "collection_uid"),
        *("strategy", "group_by", "limit", "rerank", "expand"),
    )

    def __init__(self, data: Mapping[str, Any], libraries: Sequence[LibraryEntry], default_limit: int) -> None:
        defaults = {"limit": str(default_limit), "strategy": "auto", "rerank": "true"}
        defaults |= {"group_by": "chunk", "expand": "0"}
        # Whether something of the second row was chosen, so that it is not hidden.
        self.has_options = any(data.get(name, value) != value for name, value in defaults.items())
        super().__init__({**defaults, **data}, libraries)
        offered = [
            (collection.uid, f"{library.name}: {collection.name}")
            for library in libraries
            for collection in library.collections
        ]
        self._offer("collection_uid", [ANY_COLLECTION, *offered])

    def clean(self) -> dict[str, Any]:
        """A number that was sent empty is an error, not the default."""
        cleaned = super().clean()
        for name in ("limit", "offset", "expand"):
            if name in self.data and cleaned.get(name) is None and name not in self.errors:
                self.add_error(name, _WHOLE["invalid"])
        return cleaned

    def given(self) -> dict[str, Any]:
        """What `build_request` takes; None where nothing was given."""
        cleaned = self.cleaned_data
        texts = ("library_uid", "library_type", "collection_uid", "strategy", "group_by")
        found: dict[str, Any] = {name: cleaned[name] or None for name in texts}
        found |= {name: cleaned[name] for name in ("limit", "offset", "expand")}
        return found | {"rerank": {"true": True, "false": False}.get(cleaned["rerank"])}


class ConceptForm(FilterForm):
    """The concept list's form."""

    q = forms.CharField(
        required=False,
        max_length=200,
        label="Name contains",
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    offset = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_CONCEPT_OFFSET,
        error_messages=_WHOLE,
        widget=forms.HiddenInput,
    )
    limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        error_messages=_WHOLE,
        widget=forms.HiddenInput,
    )
    field_order = ("q", "library_uid", "library_type")
