"""What the two POST routes accept."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Content(BaseModel):
    """Synesis's text or image, for queries and documents alike."""

    text: str | None = None
    image: str | None = None


class EmbeddingRequest(BaseModel):
    """OpenAI's embedding request; Synesis's text or image objects are read too, to say why an image is refused."""

    model_config = ConfigDict(extra="allow")

    input: str | Content | list[str | Content]
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


class RerankRequest(BaseModel):
    """Synesis's rerank request; plain strings are taken as text."""

    query: str | Content
    documents: list[str | Content]
    instruction: str = ""
    top_n: int | None = Field(default=None, ge=1)
    model: str | None = None
