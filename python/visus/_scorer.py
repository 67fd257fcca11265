"""Frames that are pushed, pair by pair."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _visus
from ._format import Format
from ._frames import planes_of
from ._options import DEFAULT_MODEL, Words, score_options
from ._report import Report


class Scorer:
    """Scores pairs of frames that are pushed into it, and gives a `Report` in the end.

    >>> scorer = Scorer(Format(640, 360, "yuv420p"))                    # doctest: +SKIP
    >>> for reference, distorted in zip(references, encodes):           # doctest: +SKIP
    ...     scorer.push(reference, distorted)
    >>> scorer.finish().score                                           # doctest: +SKIP

    `format` is a `Format`, or anything that has one (see `Format.of`): a tuple, a frame or stream of PyAV. Models and metrics are
    named as on the command line; `models=None` computes metrics alone. With `threads=0` everything is computed in the caller's
    thread. Frames are scored on threads beside Python; `push` waits only while too many pairs are on their way.

    Several threads may use one scorer, and several scorers may be at work at once.
    """

    def __init__(
        self,
        format: Any,
        models: Words | None = DEFAULT_MODEL,
        metrics: Words | None = None,
        *,
        frame_rate: Any = None,
        threads: int | None = None,
        subsample: int = 1,
        backend: str = "auto",
        names: tuple[str, str] = ("reference", "distorted"),
        cancel: _visus.Cancel | None = None,
    ) -> None:
        self._format = Format.of(format, frame_rate)
        options = score_options(models, metrics, threads, subsample, backend)
        self._native = _visus.Scorer(self._format._options(), options, names, cancel)
        self._report: Report | None = None

    @property
    def format(self) -> Format:
        """What frames must be."""
        return self._format

    @property
    def pushed(self) -> int:
        """Pairs that were pushed so far."""
        return self._native.pushed

    def push(self, reference: Any, distorted: Any, *, copy: bool | None = None) -> int:
        """Scores the next pair and gives its number.

        A frame is one of: a list of planes; an array of the whole picture (all planes one after another, in one or two
        dimensions, or `(3, height, width)`); luma alone for `gray`; bytes or any buffer of the same; a frame of PyAV. Arrays are
        those of numpy or anything with the buffer protocol or DLPack, `uint8` up to 8 bits and `uint16` above, with any strides.

        Scoring goes on after `push` has returned. Memory that cannot change until then (read-only arrays, `bytes`, frames of
        PyAV) is used where it is; memory that can is copied first, so that a buffer may be used again at once. `copy=False` promises
        that it will not be written to before `finish`, and saves the copy.
        """
        return self._native.push(
            planes_of(reference, self._format, copy), planes_of(distorted, self._format, copy)
        )

    def scores(self) -> dict[str, npt.NDArray[np.float64]]:
        """What is known by now, without waiting: an array per column, not a number for frames that are still computed."""
        return {name: np.frombuffer(values, np.float64) for name, values in self._native.scores()}

    def finish(self) -> Report:
        """Waits for the rest and gives the report. Calling it again gives the same one."""
        if self._report is None:
            self._report = Report(self._native.finish())
        return self._report

    def close(self) -> None:
        """Drops what is not finished."""
        self._native.close()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
