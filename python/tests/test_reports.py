"""Reports: tables, texts, pictures, and reports from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import visus
from conftest import visus as run_visus


@pytest.fixture(scope="module")
def report(clips: Path) -> visus.Report:
    return visus.score(clips / "reference.y4m", clips / "distorted.y4m", metrics=["psnr"], frames=12)


def test_tables(report: visus.Report) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = report.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table.index.name == "frame"
    assert list(table.columns) == report.columns and len(table) == 12
    assert np.array_equal(table["vmaf_v0.6.1"].to_numpy(), report["vmaf_v0.6.1"])
    arrow = report.to_arrow()
    assert isinstance(arrow, pyarrow.Table) and arrow.column_names == ["frame", *report.columns]
    assert np.array_equal(arrow["psnr_y"].to_numpy(), report["psnr_y"])


def test_what_notebooks_show(report: visus.Report) -> None:
    shown = report._repr_html_()
    assert "data:image/svg+xml;base64," in shown and "vmaf_v0.6.1" in shown and "<script" not in shown
    assert f"{report.score:.4f}" in shown
    assert repr(report) == f"<visus.Report vmaf_v0.6.1 {report.score:.2f}, 12 frames>"


def test_columns(report: visus.Report) -> None:
    assert "psnr_y" in report and "bogus" not in report and list(report) == report.columns
    with pytest.raises(KeyError, match="psnr_y"):
        report["bogus"]
    with pytest.raises(ValueError):
        report["psnr_y"][0] = 1.0


def test_files_and_back(report: visus.Report, tmp_path: Path) -> None:
    for name, start in [("a.json", b"{"), ("a.html", b"<!doctype"), ("a.svg", b"<svg"), ("a.png", b"\x89PNG")]:
        report.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(visus.RequestError):
        report.save(tmp_path / "a.txt")
    again = visus.read_report(tmp_path / "a.json")
    assert again.json() == report.json() and again.pooled == report.pooled and again.name == report.name
    for name in report.columns:
        assert np.array_equal(again[name], report[name])
    assert visus.read_report(json.loads(report.json())).score == report.score


def test_reports_of_libvmaf(clips: Path, tmp_path: Path) -> None:
    log = tmp_path / "libvmaf.json"
    log.write_text(
        '{"version": "3.2.0", "fps": 1.0, "frames": [{"frameNum": 0, "metrics": {"integer_vif_scale0": 0.5, "vmaf": 90.0}},'
        '{"frameNum": 2, "metrics": {"vmaf": 92.0}}], "pooled_metrics": {"vmaf": {"min": 90.0, "max": 92.0, "mean": 91.0,'
        '"harmonic_mean": 90.98}}, "aggregate_metrics": {}}'
    )
    report = visus.read_report(log)
    assert report.name == "vmaf" and report.score == 91.0 and report.frames.tolist() == [0, 2]
    assert np.isnan(report["integer_vif_scale0"][1]) and report.comparable is None and report.notes == []
    assert "vmaf" in report._repr_html_()


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    for path in (tmp_path / "a.json", tmp_path / "gone.json"):
        with pytest.raises(visus.VideoError, match=path.name):
            visus.read_report(path)


def test_differences_are_those_of_the_command_line(report: visus.Report, clips: Path, tmp_path: Path) -> None:
    other = visus.score(clips / "reference.y4m", clips / "distorted.y4m", models="v0.6.1neg", frames=12)
    paths = tmp_path / "a.json", tmp_path / "b.json"
    report.save(paths[0])
    other.save(paths[1])
    found = visus.diff(report, other)
    said = run_visus("diff", *paths)
    assert said.stdout == f"a: {paths[0]}\nb: {paths[1]}\n{found}"
    assert found == json.loads(run_visus("diff", *paths, "--json").stdout)
    assert visus.diff(*paths) == found and found.models[0]["mean_a"] == report.score
    assert "<pre>" in found._repr_html_()
    with pytest.raises(AttributeError, match="models"):
        found.bogus  # noqa: B018


def test_what_is_built_in() -> None:
    assert "vmaf_v0.6.1" in [model["version"] for model in visus.models()]
    assert {"psnr", "vif", "cambi"} <= {metric["name"] for metric in visus.metrics()}
    assert visus.cpu_level() in ("scalar", "avx2", "avx512", "neon")
    assert run_visus("--version").stdout.split() == ["visus", visus.__version__]


def test_everything_public_is_documented_and_described() -> None:
    for name in visus.__all__:
        assert getattr(visus, name).__doc__, name
    package = Path(visus.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_visus.pyi").read_text()
    native = [name for name in dir(visus._visus) if not name.startswith("_")]
    assert native and all(f"def {name}(" in stub or f"class {name}:" in stub or f"{name}:" in stub for name in native)
