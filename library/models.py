"""Django's own records: model services, their models, what they were used for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q

from library.exceptions import NotConfigured


class ModelAPI(models.Model):
    """A model service: where it is and which protocol it speaks."""

    class ApiType(models.TextChoices):
        """The protocols that the clients speak."""

        OPENAI = "openai", "OpenAI-compatible"
        SYNESIS = "synesis", "Synesis"
        COHERE = "cohere", "Cohere, Jina, vLLM, Infinity"
        TEI = "tei", "Text Embeddings Inference"

    name = models.CharField(max_length=100, unique=True)
    api_type = models.CharField(max_length=20, choices=ApiType, default=ApiType.OPENAI)
    base_url = models.URLField(max_length=500, help_text="Up to and without /v1, for example http://synesis:8400")
    api_key = models.CharField(max_length=500, blank=True)
    is_active = models.BooleanField(default=True)
    forward_auth = models.BooleanField(
        default=False,
        help_text="Send the caller's own JWT to this service in place of the key; callers without one use the key",
    )

    class Meta:
        verbose_name = "model API"

    def __str__(self) -> str:
        return self.name


class AIModel(models.Model):
    """One model of a service. At most one embedding model and one reranker are the system's."""

    class Role(models.TextChoices):
        """What a model does."""

        EMBEDDING = "embedding", "Embedding"
        RERANKER = "reranker", "Reranker"
        CHAT = "chat", "Chat"

    api = models.ForeignKey(ModelAPI, on_delete=models.CASCADE, related_name="models")
    name = models.CharField(max_length=200, help_text="As the service names it")
    role = models.CharField(max_length=20, choices=Role)
    is_system = models.BooleanField(default=False, help_text="Used by every search and ingest")
    dimensions = models.PositiveIntegerField(
        null=True, blank=True, help_text="Length of an embedding vector; embedding models only"
    )
    max_tokens = models.PositiveIntegerField(default=512, help_text="Longest input, in tokens")
    max_batch = models.PositiveIntegerField(default=32, help_text="Most inputs in one call")
    tokenizer_path = models.CharField(
        max_length=1000,
        blank=True,
        help_text="A tokenizer.json on this machine; without one, tokens are estimated from characters",
    )
    supports_images = models.BooleanField(default=False)

    class Meta:
        verbose_name = "AI model"
        constraints = (
            models.UniqueConstraint(fields=["api", "name", "role"], name="one_record_per_model"),
            models.UniqueConstraint(fields=["role"], condition=Q(is_system=True), name="one_system_model_per_role"),
            models.CheckConstraint(
                condition=~Q(role="embedding") | Q(dimensions__gt=0), name="embedding_has_dimensions"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"

    @classmethod
    def system(cls, role: str) -> AIModel:
        """The system's model of a role; raises `NotConfigured` saying how to name one."""
        found = cls.objects.select_related("api").filter(role=role, is_system=True, api__is_active=True)
        model = found.first()
        if model is None:
            raise NotConfigured(
                f"No system {role} model is configured. Run 'manage.py setup_models', or mark one as "
                f"the system's in the admin pages."
            )
        return model


class LLMUsage(models.Model):
    """One call to a model service."""

    class Purpose(models.TextChoices):
        """What the call was for."""

        EMBEDDING = "embedding", "Embedding"
        RERANKING = "reranking", "Re-ranking"
        CONCEPT_EXTRACTION = "concept_extraction", "Concept extraction"

    class Status(models.TextChoices):
        """How the call ended."""

        SUCCESS = "success", "Success"
        ERROR = "error", "Error"
        TIMEOUT = "timeout", "Timeout"

    model = models.ForeignKey(AIModel, on_delete=models.SET_NULL, null=True, related_name="usage")
    model_name = models.CharField(max_length=200)
    purpose = models.CharField(max_length=30, choices=Purpose)
    status = models.CharField(max_length=10, choices=Status)
    inputs = models.PositiveIntegerField(default=0, help_text="Texts, passages or pictures sent")
    tokens = models.PositiveIntegerField(null=True, blank=True, help_text="As the service reports them")
    duration_ms = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = "model usage"
        verbose_name_plural = "model usage"

    def __str__(self) -> str:
        return f"{self.purpose} by {self.model_name}: {self.status}"


class LibraryAccess(models.Model):
    """Who may see a library of the graph, and how often it has changed.

    `revision` moves with everything that may change an answer: taking in, moving, deleting, granting. Answers are
    cached under it.
    """

    class Visibility(models.TextChoices):
        """Who sees a library beside staff."""

        PRIVATE = "private", "Private: users and groups with a grant"
        EVERYONE = "everyone", "Everyone who is signed in"
        PUBLIC = "public", "Public: anonymous callers too, where the settings allow them"

    uid = models.CharField(primary_key=True, max_length=64, help_text="The library's uid in the graph")
    name = models.CharField(max_length=200, blank=True)
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PRIVATE)
    revision = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = "library"
        verbose_name_plural = "libraries"
        ordering = ("name", "uid")

    def __str__(self) -> str:
        return self.name or self.uid

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save all but the revision, which only ever moves in the database, and move it."""
        if self._state.adding:
            super().save(*args, **kwargs)
            return
        kwargs.setdefault("update_fields", ["name", "visibility"])
        super().save(*args, **kwargs)
        self.touch([self.uid])

    @classmethod
    def touch(cls, uids: Iterable[str]) -> None:
        """Move the revisions of libraries on, in the database: no process can set one back."""
        cls.objects.filter(pk__in=list(uids)).update(revision=F("revision") + 1)


class LibraryGrant(models.Model):
    """Lets one user, or the members of one group, see a private library."""

    library = models.ForeignKey(LibraryAccess, on_delete=models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(user__isnull=True) ^ Q(group__isnull=True), name="grant_to_one"),
            models.UniqueConstraint(fields=["library", "user"], name="one_grant_per_user"),
            models.UniqueConstraint(fields=["library", "group"], name="one_grant_per_group"),
        )

    def __str__(self) -> str:
        return f"{self.library} for {self.user or self.group}"
