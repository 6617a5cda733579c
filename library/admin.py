"""Admin pages of the model services and their use."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from library.models import AIModel, LLMUsage, ModelAPI


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
        fields = ("name", "api_type", "base_url", "api_key", "is_active")

    def clean_api_key(self) -> str:
        """The new key, or the stored one where none was typed."""
        return str(self.cleaned_data["api_key"] or self.instance.api_key)


@admin.register(ModelAPI)
class ModelAPIAdmin(admin.ModelAdmin):
    """Model services."""

    form = ModelAPIForm
    list_display = ("name", "api_type", "base_url", "is_active")


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
