"""Admin pages of the model services and their use, and of who sees which library."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from library.conf import access_config
from library.exceptions import GraphError
from library.graph import browse
from library.models import AIModel, LibraryAccess, LibraryGrant, LLMUsage, ModelAPI
from library.services.visibility import record_all, set_visibility


class ModelAPIForm(forms.ModelForm):
    """Takes a key but never shows the stored one; an empty field keeps it."""

    base_url = forms.URLField(assume_scheme="http", help_text="Up to and without /v1")
    api_key = forms.CharField(
        widget=forms.PasswordInput(render_value=False),
        required=False,
        help_text="Leave empty to keep the stored key.",
    )

    class Meta:
        model = ModelAPI
        fields = ("name", "api_type", "base_url", "api_key", "forward_auth", "is_active")

    def clean_api_key(self) -> str:
        """The new key, or the stored one where none was typed."""
        return str(self.cleaned_data["api_key"] or self.instance.api_key)


@admin.register(ModelAPI)
class ModelAPIAdmin(admin.ModelAdmin):
    """Model services."""

    form = ModelAPIForm
    list_display = ("name", "api_type", "base_url", "forward_auth", "is_active")


@admin.register(AIModel)
class AIModelAdmin(admin.ModelAdmin):
    """Models of the services."""

    list_display = ("name", "role", "api", "is_system", "dimensions", "max_tokens")
    list_filter = ("role", "is_system")


@admin.register(LLMUsage)
class LLMUsageAdmin(admin.ModelAdmin):
    """What was asked of models: read only."""

    list_display = ("created_at", "purpose", "model_name", "status", "inputs", "tokens", "duration_ms")
    list_filter = ("purpose", "status")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Usage is recorded, not typed in."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Usage is recorded, not changed."""
        return False


class LibraryGrantInline(admin.TabularInline):
    """Who sees a private library."""

    model = LibraryGrant
    extra = 1
    raw_id_fields = ("user",)


@admin.register(LibraryAccess)
class LibraryAccessAdmin(admin.ModelAdmin):
    """Who sees which library. The libraries come from the graph: none is added or deleted here."""

    inlines = (LibraryGrantInline,)
    list_display = ("name", "visibility", "granted", "uid")
    list_filter = ("visibility",)
    search_fields = ("name", "uid")
    readonly_fields = ("uid", "name")
    actions = ("make_private", "make_everyones", "make_public")

    def get_queryset(self, request: HttpRequest) -> QuerySet[LibraryAccess]:
        """With the number of grants."""
        found: QuerySet[LibraryAccess] = super().get_queryset(request).annotate(grant_count=Count("grants"))
        return found

    @admin.display(description="grants", ordering="grant_count")
    def granted(self, record: LibraryAccess) -> int:
        """How many users and groups have one."""
        return int(getattr(record, "grant_count", 0))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list, after libraries that came into the graph by another way have got their records."""
        try:
            record_all(browse.library_names(), access_config().default_visibility)
        except GraphError as error:
            self.message_user(request, f"Libraries without a record could not be looked for: {error}", messages.WARNING)
        return super().changelist_view(request, extra_context)

    def save_model(self, request: HttpRequest, obj: LibraryAccess, form: Any, change: bool) -> None:
        """Save, and copy the visibility into the graph."""
        self._set(request, [obj], obj.visibility)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Libraries are made by taking something in."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A library whose record went would be as visible as one that never had one."""
        return False

    @admin.action(description="Make private: for users and groups with a grant")
    def make_private(self, request: HttpRequest, chosen: QuerySet[LibraryAccess]) -> None:
        """For whoever has a grant."""
        self._set(request, chosen, LibraryAccess.Visibility.PRIVATE)

    @admin.action(description="Show to everyone who is signed in")
    def make_everyones(self, request: HttpRequest, chosen: QuerySet[LibraryAccess]) -> None:
        """For everyone who is signed in."""
        self._set(request, chosen, LibraryAccess.Visibility.EVERYONE)

    @admin.action(description="Make public")
    def make_public(self, request: HttpRequest, chosen: QuerySet[LibraryAccess]) -> None:
        """For anonymous callers too."""
        self._set(request, chosen, LibraryAccess.Visibility.PUBLIC)

    def _set(self, request: HttpRequest, chosen: Iterable[LibraryAccess], visibility: str) -> None:
        """The record decides and is saved first; a graph that is away costs its copy only."""
        for record in chosen:
            try:
                set_visibility(record, visibility)
            except GraphError as error:
                self.message_user(request, f"{record}: saved; its node in the graph was not: {error}", messages.WARNING)
