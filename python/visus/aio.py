"""The same functions for `asyncio`: work happens on threads, and cancelling a task cancels its work.

    report = await visus.aio.score("master.mp4", "encode.mp4")

Arguments and results are those of the functions of the same name in `visus`. A progress callback is called on the event loop.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from . import _score, _scorer, _tune
from ._report import Report
from ._visus import Cancel

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["Scorer", "compare", "features", "score", "search", "worst"]


async def _run(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Calls a function on a thread. If the task is cancelled, the work is, and has ended when this returns."""
    loop = asyncio.get_running_loop()
    token = kwargs.setdefault("cancel", None) or Cancel()
    kwargs["cancel"] = token
    progress = kwargs.get("progress")
    if progress is not None:
        kwargs["progress"] = lambda *news: loop.call_soon_threadsafe(progress, *news)
    return await _awaited(loop, functools.partial(function, *args, **kwargs), token)


async def _awaited(loop: asyncio.AbstractEventLoop, call: Callable[[], T], token: Cancel) -> T:
    future = loop.run_in_executor(None, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        token.cancel()
        await asyncio.wait([future])
        future.exception()
        raise


def _awaitable(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await _run(function, *args, **kwargs)

    return call


score = _awaitable(_score.score)
worst = _awaitable(_score.worst)
features = _awaitable(_score.features)
search = _awaitable(_tune.search)
compare = _awaitable(_tune.compare)


class Scorer:
    """`visus.Scorer` whose `push` and `finish` are awaited."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._cancel = kwargs.get("cancel") or Cancel()
        kwargs["cancel"] = self._cancel
        self._scorer = _scorer.Scorer(*args, **kwargs)

    async def push(self, reference: Any, distorted: Any, *, copy: bool | None = None) -> int:
        """Scores the next pair and gives its number; waits while too many are on their way."""
        loop = asyncio.get_running_loop()
        push = functools.partial(self._scorer.push, reference, distorted, copy=copy)
        return await _awaited(loop, push, self._cancel)

    async def finish(self) -> Report:
        """Waits for the rest and gives the report."""
        return await _awaited(asyncio.get_running_loop(), self._scorer.finish, self._cancel)

    def close(self) -> None:
        """Drops what is not finished."""
        self._scorer.close()

    async def __aenter__(self) -> Scorer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
