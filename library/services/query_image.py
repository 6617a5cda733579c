"""A picture that is searched by, made ready once for every way in."""

from library.conf import search_config
from library.exceptions import ExtractionError, InvalidRequest

FIELD = "query_image"


def prepared_image(data: bytes) -> bytes:
    """The picture as a PNG of bounded size, upright and RGB, as pictures are at ingest.

    Nothing is decoded before its number of pixels is known. Raises `InvalidRequest`: too large, no picture, broken.
    """
    # Pillow is loaded only for who brings a picture.
    from library.ingest.images import decode_image

    config = search_config()
    if len(data) > config.max_image_bytes:
        limit = config.max_image_bytes // (1024 * 1024)
        raise InvalidRequest(FIELD, f"must be at most {limit} MB, not {len(data) / (1024 * 1024):.0f}")
    if not data:
        raise InvalidRequest(FIELD, "must not be empty")
    try:
        return decode_image(data, "the picture", config.max_image_pixels).png()
    except ExtractionError as error:
        raise InvalidRequest(FIELD, str(error)) from error


def look_of(picture: bytes) -> list[float]:
    """The look of a picture that `prepared_image` made, see `DecodedImage.look`."""
    from library.ingest.images import decode_image

    return decode_image(picture, "the picture", search_config().max_image_pixels).look()
