"""Encoder settings by score."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from . import _visus
from ._errors import RequestError
from ._format import Format
from ._options import DEFAULT_MODEL, Words, words
from ._report import Answer, Comparison, Path_

#: Called with what happens: `{"event": "measured", "quality": 28, "score": 93.8, …}` and others.
TuneProgress = Callable[[dict[str, Any]], object]


def search(
    source: Path_,
    target: float | str | list[float | str],
    encoder: str = "libx264",
    *,
    model: str = DEFAULT_MODEL,
    pool: str = "mean",
    step: float = 0.25,
    tolerance: float = 0.5,
    min_savings: float | None = None,
    max_size: int | None = None,
    output: Path_ | None = None,
    progress: TuneProgress | None = None,
    cancel: _visus.Cancel | None = None,
    **encoding: Any,
) -> Answer:
    """The encoder setting that reaches a score: found on samples, verified on the whole encode.

    A target is a score, or a text as `visus search --target` takes it: `"p5=90"`, `"cambi<5"`, `"ssimulacra2=80"`; all of
    several must be met. `step` (1, 0.5 or 0.25) is that of the setting, where the encoder takes fractions.

    The answer has the keys of `visus search --json`: `ok`, `why` (where it is not), `quality`, `achieved`, `bitrate_kbps`,
    `command` and others. `output` names a file for the encode.

    Further arguments: `preset`, `pix_fmt`, `options` (a dictionary of further ffmpeg options), `samples` (how many, 0 for the
    whole source), `sample_duration` (seconds of each), `format` (of raw video, with a frame rate), `cache_dir`, `cache`.
    """
    if step not in (1, 0.5, 0.25):
        raise RequestError(f"step {step} must be 1, 0.5 or 0.25")
    asked = {
        "targets": [str(one) for one in (target if isinstance(target, (list, tuple)) else [target])],
        "steps": round(1 / step),
        "encoder": encoder,
        "tolerance": tolerance,
        "min_savings": min_savings,
        "max_size": max_size,
        "output": output,
    }
    common = _common(source, model, pool, encoding)
    return Answer(json.loads(_visus.search(common, asked, _listener(progress), cancel or _visus.Cancel())))


def compare(
    source: Path_,
    targets: float | list[float],
    encoders: Words,
    *,
    model: str = DEFAULT_MODEL,
    pool: str = "mean",
    parallel: bool = True,
    progress: TuneProgress | None = None,
    cancel: _visus.Cancel | None = None,
    **encoding: Any,
) -> Comparison:
    """Encoders side by side at the same scores, with the difference in bit rate (BD-rate) to the first.

    An encoder that is not there, or cannot reach a target, is a row that says so. Further arguments are those of `search`.
    """
    scores = list(targets) if isinstance(targets, (list, tuple)) else [float(targets)]
    asked = {"encoders": words(encoders), "targets": scores, "parallel": parallel}
    common = _common(source, model, pool, encoding)
    return Comparison(json.loads(_visus.compare(common, asked, _listener(progress), cancel or _visus.Cancel())))


def _common(source: Path_, model: str, pool: str, given: dict[str, Any]) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "format": None,
        "preset": None,
        "pix_fmt": None,
        "options": {},
        "samples": None,
        "sample_duration": 4.0,
        "cache_dir": None,
        "cache": True,
    }
    unknown = [name for name in given if name not in usual]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; there are {', '.join(usual)}")
    options: dict[str, Any] = {**usual, **given, "source": source, "model": model, "pool": pool}
    further: Mapping[str, Any] = options["options"]
    options["options"] = [(name.lstrip("-"), str(value)) for name, value in further.items()]
    if options["format"] is not None:
        options["format"] = Format.of(options["format"])._options()
    return options


def _listener(progress: TuneProgress | None) -> Callable[[str], object] | None:
    if progress is None:
        return None
    return lambda event: progress(json.loads(event))
