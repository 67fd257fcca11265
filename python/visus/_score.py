"""Scores, worst frames and features of two videos."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from . import _visus
from ._errors import NotComparableError, RequestError
from ._format import Format
from ._options import DEFAULT_MODEL, FILE_OPTIONS, Progress, Words, file_options, score_options
from ._report import Path_, Report, Table, WorstFrame, WorstFrames
from ._scorer import Scorer


def score(
    reference: Any,
    distorted: Any,
    models: Words | None = DEFAULT_MODEL,
    metrics: Words | None = None,
    *,
    progress: Progress | None = None,
    threads: int | None = None,
    subsample: int = 1,
    backend: str = "auto",
    cancel: _visus.Cancel | None = None,
    **files: Any,
) -> Report:
    """Scores a video against its reference.

    Both are files (anything that ffmpeg decodes; Y4M and raw video need no ffmpeg), or both are frames: an array with a frame
    per entry, a list, or any iterable of frames as `Scorer.push` takes them. An array `(frames, height, width)` of `uint8` is
    luma, which is all that VMAF looks at; other frames need a `format`.

    `models` and `metrics` are named as on the command line: `"vmaf_v0.6.1"`, `"auto"`, `"model.json"`, `"psnr"`,
    `"cambi=full_ref=true"`; `models=None` computes metrics alone. `subsample=n` scores every n-th frame. `progress(done, total)`
    is called now and then. Ctrl-C, and `cancel.cancel()` from another thread, stop the work at once.

    Further arguments for files, as the options of `visus score`: `format` (of raw video), `frames` (at most so many), `start` and
    `stop` (a frame number, seconds as a float, or `"1:30"`), `skip_reference`, `skip_distorted`, `sync` (`"off"`, `"offset"` or
    `"full"`), `scale`, `scaler`, `force` (score what cannot be compared), `hwaccel`, `timeout` (seconds that ffmpeg may be silent),
    `input` (what is done to the videos beforehand: `["crop=ref=1920x800+0+140", "grain=off"]`; `crop`, `roi`, `deinterlace`,
    `grain`, `offset`, `fps` and `tone_map`), `detectors` (look for faults that scores do not show; usual for encoded video).
    """
    options = score_options(models, metrics, threads, subsample, backend)
    kinds = [isinstance(video, (str, os.PathLike)) for video in (reference, distorted)]
    if kinds == [True, True]:
        token = cancel or _visus.Cancel()
        native, refusal = _visus.score(reference, distorted, options, file_options(files), progress, token)
        return _checked(Report(native), refusal, bool(files.get("force")))
    if True in kinds:
        raise RequestError("one of the two videos is a file and the other one is not")
    return _score_frames(reference, distorted, options, progress, cancel, files)


def _checked(report: Report, refusal: list[str] | None, force: bool) -> Report:
    if refusal is None or force:
        return report
    text = f"the two videos cannot be compared: {'; '.join(refusal)}; force=True scores them anyway"
    error = NotComparableError(text)
    error.reasons, error.report = refusal, report
    raise error


def _score_frames(
    reference: Any,
    distorted: Any,
    options: dict[str, Any],
    progress: Progress | None,
    cancel: _visus.Cancel | None,
    given: dict[str, Any],
) -> Report:
    unknown = [name for name in given if name not in ("format", "frame_rate", "frames")]
    if unknown:
        raise RequestError(f"{unknown[0]} is for files, not for frames")
    total, limit = _length(reference), given.get("frames")
    pairs = _pairs(reference, distorted, limit)
    first = next(pairs, None)
    if first is None:
        raise RequestError("there is no frame to score")
    format = given.get("format")
    if format is None:
        format = _format_seen(reference, first[0])
    # Frames that all exist already are scored where they are: this call returns when it is done with them. An iterator may put
    # each frame into the memory of the one before it.
    copy = False if _is_held(reference) and _is_held(distorted) else None
    with Scorer(Format.of(format, given.get("frame_rate")), cancel=cancel, **options) as scorer:
        scorer.push(*first, copy=copy)
        for pair in pairs:
            done = scorer.push(*pair, copy=copy)
            if progress is not None:
                progress(done, total)
        report = scorer.finish()
    if progress is not None:
        progress(int(report.data["frame_count"]), total)
    return report


def _is_held(video: Any) -> bool:
    return isinstance(video, (np.ndarray, list, tuple))


def _format_seen(video: Any, first: Any) -> Format:
    shape = getattr(video, "shape", ())
    if len(shape) == 4:
        raise RequestError(
            "arrays of four dimensions look like RGB, which is not converted here; give planes of YUV, or luma alone"
        )
    return Format.of(first)


def _pairs(reference: Any, distorted: Any, limit: int | None) -> Iterator[tuple[Any, Any]]:
    missing = object()
    for number, (first, second) in enumerate(zip_longest(_each(reference), _each(distorted), fillvalue=missing)):
        if limit is not None and number >= limit:
            return
        if first is missing or second is missing:
            longer = "distorted video" if first is missing else "reference"
            raise RequestError(f"the {longer} has more than {number} frames, the other one does not; frames=N scores N")
        yield first, second


def _each(video: Any) -> Iterable[Any]:
    if isinstance(video, np.ndarray) and video.ndim < 3:
        raise RequestError("an array of frames has three dimensions: frames, rows and columns; use [array] for a single frame")
    return video  # type: ignore[no-any-return]


def _length(video: Any) -> int | None:
    return len(video) if hasattr(video, "__len__") else None


def worst(
    reference: Path_,
    distorted: Path_,
    count: int = 5,
    models: Words | None = DEFAULT_MODEL,
    metrics: Words | None = None,
    *,
    side: int = 384,
    progress: Progress | None = None,
    threads: int | None = None,
    backend: str = "auto",
    cancel: _visus.Cancel | None = None,
    **files: Any,
) -> WorstFrames:
    """The worst frames of two files, spread over shots, worst first: pictures, and what is wrong in words.

    `side` is the longest side of each of the three pictures that stand side by side. Further arguments are those of `score`.
    """
    if not 1 <= count <= 1000 or not 64 <= side <= 4096:
        raise RequestError("count must be 1 to 1000, side 64 to 4096")
    options = score_options(models, metrics, threads, 1, backend)
    wanted = {"count": count, "side": side}
    token = cancel or _visus.Cancel()
    _, frames = _visus.worst(reference, distorted, wanted, options, file_options(files), progress, token)
    return WorstFrames(WorstFrame(json.loads(data), png) for data, png in frames)


def features(
    reference: Path_ | Iterable[Mapping[str, Any] | Sequence[Any]],
    distorted: Path_ | None = None,
    models: Words | None = None,
    metrics: Words | None = None,
    *,
    per_frame: bool = False,
    progress: Progress | None = None,
    threads: int | None = None,
    backend: str = "auto",
    cancel: _visus.Cancel | None = None,
    **files: Any,
) -> Table:
    """A table of features: the six that VMAF reads, and those of further models and metrics.

    One pair of files, or a list of pairs: tuples `(reference, distorted)`, or dictionaries with `reference`, `distorted` and
    perhaps `key` (the row's name), `mos` (an opinion score) and arguments of `score` for this pair. A row is a pair with the means
    over its frames, or with `per_frame=True` a frame.
    """
    if isinstance(reference, (str, os.PathLike)):
        if distorted is None:
            raise RequestError("a pair has a reference and a distorted video")
        entries: Iterable[Mapping[str, Any] | Sequence[Any]] = [(reference, distorted)]
    else:
        entries = reference
    pairs = [_pair(entry, files) for entry in entries]
    if not pairs:
        raise RequestError("there is no pair to measure")
    options = score_options(models, metrics, threads, 1, backend)
    columns = _visus.features(pairs, options, per_frame, progress, cancel or _visus.Cancel())
    return Table({name: values if kind == "text" else np.frombuffer(values, kind) for name, kind, values in columns})


def _pair(entry: Mapping[str, Any] | Sequence[Any], files: dict[str, Any]) -> dict[str, Any]:
    given = dict(entry) if isinstance(entry, Mapping) else dict(zip(("reference", "distorted", "key"), entry))
    if "reference" not in given or "distorted" not in given:
        raise RequestError("a pair has a reference and a distorted video")
    own = {name: given[name] for name in given if name in FILE_OPTIONS}
    return {
        "reference": given["reference"],
        "distorted": given["distorted"],
        "key": str(given.get("key") or Path(given["distorted"]).stem),
        "mos": given.get("mos"),
        "files": file_options({**files, **own}),
    }


def models() -> list[dict[str, Any]]:
    """The built-in models: version, what it is for, range of scores, features."""
    return json.loads(_visus.models())  # type: ignore[no-any-return]


def metrics() -> list[dict[str, Any]]:
    """The metrics, and the options of each."""
    return json.loads(_visus.metrics())  # type: ignore[no-any-return]
