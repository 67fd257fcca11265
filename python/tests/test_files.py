"""Files: the same numbers, the same report and the same refusals as the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import visus
from conftest import visus as run_visus
from conftest import visus_json


def same_report(report: visus.Report, words: list[object]) -> None:
    """The text is that of the command line, but for how long it took."""
    done = run_visus("score", *words, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    speed = re.compile(r'"(fps|seconds)": [^,]*,')
    assert speed.sub("", report.json()) == speed.sub("", done.stdout)
    data = json.loads(done.stdout)
    for name in report.columns:
        expected = [frame["metrics"].get(name) for frame in data["frames"]]
        expected = np.array([np.nan if value is None else value for value in expected])
        assert np.array_equal(report[name], expected, equal_nan=True), name
    assert report.frames.tolist() == [frame["frameNum"] for frame in data["frames"]]


def test_y4m_is_scored_as_by_the_command_line(clips: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    report = visus.score(*pair)
    same_report(report, [*pair])
    assert report.name == "vmaf_v0.6.1" and report.score == float(report)
    assert report.score == pytest.approx(report["vmaf_v0.6.1"].mean(), abs=1e-12)
    assert report.comparable == "yes"


def test_options_are_those_of_the_command_line(clips: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    report = visus.score(*map(str, pair), models=["v0.6.1neg", "auto"], metrics=["psnr", "ssim"], frames=6, threads=1)
    same_report(report, [*pair, "-m", "v0.6.1neg", "-m", "auto", "-f", "psnr", "-f", "ssim", "--frames", 6, "-t", 1])
    part = visus.score(*pair, start=4, stop=0.4)
    same_report(part, [*pair, "--from", 4, "--to", "0.4s"])
    every_third = visus.score(*pair, models=None, metrics="psnr", subsample=3)
    same_report(every_third, [*pair, "-m", "none", "-f", "psnr", "--subsample", 3])
    assert every_third.name == "psnr_y"
    cropped = visus.score(*pair, input=["crop=64x48+16+8", "fps=30"], detectors=True)
    same_report(cropped, [*pair, "--crop", "64x48+16+8", "--fps", 30, "--detectors"])
    with pytest.raises(visus.RequestError, match="unknown input option 'zoom'"):
        visus.score(*pair, input="zoom=2")


def test_raw_video_needs_a_format(clips: Path, tmp_path: Path, pictures: object) -> None:
    (width, height), reference, distorted = pictures  # type: ignore[misc]
    paths = (tmp_path / "r.yuv", tmp_path / "d.yuv")
    paths[0].write_bytes(b"".join(reference))
    paths[1].write_bytes(b"".join(distorted))
    report = visus.score(*paths, format=visus.Format(width, height, "yuv420p"))
    same_report(report, [*paths, "--size", f"{width}x{height}", "--pix-fmt", "yuv420p"])


def test_encoded_video(clips: Path) -> None:
    pair = (clips / "master.mp4", clips / "encode.mp4")
    same_report(visus.score(*pair, models="auto"), [*pair, "-m", "auto"])


def test_progress_reaches_the_end(clips: Path) -> None:
    heard: list[tuple[int, int | None]] = []
    report = visus.score(clips / "reference.y4m", clips / "distorted.y4m", progress=lambda *news: heard.append(news))
    frames = len(report.frames)
    assert heard[-1] == (frames, frames)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_an_error_in_the_callback_stops_the_work(clips: Path) -> None:
    def fails(done: int, total: int | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        visus.score(clips / "reference.y4m", clips / "distorted.y4m", progress=fails)


def test_refusals_are_those_of_the_command_line(clips: Path, tmp_path: Path) -> None:
    pair = (clips / "reference.y4m", clips / "distorted.y4m")
    other = tmp_path / "other.y4m"
    other.write_bytes(b"YUV4MPEG2 W64 H48 F25:1 Ip C420\nFRAME\n" + bytes(64 * 48 * 3 // 2))
    for error, code, words, call in [
        (visus.RequestError, 2, [*pair, "-m", "vmaf_v9"], lambda: visus.score(*pair, models="vmaf_v9")),
        (visus.RequestError, 2, [*pair, "-f", "psnrr"], lambda: visus.score(*pair, metrics="psnrr")),
        (visus.RequestError, 2, [*pair, "--from", 5, "--to", 5], lambda: visus.score(*pair, start=5, stop=5)),
        (visus.NotComparableError, 3, [pair[0], other], lambda: visus.score(pair[0], other)),
        (visus.VideoError, 1, [pair[0], "gone.mp4"], lambda: visus.score(pair[0], "gone.mp4")),
    ]:
        with pytest.raises(error) as caught:
            call()
        done = run_visus("score", *words, "--quiet")
        assert done.returncode == code, done.stderr
        said = done.stderr.split("visus: ", 1)[1].strip()
        assert str(caught.value) in said or said in str(caught.value)
        assert type(caught.value) is error
    assert issubclass(visus.RequestError, ValueError) and issubclass(visus.TimedOutError, TimeoutError)
    with pytest.raises(TypeError):
        visus.score(*pair, frame=3)


def test_what_cannot_be_compared_can_be_forced(clips: Path, tmp_path: Path) -> None:
    """Another content: the pairing finds nothing that belongs together."""
    width, height = 320, 180
    other = tmp_path / "noise.y4m"
    rng = np.random.default_rng(3)
    frames = [b"FRAME\n" + rng.integers(0, 256, width * height * 3 // 2, np.uint8).tobytes() for _ in range(12)]
    other.write_bytes(b"YUV4MPEG2 W%d H%d F25:1 Ip C420\n" % (width, height) + b"".join(frames))
    arguments = (clips / "reference.y4m", other)
    with pytest.raises(visus.NotComparableError) as caught:
        visus.score(*arguments, sync="full", scale="reference")
    assert caught.value.reasons and "force=True" in str(caught.value)
    forced = visus.score(*arguments, sync="full", scale="reference", force=True)
    assert forced.comparable == "no" and forced.reasons


def test_a_token_cancels(clips: Path) -> None:
    token = visus.Cancel()
    token.cancel()
    with pytest.raises(visus.CancelledError):
        visus.score(clips / "reference.y4m", clips / "distorted.y4m", cancel=token)
    token = visus.Cancel()
    with pytest.raises(visus.CancelledError):
        visus.score(
            clips / "reference.y4m", clips / "distorted.y4m", cancel=token, progress=lambda *_: token.cancel()
        )


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C raises, also where the shell that started the tests in the background had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_stops_at_once(clips: Path, tmp_path: Path) -> None:
    """The reference comes from a pipe that nobody writes to any more: only a signal ends the wait."""
    data = (clips / "reference.y4m").read_bytes()[:200_000]
    pipe = tmp_path / "pipe.y4m"
    os.mkfifo(pipe)
    done = threading.Event()

    def feed() -> None:
        with open(pipe, "wb") as out:
            out.write(data)
            out.flush()
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)
            done.wait(60)

    thread = threading.Thread(target=feed)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        visus.score(pipe, clips / "distorted.y4m")
    done.set()
    thread.join()


def test_json_of_one_figure(clips: Path) -> None:
    data = visus_json(clips / "reference.y4m", clips / "distorted.y4m", "-f", "psnr")
    report = visus.score(clips / "reference.y4m", clips / "distorted.y4m", metrics="psnr")
    assert report.pooled == data["pooled_metrics"]
    assert report.data["provenance"] == data["provenance"]
