"""What is refused, and why: models that are not served, images, empty and oversized texts."""

from mnemosyne.local.model_server import encoder, rerank
from mnemosyne.local.model_server.errors import ApiError
from mnemosyne.local.model_server.schemas import Content, EmbeddingRequest, RerankRequest

MAX_TEXTS = 256  # inputs or documents a request
MAX_DOCUMENT = 200_000  # characters: every window of a document is read
DATA_URL = "data:image/"
TEXT_ONLY = (
    "This model reads text only: bge-small-en-v1.5 has no image encoder. Send the image's description or the text "
    "in it, or use a multimodal model server such as Synesis."
)


def embedding_texts(request: EmbeddingRequest) -> list[str]:
    """The inputs in their order."""
    _check_model(request.model, encoder.NAME)
    if request.dimensions not in (None, encoder.DIMENSIONS):
        raise ApiError(
            400, f"{encoder.NAME} has {encoder.DIMENSIONS} dimensions, not the {request.dimensions} asked for."
        )
    contents = request.input if isinstance(request.input, list) else [request.input]
    _check_count(len(contents), "input")
    return [_text(content, f"input[{index}]") for index, content in enumerate(contents)]


def rerank_texts(request: RerankRequest) -> list[str]:
    """The query's text, then every document's."""
    _check_model(request.model, rerank.NAME)
    _check_count(len(request.documents), "documents")
    texts = [_text(request.query, "query")]
    texts += [_text(document, f"documents[{index}]") for index, document in enumerate(request.documents)]
    return texts


def _text(content: str | Content, where: str) -> str:
    """The text of ``content``; refuses images, as objects or as data URLs, and texts that cannot be read."""
    text = content.text or "" if isinstance(content, Content) else content
    is_image = isinstance(content, Content) and content.image
    if is_image or text[: len(DATA_URL)].lower() == DATA_URL:
        raise ApiError(400, f"{where} has an image. {TEXT_ONLY}", "unsupported_input")
    _check_text(text, where)
    return text


def _check_text(text: str, where: str) -> None:
    if not text.strip():
        raise ApiError(400, f"{where} is empty: there is nothing to make a vector from.")
    if len(text) > MAX_DOCUMENT:
        raise ApiError(413, f"{where} has {len(text)} characters, more than the {MAX_DOCUMENT} allowed.")


def _check_count(count: int, what: str) -> None:
    if count == 0:
        raise ApiError(400, f"{what} is empty: send at least one text.")
    if count > MAX_TEXTS:
        raise ApiError(413, f"{what} has {count} texts, more than the {MAX_TEXTS} allowed in one request.")


def _check_model(asked: str | None, served: str) -> None:
    if asked not in (None, "", served):
        raise ApiError(404, f"There is no model {asked!r} for this route: it serves {served!r}.", "model_not_found")
