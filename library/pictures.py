"""What kind of picture some bytes are, by how they begin. Pure."""

from typing import Final

_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(content: bytes) -> str | None:
    """The media type that a browser may be told, None for anything that is no picture of ours.

    The name is not asked: a page of HTML that is called .jpg must not be served at all.
    """
    for beginning, kind in _BEGINNINGS:
        if content.startswith(beginning):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
