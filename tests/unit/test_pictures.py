"""A picture is known by how its bytes begin."""

import pytest

from library.pictures import media_type


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBPVP8 ", "image/webp"),
        (b"RIFF1234WAVE", None),
        (b"<html><script>", None),
        (b"<svg onload=alert(1)>", None),
        (b"", None),
    ],
)
def test_only_pictures_have_a_media_type(content: bytes, kind: str | None) -> None:
    assert media_type(content) == kind
