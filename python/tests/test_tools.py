"""Worst frames, features, encoder settings, and all of it under asyncio."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import visus
from conftest import visus as run_visus


def test_the_worst_frames_are_those_of_the_command_line(clips: Path, tmp_path: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    frames = visus.worst(*pair, count=2, side=128)
    done = run_visus("worst", *pair, "-n", 2, "--side", 128, "-o", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "worst.json").read_text())["frames"]
    assert len(frames) == len(listed) == 2
    for frame, entry in zip(frames, listed):
        assert (frame.index, frame.score, frame.description) == (
            entry["frame_index"],
            entry["score"],
            entry["description"],
        )
        assert frame.png == (tmp_path / entry["png"]).read_bytes()
        assert frame.region == entry["region"] and frame.measures == entry["measures"]
    frames[0].save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == frames[0].png
    assert frames._repr_html_().count("data:image/png;base64,") == 2
    with pytest.raises(visus.RequestError):
        visus.worst(*pair, count=0)


def test_features_are_those_of_the_command_line(clips: Path, tmp_path: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    out = tmp_path / "features.csv"
    done = run_visus("features", *pair, "-f", "psnr", "--mos", 71.5, "-o", out, "--quiet")
    assert done.returncode == 0, done.stderr
    with open(out, newline="") as file:
        (row,) = csv.DictReader(file)
    table = visus.features([{"reference": pair[0], "distorted": pair[1], "mos": 71.5}], metrics="psnr")
    assert table.columns == list(row) and len(table) == 1
    for name in table.columns:
        value = table[name][0]
        assert value == row[name] if name == "key" else float(row[name]) == value, name
    per_frame = visus.features(*pair, per_frame=True, frames=5)
    assert per_frame["frame"].tolist() == [0, 1, 2, 3, 4] and len(per_frame) == 5
    two = visus.features([pair, (pair[1], pair[0], "back")], frames=2)
    assert two["key"] == ["distorted", "back"] and np.isfinite(two["adm2"]).all()
    assert "adm2" in two._repr_html_() and list(two.to_pandas().columns) == two.columns == two.to_arrow().column_names
    with pytest.raises(visus.VideoError, match=r"gone\.y4m"):
        visus.features(pair[0], "gone.y4m")
    for wrong in ([], pair[0], [(pair[0],)]):
        with pytest.raises(visus.RequestError):
            visus.features(wrong)


@pytest.fixture(scope="module")
def short(clips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip that encoders are done with quickly."""
    path = tmp_path_factory.mktemp("short") / "short.y4m"
    words = ["ffmpeg", "-v", "error", "-i", str(clips / "reference.y4m"), "-frames:v", "10", "-vf", "scale=160:90"]
    subprocess.run([*words, "-pix_fmt", "yuv420p", str(path)], check=True)
    return path


def test_a_search(short: Path, tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []
    options: dict[str, Any] = {"preset": "ultrafast", "cache_dir": tmp_path / "cache"}
    answer = visus.search(short, 85, progress=heard.append, output=tmp_path / "out.mp4", **options)
    assert answer.ok and abs(answer.achieved - 85) < 10 and answer.encoder == "libx264"
    assert {event["event"] for event in heard} >= {"estimate", "measured"}
    achieved = visus.score(short, tmp_path / "out.mp4", sync="off").score
    assert achieved == pytest.approx(answer.achieved, abs=1e-9)
    assert visus.search(short, 85, **options).from_cache
    assert "libx264" in answer._repr_html_()
    for error, call in [
        (visus.RequestError, lambda: visus.search(short, 85, "libx999")),
        (visus.RequestError, lambda: visus.search(short, 850)),
        (visus.RequestError, lambda: visus.search(short, ["mean=85", "cambi=5"])),
        (visus.RequestError, lambda: visus.search(short, 85, pool="best")),
        (visus.VideoError, lambda: visus.search("gone.mp4", 85)),
        (TypeError, lambda: visus.search(short, 85, presett="slow")),
    ]:
        with pytest.raises(error):
            call()


def test_a_search_with_several_targets(short: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"preset": "ultrafast", "cache_dir": tmp_path / "cache", "step": 0.5}
    answer = visus.search(short, ["mean=70", "p5=60", "psnr=20"], **options)
    assert answer.ok and [goal["goal"] for goal in answer.goals] == ["mean=70", "p5=60", "psnr.mean=20"]
    assert all(goal["met"] for goal in answer.goals)


def test_a_comparison(short: Path, tmp_path: Path) -> None:
    found = visus.compare(short, [80, 90], ["libx264", "libx999"], preset="ultrafast", cache_dir=tmp_path)
    assert [row["ok"] for row in found.rows] == [True, True, False, False]
    assert len(found.to_pandas()) == 4 and "libx264" in found._repr_html_()


def test_asyncio(clips: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    heard: list[Any] = []

    async def both() -> list[visus.Report]:
        calls = [visus.aio.score(*pair, progress=lambda *news: heard.append(news), frames=20) for _ in range(2)]
        return list(await asyncio.gather(*calls))

    first, second = asyncio.run(both())
    expected = visus.score(*pair, frames=20)
    for report in (first, second):
        assert np.array_equal(report["vmaf_v0.6.1"], expected["vmaf_v0.6.1"])
    assert heard and heard[-1][0] == 20

    async def pushed() -> visus.Report:
        frames = [np.full((2, 64, 96), value, np.uint8) for value in (90, 100)]
        async with visus.aio.Scorer((96, 64, "gray")) as scorer:
            for reference, distorted in zip(*frames):
                await scorer.push(reference, distorted)
            return await scorer.finish()

    assert len(asyncio.run(pushed()).frames) == 2


def test_a_cancelled_task_stops_its_work(clips: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")

    async def cancelled() -> float:
        started = asyncio.Event()
        task = asyncio.create_task(
            visus.aio.score(*pair, models="all", metrics="ciede", progress=lambda *_: started.set())
        )
        await started.wait()
        before = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - before

    token_seconds = asyncio.run(cancelled())
    assert token_seconds < 60
