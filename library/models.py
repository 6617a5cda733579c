"""Django's own records: model services, their models, what they were used for."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

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
