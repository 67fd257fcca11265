"""Why there is no result: one class for each class of refusal that the command line has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Report


class VisusError(Exception):
    """Something failed on the way. All other errors of this package are a `VisusError` too (exit code 1)."""


class RequestError(VisusError, ValueError):
    """The request is wrong, whatever the videos are: an unknown model, a frame of another size (exit code 2)."""


class NotComparableError(VisusError):
    """A score of these two videos would mean nothing (exit code 3). `force=True` scores them anyway where that is possible."""

    #: Why, in words.
    reasons: list[str]
    #: The scores, where the reason was found while frames were scored.
    report: Report | None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.reasons = []
        self.report = None


class VideoError(VisusError):
    """A video or a report cannot be read, or is of a kind that the request cannot be applied to (exit code 1)."""


class TimedOutError(VisusError, TimeoutError):
    """A decoder or an encoder was silent for too long (exit code 1)."""


class CancelledError(VisusError):
    """Somebody called `Cancel.cancel()`. Ctrl-C raises `KeyboardInterrupt`, and a cancelled task `asyncio.CancelledError`."""
