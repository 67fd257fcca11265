"""VMAF and related video quality metrics, equal to Netflix' libvmaf to the last bit.

    import visus
    report = visus.score("master.mp4", "encode.mp4")
    report.score, report["vmaf_v0.6.1"]

`score`, `worst`, `features`, `search` and `compare` work on files; `score` and `Scorer` on frames of numpy, PyAV and others.
`visus.aio` has the same for asyncio. docs/python.md is a walk through all of it.
"""

from . import aio
from ._errors import CancelledError, NotComparableError, RequestError, TimedOutError, VideoError, VisusError
from ._format import Format
from ._report import (
    Answer,
    Comparison,
    Diff,
    Report,
    Table,
    WorstFrame,
    WorstFrames,
    diff,
    read_report,
)
from ._score import features, metrics, models, score, worst
from ._scorer import Scorer
from ._tune import compare, search
from ._visus import VERSION as __version__
from ._visus import Cancel, cpu_level

__all__ = [
    "Answer",
    "Cancel",
    "CancelledError",
    "Comparison",
    "Diff",
    "Format",
    "NotComparableError",
    "Report",
    "RequestError",
    "Scorer",
    "Table",
    "TimedOutError",
    "VideoError",
    "VisusError",
    "WorstFrame",
    "WorstFrames",
    "__version__",
    "aio",
    "compare",
    "cpu_level",
    "diff",
    "features",
    "metrics",
    "models",
    "read_report",
    "score",
    "search",
    "worst",
]
