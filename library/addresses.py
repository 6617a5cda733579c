"""Where what is found is served."""

from dataclasses import replace
from typing import Final

from django.urls import NoReverseMatch, reverse

from library.services.types import SearchResponse

# For whoever brings a token, and for the pages.
API_THUMBNAIL: Final = "library_api:image_thumbnail"
PAGE_THUMBNAIL: Final = "library:image_thumbnail"


def thumbnail_address(image_uid: str, route: str) -> str:
    """The path of a picture's thumbnail; '' in a project without that route."""
    try:
        return reverse(route, args=[image_uid])
    except NoReverseMatch:
        return ""


def with_addresses(response: SearchResponse, route: str) -> SearchResponse:
    """The response with the addresses of its pictures' thumbnails."""
    if not response.images:
        return response
    images = [replace(image, thumbnail_url=thumbnail_address(image.image_uid, route)) for image in response.images]
    return replace(response, images=images)
