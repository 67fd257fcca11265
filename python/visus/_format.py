"""What the pictures of a clip are made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from . import _visus
from ._errors import RequestError

#: `25`, `29.97`, `"30000/1001"`, `Fraction(30000, 1001)`.
FrameRate = int | float | str | Fraction


@dataclass(frozen=True)
class Format:
    """Size, pixel format and frame rate of a clip.

    `pix_fmt` is ffmpeg's name: `yuv420p`, `yuv422p`, `yuv444p` or `gray`, with `10le`, `12le` or `16le` behind it for more than
    8 bits. The frame rate matters to a few metrics and models, and to times; it may be unknown.

    >>> Format(1920, 1080, "yuv420p10le", 25).planes
    ((1920, 1080), (960, 540), (960, 540))
    """

    width: int
    height: int
    pix_fmt: str = "yuv420p"
    frame_rate: FrameRate | None = None

    def __post_init__(self) -> None:
        planes, depth = _visus.check_format(self._options())
        object.__setattr__(self, "_planes", tuple(planes))
        object.__setattr__(self, "_depth", depth)

    @property
    def planes(self) -> tuple[tuple[int, int], ...]:
        """Width and height of each plane; odd sizes are rounded down, as libvmaf does."""
        return self._planes  # type: ignore[attr-defined, no-any-return]

    @property
    def depth(self) -> int:
        """Bits per sample."""
        return self._depth  # type: ignore[attr-defined, no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a sample: `uint8` up to 8 bits, else `uint16`."""
        return np.dtype(np.uint8 if self.depth <= 8 else np.uint16)

    @classmethod
    def of(cls, what: Any, frame_rate: FrameRate | None = None) -> Format:
        """The format of something that has one: a `Format`, a tuple `(width, height, pix_fmt, frame_rate)`, a frame, stream or codec
        context of PyAV, or a two-dimensional array of `uint8`, which is luma alone."""
        if isinstance(what, Format):
            return what if frame_rate is None else cls(what.width, what.height, what.pix_fmt, frame_rate)
        if isinstance(what, (tuple, list)) and what and isinstance(what[0], int):
            return cls(*what)
        pix_fmt = getattr(getattr(what, "format", None), "name", None) or getattr(what, "pix_fmt", None)
        if isinstance(pix_fmt, str):
            rate = frame_rate or getattr(what, "average_rate", None) or getattr(what, "framerate", None)
            return cls(what.width, what.height, pix_fmt, rate or None)
        shape, dtype = getattr(what, "shape", None), getattr(what, "dtype", None)
        if shape is not None and len(shape) == 2 and dtype == np.uint8:
            return cls(int(shape[1]), int(shape[0]), "gray", frame_rate)
        raise RequestError(
            f"the format cannot be seen from {_described(what)}; give one, such as "
            'visus.Format(1920, 1080, "yuv420p")'
        )

    def _options(self) -> dict[str, Any]:
        rate = None if self.frame_rate is None else str(self.frame_rate)
        return {"width": self.width, "height": self.height, "pix_fmt": self.pix_fmt, "frame_rate": rate}


def _described(what: Any) -> str:
    shape, dtype = getattr(what, "shape", None), getattr(what, "dtype", None)
    return f"an array of shape {tuple(shape)} and type {dtype}" if shape is not None else f"a {type(what).__name__}"
