"""Pictures: is it one, is it of bearable size, and what are its pixels. Nothing is decoded before the size is known."""

import io
import warnings
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from library.exceptions import ExtractionError

# Formats accepted, with the suffix they are stored under. Pillow's other readers are never tried.
FORMATS: Final = {"PNG": "png", "JPEG": "jpg", "GIF": "gif"}


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


def _as_rgb(image: Image.Image) -> Image.Image:
    """RGB, transparency on white; 16-bit greys are scaled, where Pillow would cut them off."""
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.convert("I").point(lambda value: value / 257).convert("L")
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        ground = Image.new("RGBA", layered.size, "white")
        return Image.alpha_composite(ground, layered).convert("RGB")
    return image.convert("RGB")
