"""Frames of any kind as the planes that the engine reads, without a copy where the layout allows that.

A plane is a two-dimensional array with contiguous rows, any distance between them. What has another layout (a step between
samples, rows from bottom to top, another byte order) is copied by numpy.

Scoring goes on after `push` has returned. Memory that can change until then is copied by the engine: the result tells of
each frame whether it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import RequestError
from ._format import Format, _described

Plane = npt.NDArray[Any]
#: The planes, and whether their memory may change.
Planes = tuple[list[Plane], bool]


def planes_of(frame: Any, format: Format, copy: bool | None) -> Planes:
    """The planes of a frame: of PyAV, a sequence of planes, an array or a buffer. `copy` overrides what is known of the memory."""
    if _is_pyav(frame):
        return _of_pyav(frame, format), bool(copy)
    if isinstance(frame, (tuple, list)):
        arrays = [array_of(plane, format) for plane in frame]
    else:
        arrays = _split(array_of(frame, format), format)
    if len(arrays) != len(format.planes):
        raise RequestError(f"{format.pix_fmt} has {len(format.planes)} planes, the frame has {len(arrays)}")
    can_change = False
    for index, array in enumerate(arrays):
        if array.ndim != 2:
            raise RequestError(f"plane {index} has {array.ndim} dimensions instead of 2")
        if not _has_contiguous_rows(array):
            arrays[index] = array = np.ascontiguousarray(array)
        elif can_change or not _is_constant(array):
            can_change = True
    return arrays, can_change if copy is None else copy


def array_of(what: Any, format: Format) -> Plane:
    """An array over the memory of something: a buffer, an array of numpy, or anything that speaks DLPack."""
    if isinstance(what, np.ndarray):
        array = what
    elif hasattr(what, "__dlpack__"):
        array = _from_dlpack(what)
    elif hasattr(what, "__array__") or hasattr(what, "__array_interface__"):
        array = np.asarray(what)
    else:
        try:
            array = np.asarray(memoryview(what))
        except TypeError:
            raise RequestError(f"a {type(what).__name__} is not a frame") from None
    return _typed(array, format)


def _from_dlpack(what: Any) -> Plane:
    try:
        return np.from_dlpack(what)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise RequestError(f"a {type(what).__name__} cannot be read here ({error}); move it to the CPU first") from error


def _typed(array: Plane, format: Format) -> Plane:
    """The array in the format's type. Bytes of a packed picture may be of samples that have two bytes."""
    if array.dtype == format.dtype:
        return array
    if array.dtype.newbyteorder("=") == format.dtype:
        return array.astype(format.dtype)
    if array.dtype in (np.uint8, np.dtype("S1"), np.dtype("V1")) and array.ndim == 1 and array.flags.c_contiguous:
        if array.nbytes % format.dtype.itemsize == 0:
            return array.view(format.dtype.newbyteorder("<")).astype(format.dtype, copy=False)
    raise RequestError(f"samples of {format.pix_fmt} are {format.dtype}, not {array.dtype}")


def _split(array: Plane, format: Format) -> list[Plane]:
    """The planes of a whole picture in one array."""
    if array.ndim == 2 and len(format.planes) == 1:
        return [array]
    if array.ndim == 3 and array.shape[0] == len(format.planes):
        return list(array)
    packed = array.reshape(-1) if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)
    for sizes in (_rounded_up(format), format.planes):
        if array.ndim <= 2 and packed.size == sum(width * height for width, height in sizes):
            return _cut(packed, sizes)
    raise RequestError(f"{_described(array)} is not a picture of {format.width}x{format.height} {format.pix_fmt}")


def _rounded_up(format: Format) -> tuple[tuple[int, int], ...]:
    """The planes as most programs write them: where luma has an odd size, chroma's half is rounded up."""
    luma, *chroma = format.planes
    across, down = (2 if "444" not in format.pix_fmt else 1), (2 if "420" in format.pix_fmt else 1)
    return (luma, *[(-(-luma[0] // across), -(-luma[1] // down)) for _ in chroma])


def _cut(packed: Plane, sizes: tuple[tuple[int, int], ...]) -> list[Plane]:
    planes, start = [], 0
    for width, height in sizes:
        planes.append(packed[start : start + width * height].reshape(height, width))
        start += width * height
    return planes


def _has_contiguous_rows(array: Plane) -> bool:
    size = array.dtype.itemsize
    down, across = array.strides
    return bool(across == size and down >= array.shape[1] * size and down % size == 0 and array.flags.aligned)


def _is_constant(array: Plane) -> bool:
    """Whether nobody can write into the memory of an array."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base is None or isinstance(base, bytes)


def _is_pyav(frame: Any) -> bool:
    return hasattr(frame, "planes") and hasattr(getattr(frame, "format", None), "name")


def _of_pyav(frame: Any, format: Format) -> list[Plane]:
    """The planes of a frame of PyAV, where they are. A decoder never writes into a frame that is held."""
    name = frame.format.name
    if name.replace("yuvj", "yuv") != format.pix_fmt.replace("yuvj", "yuv"):
        raise RequestError(f'the frame is {name}, not {format.pix_fmt}; use frame.reformat(format="{format.pix_fmt}")')
    if (frame.width, frame.height) != (format.width, format.height):
        raise RequestError(f"the frame is {frame.width}x{frame.height}, not {format.width}x{format.height}")
    arrays = []
    for plane, (width, height) in zip(frame.planes, format.planes):
        rows = np.frombuffer(plane, format.dtype).reshape(-1, plane.line_size // format.dtype.itemsize)
        arrays.append(rows[:height, :width])
    return arrays
