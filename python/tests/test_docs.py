"""Every snippet of docs/python.md, run in order as in a notebook; where the page shows an output, that is what is printed."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

PAGE = ROOT / "docs/python.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[str, str | None]]:
    """Each piece of code, and the output that stands behind it."""
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    found: list[tuple[str, str | None]] = []
    for kind, text in blocks:
        if kind == "python":
            found.append((text, None))
        elif kind == "text" and found:
            found[-1] = (found[-1][0], text)
    return found


def test_the_page_has_snippets() -> None:
    assert len(snippets()) > 10 and any(output for _, output in snippets())


def test_every_snippet_runs_and_prints_what_the_page_says(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("reference.y4m", "distorted.y4m", "master.mp4", "encode.mp4"):
        shutil.copy(clips / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VISUS_CACHE_DIR", str(tmp_path / "cache"))
    space: dict[str, Any] = {"__name__": "__main__"}
    for number, (code, expected) in enumerate(snippets()):
        if "import av" in code:
            pytest.importorskip("av")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{PAGE.name}, snippet {number + 1}", "exec"), space)
        if expected is not None:
            assert printed.getvalue().rstrip() == expected.rstrip(), f"snippet {number + 1}:\n{code}"
