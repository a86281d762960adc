import sys
from pathlib import Path

import pytest

from tilegen.toolchain import ToolchainMissing, doctor, nvrtc
from tilegen.toolchain.doctor import Status, examine


def test_findings_name_everything_and_say_what_to_do() -> None:
    findings = examine()
    assert [finding.name for finding in findings] == [
        *("python", "numpy", "ml_dtypes", "lark", "jinja2", "cupy"),
        *("nvrtc", "headers", "gpu", "nvcc", "nvdisasm", "cache"),
    ]
    for finding in findings:
        assert finding.detail
        assert bool(finding.help) is (finding.status is not Status.OK), finding
    by_name = {finding.name: finding for finding in findings}
    for needed in ("python", "numpy", "ml_dtypes", "lark", "jinja2", "cupy", "nvrtc", "headers"):
        assert by_name[needed].status is Status.OK, by_name[needed]
    assert "sm_90" in by_name["nvrtc"].detail


def test_a_missing_nvrtc_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> tuple[int, int]:
        raise ToolchainMissing("NVRTC cannot be loaded", "pip install it")

    monkeypatch.setattr(nvrtc, "nvrtc_version", missing)
    by_name = {finding.name: finding for finding in examine()}
    assert by_name["nvrtc"] == doctor.Examined(
        "nvrtc", Status.MISSING, "NVRTC cannot be loaded", "pip install it"
    )
    assert by_name["headers"].status is Status.MISSING


def test_an_unusable_cache_is_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(tmp_path / "file"))
    finding = examine()[-1]
    assert finding.status is Status.ABSENT and "TILEGEN_CACHE_DIR" in finding.help


def test_a_mistake_of_the_doctor_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "default_cache", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        examine()
    monkeypatch.undo()
    monkeypatch.setattr(nvrtc, "_nvrtc", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        examine()


def test_a_broken_package_and_compiler_are_findings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What others have installed may fail in any way."""
    (tmp_path / "lark.py").write_text("1 // 0\n")
    compiler = tmp_path / "nvcc"
    compiler.write_text("this is no program")
    compiler.chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "lark", raising=False)
    by_name = {finding.name: finding for finding in examine()}
    assert by_name["lark"].status is Status.MISSING and "ZeroDivisionError" in by_name["lark"].detail
    assert by_name["nvcc"].status is Status.ABSENT and "does not run" in by_name["nvcc"].detail
