"""Pictures of every kind, and what is refused (case 30)."""

import io
import time

import pytest
from PIL import Image, ImageChops, ImageStat

from library.exceptions import ExtractionError
from library.ingest.images import DecodedImage, decode_image
from tests.shared import case_file

LIMIT = 100_000_000


def decoded(name: str) -> DecodedImage:
    return decode_image(case_file(name).read_bytes(), name, LIMIT)


@pytest.mark.parametrize(
    ("name", "size", "suffix"),
    [
        ("30_upright.jpg", (320, 192), "jpg"),
        ("30_exif6.jpg", (320, 192), "jpg"),
        ("30_cmyk.jpg", (320, 192), "jpg"),
        ("30_palette_alpha.png", (320, 192), "png"),
        ("30_grey_alpha.png", (320, 192), "png"),
        ("30_sixteen_bit.png", (64, 64), "png"),
        ("30_one_pixel.png", (1, 1), "png"),
        ("30_animated.gif", (64, 64), "gif"),
    ],
)
def test_every_kind_becomes_rgb(name: str, size: tuple[int, int], suffix: str) -> None:
    picture = decoded(name)
    assert (picture.pixels.mode, picture.pixels.size, picture.suffix) == ("RGB", size, suffix)


def test_a_turned_picture_is_turned_back() -> None:
    difference = ImageChops.difference(decoded("30_exif6.jpg").pixels, decoded("30_upright.jpg").pixels)
    assert max(ImageStat.Stat(difference).mean) < 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("30_truncated.jpg", "30_truncated.jpg: not readable: the picture is broken or cut off"),
        ("30_html_named.jpg", "30_html_named.jpg: not readable: it is no PNG, JPEG or GIF picture"),
        ("30_huge_196mp.png", "30_huge_196mp.png: too many pixels; the limit is 100 megapixels"),
    ],
)
def test_what_is_no_bearable_picture_is_refused_with_the_reason(name: str, reason: str) -> None:
    started = time.monotonic()
    with pytest.raises(ExtractionError) as caught:
        decoded(name)
    assert str(caught.value) == reason
    assert time.monotonic() - started < 0.5


def test_pixels_above_the_limit_are_counted_before_decoding() -> None:
    content = io.BytesIO()
    Image.new("1", (2000, 1000)).save(content, "PNG")
    with pytest.raises(ExtractionError, match=r"a\.png: 2000 x 1000 pixels are 2 megapixels; the limit is 1"):
        decode_image(content.getvalue(), "a.png", 1_000_000)


def test_sixteen_bit_greys_keep_their_brightness_and_clear_pixels_are_white() -> None:
    grey = io.BytesIO()
    Image.new("I;16", (2, 2), 0x8000).save(grey, "PNG")
    assert decode_image(grey.getvalue(), "g.png", LIMIT).pixels.getpixel((0, 0)) == (127, 127, 127)
    clear = io.BytesIO()
    Image.new("RGBA", (2, 2), (10, 20, 30, 0)).save(clear, "PNG")
    assert decode_image(clear.getvalue(), "c.png", LIMIT).pixels.getpixel((0, 0)) == (255, 255, 255)
