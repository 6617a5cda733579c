"""What the API takes. What it gives is `present.response_as_dict`: the contract's own names."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from rest_framework import serializers

from library.conf import search_config
from library.services.types import (
    FUSIONS,
    GROUPINGS,
    MAX_EXPAND,
    MAX_GRAPH_DEPTH,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_TOP_K,
    STRATEGIES,
    TEXT_LEGS,
)

MAX_CONCEPTS: Final = 200
MAX_GRAPH_CONCEPTS: Final = 200


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses names that it does not know: a misspelt filter must not search everything."""

    def to_internal_value(self, data: Any) -> Any:
        """The values as Python types. Raises `ValidationError` naming every field that is wrong."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        if unknown:
            known = ", ".join(self.fields)
            raise serializers.ValidationError({name: [f"unknown field; known are {known}"] for name in unknown})
        return super().to_internal_value(data)

    def given(self) -> dict[str, Any]:
        """What the caller gave. Raises `ValidationError`."""
        self.is_valid(raise_exception=True)
        return dict(self.validated_data)


class PictureField(serializers.Field[bytes, Any, str, Any]):
    """A picture as a file of a form, or in base64, perhaps as a data URL. Bounded before it is decoded."""

    def to_internal_value(self, data: Any) -> bytes:
        """The picture's bytes. Raises `ValidationError`."""
        most = search_config().max_image_bytes
        if isinstance(data, UploadedFile):
            if (data.size or 0) > most:
                raise serializers.ValidationError(f"must be at most {most // 2**20} MB")
            return bytes(data.read())
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a picture in base64, or a file of a multipart form")
        text = data.partition(",")[2] if data.startswith("data:") else data
        if len(text) > most * 4 // 3 + 4:
            raise serializers.ValidationError(f"must be at most {most // 2**20} MB")
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise serializers.ValidationError("must be a picture in base64") from error

    def to_representation(self, value: bytes) -> str:
        """Base64."""
        return base64.b64encode(value).decode("ascii")


class SearchInput(StrictSerializer):
    """The body of a search. Types are checked here, ranges and choices by `SearchRequest`, for every way in alike."""

    query = serializers.CharField(
        trim_whitespace=False,
        allow_blank=True,
        required=False,
        help_text="the query language included; may be left out where a picture is given",
    )
    query_image = PictureField(
        required=False, allow_null=True, help_text="a PNG, JPEG or GIF: base64 in JSON, a file in a multipart form"
    )
    library_uid = serializers.CharField(required=False, allow_null=True)
    library_type = serializers.CharField(required=False, allow_null=True)
    collection_uid = serializers.CharField(required=False, allow_null=True)
    search_types = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        allow_null=True,
        max_length=10,
        help_text=f"the legs that may run, of {', '.join(TEXT_LEGS)}",
    )
    limit = serializers.IntegerField(required=False, allow_null=True, help_text=f"1 to {MAX_LIMIT}")
    offset = serializers.IntegerField(required=False, allow_null=True, help_text=f"0 to {MAX_OFFSET}")
    vector_top_k = serializers.IntegerField(required=False, allow_null=True, help_text=f"1 to {MAX_TOP_K}")
    fulltext_top_k = serializers.IntegerField(required=False, allow_null=True, help_text=f"1 to {MAX_TOP_K}")
    graph_max_depth = serializers.IntegerField(required=False, allow_null=True, help_text=f"0 to {MAX_GRAPH_DEPTH}")
    rerank = serializers.BooleanField(required=False, allow_null=True)
    include_images = serializers.BooleanField(required=False, allow_null=True)
    strategy = serializers.CharField(
        required=False, allow_null=True, help_text=f"one of {', '.join(STRATEGIES)}; the caller's own always wins"
    )
    fusion = serializers.CharField(required=False, allow_null=True, help_text=f"one of {', '.join(FUSIONS)}")
    group_by = serializers.CharField(
        required=False,
        allow_null=True,
        help_text=f"one of {', '.join(GROUPINGS)}; by item: its best chunk, metadata.other_chunks counts the others",
    )
    expand = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text=f"0 to {MAX_EXPAND}: so many chunks before and after each hit, as metadata.context",
    )
    facets = serializers.BooleanField(
        required=False,
        allow_null=True,
        help_text="count all candidates by library, type and collection; without it, facets is null",
    )


class ConceptListInput(StrictSerializer):
    """The parameters of the concept list."""

    q = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")
    library_uid = serializers.CharField(required=False, allow_blank=True)
    library_type = serializers.CharField(required=False, allow_blank=True)
    offset = serializers.IntegerField(required=False, min_value=0, max_value=MAX_OFFSET * 100, default=0)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_CONCEPTS, default=50)


class ConceptGraphInput(StrictSerializer):
    """The parameters of a concept's graph."""

    library_uid = serializers.CharField(required=False, allow_blank=True)
    library_type = serializers.CharField(required=False, allow_blank=True)
    depth = serializers.IntegerField(required=False, min_value=0, max_value=MAX_GRAPH_DEPTH, default=1)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_GRAPH_CONCEPTS, default=60)


class NoInput(StrictSerializer):
    """A route that takes no parameters."""
