"""Frames: every kind and layout gives the numbers of the files, to the last bit."""

from __future__ import annotations

import array
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import visus
from conftest import noise
from visus._frames import planes_of

Pictures = tuple[tuple[int, int], list[bytes], list[bytes]]


@pytest.fixture(scope="module")
def expected(clips: Path) -> visus.Report:
    return visus.score(clips / "reference.y4m", clips / "distorted.y4m", metrics="psnr", frames=8)


def pushed(format: visus.Format, reference: list[Any], distorted: list[Any], **options: Any) -> visus.Report:
    with visus.Scorer(format, metrics="psnr", **options) as scorer:
        for number, pair in enumerate(zip(reference, distorted)):
            assert scorer.push(*pair) == number
        assert scorer.pushed == len(reference)
        return scorer.finish()


def same(got: visus.Report, expected: visus.Report) -> None:
    assert got.columns == expected.columns
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name], equal_nan=True), name
    assert got.pooled == expected.pooled


def split(frame: bytes, width: int, height: int) -> list[np.ndarray[Any, Any]]:
    flat = np.frombuffer(frame, np.uint8)
    half = (height // 2, width // 2)
    y, u, v = np.split(flat, [width * height, width * height * 5 // 4])
    return [y.reshape(height, width), u.reshape(half), v.reshape(half)]


class Tensor:
    """What speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def in_wider_rows(planes: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    def wider(plane: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        wide = np.full((plane.shape[0] + 3, plane.shape[1] + 37), 99, plane.dtype)
        wide[1:-2, 5:-32] = plane
        return wide[1:-2, 5:-32]

    return [wider(plane) for plane in planes]


def test_every_kind_of_frame_gives_the_same_scores(pictures: Pictures, expected: visus.Report) -> None:
    (width, height), reference, distorted = pictures
    kinds: dict[str, Any] = {
        "bytes": lambda frame: frame,
        "bytearray": bytearray,
        "memoryview": memoryview,
        "array.array": lambda frame: array.array("B", frame),
        "flat": lambda frame: np.frombuffer(frame, np.uint8),
        "packed": lambda frame: np.frombuffer(frame, np.uint8).reshape(height * 3 // 2, width),
        "planes": lambda frame: split(frame, width, height),
        "writeable planes": lambda frame: [plane.copy() for plane in split(frame, width, height)],
        "wider rows": lambda frame: in_wider_rows(split(frame, width, height)),
        "a step between samples": lambda frame: [np.repeat(p, 2, 1)[:, ::2] for p in split(frame, width, height)],
        "upside down twice": lambda frame: [p[::-1].copy()[::-1] for p in split(frame, width, height)],
        "columns first": lambda frame: [np.asfortranarray(p) for p in split(frame, width, height)],
        "tensors": lambda frame: [Tensor(plane.copy()) for plane in split(frame, width, height)],
        "planes that are memoryviews": lambda frame: [memoryview(plane) for plane in split(frame, width, height)],
    }
    format = visus.Format(width, height, "yuv420p", 25)
    for kind, make in kinds.items():
        frames = [[make(frame) for frame in side] for side in (reference, distorted)]
        try:
            same(pushed(format, *frames), expected)
        except AssertionError as error:
            raise AssertionError(kind) from error
    frames = [[kinds["planes"](frame) for frame in side] for side in (reference, distorted)]
    for threads in (0, 1, 3):
        same(pushed(format, *frames, threads=threads), expected)


def test_a_buffer_may_be_used_again(pictures: Pictures, expected: visus.Report) -> None:
    (width, height), reference, distorted = pictures
    buffers = [np.empty(len(reference[0]), np.uint8) for _ in range(2)]
    with visus.Scorer((width, height, "yuv420p", 25), metrics="psnr", threads=2) as scorer:
        for pair in zip(reference, distorted):
            for buffer, frame in zip(buffers, pair):
                buffer[:] = np.frombuffer(frame, np.uint8)
            scorer.push(*buffers)
        same(scorer.finish(), expected)


def test_what_cannot_change_is_not_copied(pictures: Pictures) -> None:
    (width, height), reference, _ = pictures
    format = visus.Format(width, height, "yuv420p")
    packed = np.frombuffer(reference[0], np.uint8)
    planes, copy = planes_of(reference[0], format, None)
    assert not copy and all(np.shares_memory(plane, packed) for plane in planes)
    owned = packed.copy()
    planes, copy = planes_of(owned, format, None)
    assert copy and all(np.shares_memory(plane, owned) for plane in planes)
    assert planes_of(owned, format, False)[1] is False
    owned.flags.writeable = False
    assert planes_of(owned, format, None)[1] is False
    view = packed.copy()[:]
    view.flags.writeable = False
    assert planes_of(view, format, None)[1], "its base can be written to"
    assert planes_of(memoryview(bytearray(reference[0])).toreadonly(), format, None)[1]


def test_frames_that_exist_are_scored_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[bool] = []

    def noted(*words: Any) -> Any:
        planes, copy = planes_of(*words)
        copies.append(copy)
        return planes, copy

    monkeypatch.setattr("visus._scorer.planes_of", noted)
    reference = np.stack([noise((72, 96), number) for number in range(3)])
    distorted = reference // 8 * 8
    expected = visus.score(reference, distorted)
    assert not any(copies) and len(copies) == 6
    same(visus.score(list(reference), list(distorted)), expected)
    assert not any(copies)
    buffer = np.empty_like(reference[0])

    def reused() -> Any:
        for frame in distorted:
            buffer[:] = frame
            yield buffer

    same(visus.score(reference, reused()), expected)
    assert copies[-1], "an iterator may use its memory again"


@pytest.mark.parametrize("pix_fmt", ["gray", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p12le", "yuv444p16le", "gray10le"])
def test_depths_and_chroma(tmp_path: Path, pix_fmt: str) -> None:
    format = visus.Format(97, 65, pix_fmt)
    peak = (1 << format.depth) - 1
    frames = [[[noise((h, w), 10 * n + side, peak) for w, h in format.planes] for n in range(3)] for side in (0, 1)]
    paths = [tmp_path / "r.yuv", tmp_path / "d.yuv"]
    for path, side in zip(paths, frames):
        path.write_bytes(b"".join(plane.astype(format.dtype).tobytes() for planes in side for plane in planes))
    expected = visus.score(*paths, format=format, metrics="psnr")
    same(pushed(format, *frames), expected)
    packed = [[np.concatenate([plane.reshape(-1) for plane in planes]) for planes in side] for side in frames]
    same(pushed(format, *packed), expected)
    as_bytes = [[frame.tobytes() for frame in side] for side in packed]
    same(pushed(format, *as_bytes), expected)
    if format.depth > 8:
        swapped = [[frame.astype(">u2") for frame in side] for side in packed]
        same(pushed(format, *swapped), expected)


def test_chroma_of_odd_sizes_may_be_rounded_up() -> None:
    format = visus.Format(97, 65, "yuv420p")
    up = [(97, 65), (49, 33), (49, 33)]
    frames = [[[noise((h, w), 10 * n + side) for w, h in up] for n in range(2)] for side in (0, 1)]
    down = [[[plane[: size[1], : size[0]] for plane, size in zip(planes, format.planes)] for planes in side] for side in frames]
    expected = pushed(format, *down)
    same(pushed(format, *frames), expected)
    packed = [[b"".join(plane.tobytes() for plane in planes) for planes in side] for side in frames]
    same(pushed(format, *packed), expected)


def test_frames_of_pyav(clips: Path) -> None:
    av = pytest.importorskip("av")

    def decoded(name: str) -> Any:
        with av.open(str(clips / name)) as container:
            yield from container.decode(video=0)

    report = visus.score(decoded("master.mp4"), decoded("encode.mp4"), frames=10)
    expected = visus.score(clips / "master.mp4", clips / "encode.mp4", sync="off", frames=10)
    assert np.array_equal(report["vmaf_v0.6.1"], expected["vmaf_v0.6.1"])
    frame = next(decoded("master.mp4"))
    planes, copy = planes_of(frame, visus.Format.of(frame), None)
    assert not copy and np.shares_memory(planes[0], np.frombuffer(frame.planes[0], np.uint8))
    with pytest.raises(visus.RequestError, match="reformat"):
        planes_of(frame.reformat(format="nv12"), visus.Format.of(frame), None)


def test_arrays_are_scored_in_one_call(pictures: Pictures, expected: visus.Report) -> None:
    (width, height), reference, distorted = pictures
    packed = [np.stack([np.frombuffer(frame, np.uint8) for frame in side]) for side in (reference, distorted)]
    luma = [side[:, : width * height].reshape(-1, height, width) for side in packed]
    report = visus.score(*luma)
    assert np.array_equal(report["vmaf_v0.6.1"], expected["vmaf_v0.6.1"])
    heard: list[Any] = []
    visus.score(*luma, models=None, metrics="psnr", progress=lambda *news: heard.append(news))
    assert heard[-1] == (8, 8)


def test_wrong_frames_are_refused(pictures: Pictures) -> None:
    (width, height), reference, _ = pictures
    format = visus.Format(width, height, "yuv420p")
    good, luma = reference[0], split(reference[0], width, height)[0]
    for bad, words in [
        (reference[0][:-1], "is not a picture of"),
        (luma, "is not a picture of"),
        ([luma], "has 3 planes, the frame has 1"),
        ([luma, luma[:10], luma], "plane 1 is"),
        (np.zeros(len(good), np.float32), "are uint8, not float32"),
        ([luma.astype(np.uint16)] * 3, "are uint8, not uint16"),
        ("frame.png", "is not a frame"),
        (None, "is not a frame"),
        ([plane[0] for plane in split(good, width, height)], "dimensions instead of 2"),
    ]:
        with visus.Scorer(format) as scorer:
            with pytest.raises(visus.RequestError, match=words):
                scorer.push(good, bad)
            scorer.push(good, good)
            assert scorer.finish().score > 90
    for call in [
        lambda: visus.score(np.zeros((2, 8, 8, 3), np.uint8), np.zeros((2, 8, 8, 3), np.uint8)),
        lambda: visus.score(np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8)),
        lambda: visus.score(np.zeros((2, 64, 64), np.uint8), np.zeros((3, 64, 64), np.uint8)),
        lambda: visus.score([], []),
        lambda: visus.score("a.mp4", np.zeros((2, 64, 64), np.uint8)),
        lambda: visus.score([good], [good], sync="off"),
        lambda: visus.Format(64, 64, "rgb24"),
        lambda: visus.Format(0, 64),
        lambda: visus.Format(64, 64, frame_rate="fast"),
        lambda: visus.Format.of("clip"),
        lambda: visus.Scorer((64, 64), models="bogus"),
        lambda: visus.Scorer((64, 64), backend="abacus"),
    ]:
        with pytest.raises(visus.RequestError):
            call()


def test_a_scorer_ends_once(pictures: Pictures) -> None:
    (width, height), reference, _ = pictures
    scorer = visus.Scorer((width, height))
    scorer.push(reference[0], reference[1])
    report = scorer.finish()
    assert scorer.finish() is report
    with pytest.raises(visus.RequestError, match="finished"):
        scorer.push(reference[0], reference[1])
    with pytest.raises(visus.VisusError, match="no pair"):
        visus.Scorer((width, height)).finish()
    closed = visus.Scorer((width, height))
    closed.close()
    with pytest.raises(visus.RequestError, match="finished"):
        closed.finish()


def test_scores_come_as_they_are_known(pictures: Pictures) -> None:
    (width, height), reference, distorted = pictures
    with visus.Scorer((width, height), metrics="psnr", threads=0) as scorer:
        for number, pair in enumerate(zip(reference, distorted)):
            scorer.push(*pair)
            known = scorer.scores()
            assert np.isfinite(known["psnr_y"][number])
            assert np.isfinite(known["vmaf_v0.6.1"][:number]).all()
        report = scorer.finish()
    assert np.array_equal(known["psnr_y"], report["psnr_y"])


def test_a_token_cancels_a_scorer(pictures: Pictures) -> None:
    (width, height), reference, distorted = pictures
    token = visus.Cancel()
    scorer = visus.Scorer((width, height), cancel=token)
    scorer.push(reference[0], distorted[0])
    token.cancel()
    with pytest.raises(visus.CancelledError):
        scorer.push(reference[1], distorted[1])
    with pytest.raises(visus.RequestError, match="ended with an error"):
        scorer.finish()


def test_two_threads_at_once(pictures: Pictures, expected: visus.Report) -> None:
    (width, height), reference, distorted = pictures
    format = visus.Format(width, height, "yuv420p", 25)
    reports: list[visus.Report] = []
    threads = [
        threading.Thread(target=lambda: reports.extend(pushed(format, reference, distorted, threads=2) for _ in range(3)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 6
    for report in reports:
        same(report, expected)


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_a_thousand_scorers_leave_nothing_behind() -> None:
    format = visus.Format(160, 96, "yuv420p")
    frames = [noise((96 * 3 // 2, 160), seed) for seed in range(2)]

    def many(count: int) -> None:
        for number in range(count):
            with visus.Scorer(format, threads=number % 3) as scorer:
                scorer.push(*frames, copy=number % 2 == 0)
                if number % 4:
                    scorer.finish()

    many(200)
    before = resident()
    many(1000)
    assert resident() - before < 8 << 20
