"""Results: reports, worst frames, tables and answers."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _visus
from ._errors import RequestError, VideoError

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path_ = str | os.PathLike[str]


class Report:
    """The scores of a clip, frame by frame and pooled, and everything that is known about them.

    `report["vmaf_v0.6.1"]` is a column over the listed frames, `report.frames` are their numbers, `report.score` is the mean of
    the first model. It is what `visus score --json` writes; `json()` has the same text.
    """

    def __init__(self, native: _visus.Report) -> None:
        self._native = native
        self._data: dict[str, Any] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of all columns: models and metrics."""
        return self._native.names()

    @property
    def frames(self) -> npt.NDArray[np.int64]:
        """The numbers of the listed frames."""
        return np.frombuffer(self._native.frames(), np.int64)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        """A column over the listed frames; not a number where a frame has no score."""
        column = self._native.column(name)
        if column is None:
            raise KeyError(f"{name!r}; there are {', '.join(self.columns)}")
        return np.frombuffer(column, np.float64)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    @property
    def name(self) -> str:
        """The column that sums the report up: the first model's, or that of the first metric."""
        if self._native.main is None:
            raise VideoError("the report has no score")
        return self._native.main

    @property
    def score(self) -> float:
        """The mean of the first model's scores (or of the first metric's)."""
        return float(self.pooled[self.name]["mean"])

    def __float__(self) -> float:
        return self.score

    @property
    def data(self) -> dict[str, Any]:
        """The report without its frames, as JSON has it: provenance, notes, pooled scores, how videos were paired."""
        if self._data is None:
            self._data = json.loads(self._native.json(frames=False))
        return self._data

    @property
    def pooled(self) -> dict[str, dict[str, float]]:
        """`min`, `max`, `mean`, `harmonic_mean`, `p1`, `p5`, `p10`, `p25`, `median` and `min_frame` of every column."""
        return self.data.get("pooled_metrics", {})

    @property
    def aggregates(self) -> dict[str, float]:
        """Numbers for the whole clip, of metrics that have such."""
        return self.data.get("aggregate_metrics", {})

    @property
    def notes(self) -> list[str]:
        """What a person should know: why `auto` picked its model, that both videos are the same."""
        return self.data.get("notes", [])

    @property
    def comparable(self) -> str | None:
        """`yes`, `warn` or `no`: whether the score can be trusted. None in reports that do not say."""
        return (self.data.get("comparability") or {}).get("comparable")

    @property
    def reasons(self) -> list[str]:
        """Why `comparable` is what it is."""
        return [reason["text"] for reason in (self.data.get("comparability") or {}).get("reasons", [])]

    def json(self) -> str:
        """The whole report, to the byte what `visus score --json=FILE` writes (but for the speed, `fps`)."""
        return self._native.json()

    def html(self) -> str:
        """One self-contained page: curve, figures, histogram, provenance."""
        return self._native.html()

    def svg(self) -> str:
        """Curve and histogram as a picture."""
        return self._native.svg()

    def png(self) -> bytes:
        """The same as PNG."""
        return self._native.png()

    def save(self, path: Path_) -> None:
        """Writes the report; the ending of the name decides: .json, .html, .svg or .png."""
        path = Path(path)
        makers = {".json": self.json, ".html": self.html, ".svg": self.svg, ".png": self.png}
        if path.suffix not in makers:
            raise RequestError(f"{path.name} must end in {', '.join(makers)}")
        made: str | bytes = makers[path.suffix]()
        path.write_bytes(made.encode() if isinstance(made, str) else made)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with a row per listed frame, by its number."""
        import pandas

        index = pandas.Index(self.frames, name="frame")
        return pandas.DataFrame({name: self[name] for name in self.columns}, index=index)

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with a row per listed frame."""
        import pyarrow

        return pyarrow.table({"frame": self.frames, **{name: self[name] for name in self.columns}})

    def __repr__(self) -> str:
        score = f"{self.name} {self.score:.2f}" if self._native.main else "no score"
        return f"<visus.Report {score}, {len(self.frames)} frames>"

    def _repr_html_(self) -> str:
        picture = _picture("image/svg+xml", self.svg().encode(), "scores over the frames")
        return f"<div>{picture}{_table_html(self._shown())}</div>"

    def _shown(self) -> list[dict[str, Any]]:
        models = [model["name"] for model in (self.data.get("provenance") or {}).get("models", [])]
        names = [name for name in models if name in self.pooled] or [self.name]
        figures = ("mean", "harmonic_mean", "p5", "median", "min", "min_frame", "max")
        rows = []
        for name in names:
            pooled = {figure: self.pooled[name].get(figure) for figure in figures}
            rows.append({"": name, **{figure: value for figure, value in pooled.items() if value is not None}})
        return rows


def read_report(source: Path_ | dict[str, Any]) -> Report:
    """A report from elsewhere: a JSON file of visus, vmaf or ffmpeg's filter (or the parsed JSON itself)."""
    if isinstance(source, dict):
        return Report(_visus.read_report(json.dumps(source)))
    try:
        text = Path(source).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VideoError(f"{os.fspath(source)} cannot be read: {error}") from error
    try:
        return Report(_visus.read_report(text))
    except VideoError as error:
        raise VideoError(f"{os.fspath(source)}: {error}") from None


class Answer(dict[str, Any]):
    """An answer whose keys are those of the command's JSON (docs/report-format.md); `answer.key` is `answer["key"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def _repr_html_(self) -> str:
        return _table_html(self._shown())

    def _shown(self) -> list[dict[str, Any]]:
        plain = (str, int, float, bool)
        return [{"": name, "value": value} for name, value in self.items() if isinstance(value, plain)]


class Diff(Answer):
    """What differs between two reports, and whether the change in score is real; `str()` of it is what `visus diff` prints."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(data)
        self.__dict__["text"] = text

    def __str__(self) -> str:
        return str(self.__dict__["text"])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def diff(a: Report | Path_, b: Report | Path_, *, seed: int | None = None) -> Diff:
    """Compares two reports of the same clip: the change of every model, its 95 % interval, and whether it is more than chance."""
    first, second = (report if isinstance(report, Report) else read_report(report) for report in (a, b))
    seeds = () if seed is None else (seed,)
    data, text = _visus.diff(first._native, second._native, *seeds)
    return Diff(json.loads(data), text)


class Comparison(Answer):
    """Encoders side by side; `rows` has one entry for each encoder and target, `bd_rate` the differences to the first encoder."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame."""
        import pandas

        return pandas.DataFrame(self["rows"])

    def _shown(self) -> list[dict[str, Any]]:
        names = ("codec", "target_vmaf", "best_crf", "vmaf_score", "bitrate_kbps", "encode_time_ms")
        return [{name: row.get(name) for name in names} for row in self["rows"]]


class WorstFrame:
    """A bad frame: where it is, what is wrong with it, and a picture."""

    def __init__(self, data: dict[str, Any], png: bytes) -> None:
        #: Its number, from 0.
        self.index: int = data["frame_index"]
        #: Its score.
        self.score: float = data["score"]
        #: The shot it is in, from 0.
        self.shot: int = data["shot"]
        #: What is wrong with it, in words.
        self.description: str = data["description"]
        #: What was measured: blur, blocking, banding, noise and others.
        self.measures: dict[str, Any] = data["measures"]
        #: What the picture shows: `x`, `y`, `width` and `height` in luma samples.
        self.region: dict[str, int] = data["region"]
        #: Reference, distorted video and amplified difference side by side.
        self.png: bytes = png

    def save(self, path: Path_) -> None:
        """Writes the picture."""
        Path(path).write_bytes(self.png)

    def __repr__(self) -> str:
        return f"<visus.WorstFrame {self.index}: {self.score:.2f}>"

    def _repr_html_(self) -> str:
        return f"<figure>{_picture('image/png', self.png, '')}<figcaption>{html.escape(self.description)}</figcaption></figure>"


class WorstFrames(list[WorstFrame]):
    """The worst frames of a clip, worst first."""

    def _repr_html_(self) -> str:
        return "".join(frame._repr_html_() for frame in self)


class Table:
    """Named columns of one length: numpy arrays, or lists of texts."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Rows."""
        return len(next(iter(self._columns.values()), ()))

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table."""
        import pyarrow

        return pyarrow.table(self._columns)

    def __repr__(self) -> str:
        return f"<visus.Table {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        rows = [{name: self._columns[name][row] for name in self.columns} for row in range(min(len(self), 20))]
        more = f"<p>{len(self)} rows</p>" if len(self) > 20 else ""
        return _table_html(rows) + more


def _picture(kind: str, data: bytes, alt: str) -> str:
    return f'<img alt="{html.escape(alt)}" style="max-width:100%" src="data:{kind};base64,{base64.b64encode(data).decode()}">'


def _table_html(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    def cell(value: Any) -> str:
        number = isinstance(value, float) and not isinstance(value, bool)
        return html.escape(f"{value:.4f}" if number else "" if value is None else str(value))

    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
