"""Keyword arguments as the native module takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._format import Format

#: Called with the number of frames that are done, and with how many there are where that is known.
Progress = Callable[[int, "int | None"], object]

DEFAULT_MODEL = "vmaf_v0.6.1"

Words = str | Iterable[str]


def words(names: Words | None) -> list[str]:
    """One name or several."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def score_options(
    models: Words | None, metrics: Words | None, threads: int | None, subsample: int, backend: str
) -> dict[str, Any]:
    return {
        "models": words(models),
        "metrics": words(metrics),
        "threads": threads,
        "subsample": subsample,
        "backend": backend,
    }


FILE_OPTIONS: dict[str, Any] = {
    "format": None,
    "frames": None,
    "start": None,
    "stop": None,
    "skip_reference": 0,
    "skip_distorted": 0,
    "sync": None,
    "scale": None,
    "scaler": None,
    "force": False,
    "hwaccel": None,
    "timeout": None,
    "input": (),
    "detectors": None,
}


def file_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of files with their usual values, in the native module's types."""
    unknown = [name for name in given if name not in FILE_OPTIONS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; there are {', '.join(FILE_OPTIONS)}")
    options = {**FILE_OPTIONS, **given}
    if options["format"] is not None:
        options["format"] = Format.of(options["format"])._options()
    options["input"] = words(options["input"])
    for name in ("start", "stop"):
        if options[name] is not None:
            options[name] = moment(options[name])
    return options


def moment(value: int | float | str) -> str:
    """A frame number, seconds, or the command line's words for a time."""
    return f"{value!r}s" if isinstance(value, float) else str(value)
