"""Draw a drawing as PNG with Pillow: twice as many pixels as the drawing has, for screens with small ones."""

from __future__ import annotations

import io
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from knickpoint.model.errors import ServiceError
from knickpoint.plots.shapes import Anchor, Box, Dots, Drawing, Polygon, Polyline, Text

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

_PIXELS: Final = 2
"""Pixels of the file for one of the drawing, in each direction."""
_SMOOTHING: Final = 8
"""A dot is drawn this much larger and then reduced, which smooths its edge."""
_COLOURS: Final = 64
_DASH: Final = 3.0
_SIMPLER: Final = str.maketrans({"µ": "u", "μ": "u", "−": "-", "–": "-", "→": "to", "×": "x", "∞": "inf", "σ": "sigma"})
"""Characters that the font of Pillow does not have."""


def png(drawing: Drawing) -> bytes:
    """Return ``drawing`` as a PNG file; the same drawing and version of Pillow give the same bytes.

    The font is the one that comes with Pillow, so pictures do not depend on the fonts of the machine. It has Latin
    letters without accents only; other ones are drawn without their accents, or as a box.

    Raises:
        ServiceError: Pillow is not installed; the message names the extra.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ServiceError(
            "pictures as PNG need Pillow, which is not installed",
            remedy='Install it with pip install "knickpoint[server]".',
        ) from error
    image = Image.new("RGB", (drawing.width * _PIXELS, drawing.height * _PIXELS), drawing.background)
    canvas = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        if isinstance(shape, Dots):
            _draw_dots(image, shape)
        else:
            _draw(canvas, shape)
    indexed = image.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    _keep_background(indexed, drawing.background)
    file = io.BytesIO()
    indexed.save(file, "PNG", compress_level=6)
    return file.getvalue()


def _keep_background(indexed: Image.Image, background: str) -> None:
    """Give the colour at the corner exactly the value of the background: the palette holds means of similar colours."""
    palette, index = indexed.getpalette() or [], int(cast("float", indexed.getpixel((0, 0))))
    palette[3 * index : 3 * index + 3] = bytes.fromhex(background.removeprefix("#"))
    indexed.putpalette(palette)


def _draw(canvas: ImageDraw.ImageDraw, shape: Box | Polyline | Polygon | Text) -> None:
    match shape:
        case Box():
            right, low = shape.x + shape.width, shape.y + shape.height
            canvas.rectangle(_scaled([(shape.x, shape.y), (right, low)]), fill=shape.fill)
        case Polyline():
            width = max(1, round(shape.width * _PIXELS))
            for piece in _dashes(shape.points) if shape.dashed else [shape.points]:
                canvas.line(_scaled(piece), fill=shape.colour, width=width, joint="curve" if width > _PIXELS else None)
        case Polygon():
            canvas.polygon(_scaled(shape.points), fill=shape.fill)
        case Text():
            _draw_text(canvas, shape)


def _draw_dots(image: Image.Image, shape: Dots) -> None:
    mask = _dot_mask(round(2 * shape.radius * _PIXELS, 1))
    half = mask.width / 2
    for x, y in shape.centres:
        image.paste(shape.fill, (round(x * _PIXELS - half), round(y * _PIXELS - half)), mask)


def _draw_text(canvas: ImageDraw.ImageDraw, shape: Text) -> None:
    anchor = {Anchor.START: "ls", Anchor.MIDDLE: "ms", Anchor.END: "rs"}[shape.anchor]
    stroke = _PIXELS * 0.12 if shape.bold else 0
    text = _drawable(shape.text)
    canvas.text(
        (shape.x * _PIXELS, shape.y * _PIXELS),
        text,
        fill=shape.colour,
        font=_font(shape.size * _PIXELS),
        anchor=anchor,
        stroke_width=stroke,
    )


def _scaled(points: list[tuple[float, float]] | tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    return [(x * _PIXELS, y * _PIXELS) for x, y in points]


def _dashes(points: tuple[tuple[float, float], ...]) -> list[tuple[tuple[float, float], ...]]:
    """Return the dashes of a vertical line from the first of ``points`` to the last."""
    (x, top), (_, low) = points[0], points[-1]
    count = int((low - top) // (2 * _DASH)) + 1
    return [
        ((x, top + 2 * _DASH * index), (x, min(low, top + 2 * _DASH * index + _DASH))) for index in range(max(1, count))
    ]


def _drawable(text: str) -> str:
    """Return ``text`` in letters that the font has, as far as they have a simpler form."""
    if text.isascii():
        return text
    simpler = text.translate(_SIMPLER)
    return "".join(letter for letter in unicodedata.normalize("NFKD", simpler) if not unicodedata.combining(letter))


@lru_cache(maxsize=32)
def _dot_mask(diameter: float) -> Image.Image:
    from PIL import Image, ImageDraw

    side = int(diameter) + 2
    large = Image.new("L", (side * _SMOOTHING, side * _SMOOTHING), 0)
    ImageDraw.Draw(large).circle((side * _SMOOTHING / 2,) * 2, diameter * _SMOOTHING / 2, fill=255)
    return large.reduce(_SMOOTHING)


@lru_cache(maxsize=32)
def _font(size: float) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise ServiceError("Pillow has no FreeType", remedy="Install the wheel of Pillow from the package index.")
    return font
