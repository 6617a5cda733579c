"""Pictures: is it one, is it of bearable size, and what are its pixels. Nothing is decoded before the size is known."""

import io
import warnings
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from library.exceptions import ExtractionError

# Formats accepted, with the suffix they are stored under. Pillow's other readers are never tried.
FORMATS: Final = {"PNG": "png", "JPEG": "jpg", "GIF": "gif"}
# Longest sides in pixels: of what a model is shown, and of a thumbnail.
MODEL_SIDE: Final = 1024
THUMBNAIL_SIDE: Final = 320
# A picture's look is so many squares across and down, of three colours.
LOOK_SQUARES: Final = 8


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """A picture as RGB pixels, upright; of an animation the first frame."""

    pixels: Image.Image
    suffix: str

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.pixels.width

    @property
    def height(self) -> int:
        """Pixels down."""
        return self.pixels.height

    def png(self) -> bytes:
        """The picture as models are shown it, at ingest and as a query alike: upright, RGB, of bounded size."""
        return _encoded(_within(self.pixels, MODEL_SIDE), "PNG")

    def thumbnail(self) -> bytes:
        """A small JPEG."""
        return _encoded(_within(self.pixels, THUMBNAIL_SIDE), "JPEG")

    def look(self) -> list[float]:
        """How the picture looks from afar: the colours of 8 x 8 squares about their middle, and a constant.

        193 numbers, never all 0. The cosine of two looks is near 1 for the same picture in another size or format;
        it says nothing of what is depicted. Pictures are compared by it where the embedding model takes none.
        """
        squares = self.pixels.resize((LOOK_SQUARES, LOOK_SQUARES), Image.Resampling.BOX)
        return [*(value / 127.5 - 1.0 for value in squares.tobytes()), 1.0]


def _within(image: Image.Image, longest: int) -> Image.Image:
    if max(image.size) <= longest:
        return image
    smaller = image.copy()
    smaller.thumbnail((longest, longest))
    return smaller


def _encoded(image: Image.Image, kind: str) -> bytes:
    written = io.BytesIO()
    image.save(written, kind)
    return written.getvalue()


def decode_image(data: bytes, name: str, max_pixels: int) -> DecodedImage:
    """The picture in `data`, turned as its camera says, without transparency.

    Raises `ExtractionError` with the reason: no picture, too many pixels (found before anything is decoded), broken.
    """
    try:
        with warnings.catch_warnings():
            # The limit is ours and checked below; Pillow's own would only warn.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as image:
                width, height = image.size
                if width * height > max_pixels:
                    raise ExtractionError(
                        f"{name}: {width} x {height} pixels are {width * height / 1e6:.0f} megapixels; "
                        f"the limit is {max_pixels / 1e6:.0f}"
                    )
                suffix = FORMATS[image.format or ""]
                image.seek(0)
                image.load()
                return DecodedImage(_as_rgb(ImageOps.exif_transpose(image) or image), suffix)
    except UnidentifiedImageError as error:
        raise ExtractionError(f"{name}: not readable: it is no PNG, JPEG or GIF picture") from error
    except Image.DecompressionBombError as error:
        raise ExtractionError(f"{name}: too many pixels; the limit is {max_pixels / 1e6:.0f} megapixels") from error
    except (OSError, SyntaxError, ValueError, KeyError, EOFError, MemoryError) as error:
        raise ExtractionError(f"{name}: not readable: the picture is broken or cut off") from error


def encode_png(image: Image.Image) -> bytes:
    """Any picture of Pillow's as the bytes of an RGB PNG."""
    return _encoded(_as_rgb(image), "PNG")


def _as_rgb(image: Image.Image) -> Image.Image:
    """RGB, transparency on white; 16-bit greys are scaled, where Pillow would cut them off."""
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.convert("I").point(lambda value: value / 257).convert("L")
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        ground = Image.new("RGBA", layered.size, "white")
        return Image.alpha_composite(ground, layered).convert("RGB")
    return image.convert("RGB")
