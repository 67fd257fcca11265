"""Clips for the tests, made by the command line and by ffmpeg, and the command line itself to compare with.

`VISUS_BIN` names the binary; `cargo xtask test` sets it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
VISUS = os.environ.get("VISUS_BIN", str(ROOT / "target/debug/visus"))


def visus(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    return subprocess.run([VISUS, *map(str, words)], capture_output=True, text=True, check=False)


def visus_json(*words: object) -> dict[str, Any]:
    done = visus("score", *words, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reference.y4m`, `distorted.y4m`, `master.mp4` and `encode.mp4`."""
    folder = tmp_path_factory.mktemp("clips")
    done = visus("demo", "--quiet", "--keep", folder)
    assert done.returncode == 0, done.stderr
    for name, source, crf in (("master", "reference", 8), ("encode", "reference", 36)):
        command = ["ffmpeg", "-v", "error", "-y", "-i", f"{source}.y4m", "-c:v", "libx264", "-preset", "veryfast"]
        subprocess.run([*command, "-crf", str(crf), f"{name}.mp4"], cwd=folder, check=True)
    return folder


def read_y4m(path: Path) -> tuple[dict[str, str], list[bytes]]:
    """The tags of the header, and the bytes of each frame."""
    data = path.read_bytes()
    end = data.index(b"\n")
    tags = {word[:1]: word[1:] for word in data[:end].decode().split()[1:]}
    size = int(tags["W"]) * int(tags["H"]) * 3 // 2
    frames, at = [], end + 1
    while at < len(data):
        at = data.index(b"\n", at) + 1
        frames.append(data[at : at + size])
        at += size
    return tags, frames


@pytest.fixture(scope="session")
def pictures(clips: Path) -> tuple[tuple[int, int], list[bytes], list[bytes]]:
    """Size and frames of the two Y4M files, packed 4:2:0 with 8 bits."""
    tags, reference = read_y4m(clips / "reference.y4m")
    _, distorted = read_y4m(clips / "distorted.y4m")
    return (int(tags["W"]), int(tags["H"])), reference[:8], distorted[:8]


def noise(shape: tuple[int, ...], seed: int, peak: int = 255) -> np.ndarray[Any, Any]:
    dtype = np.uint8 if peak < 256 else np.uint16
    return np.random.default_rng(seed).integers(0, peak + 1, shape).astype(dtype)
