"""`tilegen run` and `tilegen verify`: tables, arrays from files, where it ran, exit codes."""

from __future__ import annotations

import numpy as np
import pytest

STRUCTS = """
kernel split(P) {
    in p: struct { x: f32, y: i32 }[P]
    out q: struct { x: f32, y: i32 }[P] soa
    q[i] = p[i]
}
"""


@pytest.fixture
def array(tmp_path):
    a = np.arange(33 * 65, dtype="f4").reshape(33, 65)
    np.save(tmp_path / "a.npy", a)
    return a


def test_a_spec_runs_its_tests(tilegen, spec) -> None:
    outcome = tilegen("run", spec)
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0].startswith("transpose on the simulator, sm_") and "M = 33, N = 65" in lines[0]
    assert lines[1].split("  ")[0] == "schedule" and lines[1].endswith("verdict")
    assert [line.split()[:3] for line in lines[3:6]] == [
        ["tiled", "f32", "1/1"],
        ["padded", "f32", "1/1"],
        ["auto", "f32", "2/2"],
    ]
    assert "1 of 1 expectations hold" in outcome.out


def test_verify_has_the_awkward_shapes_too(tilegen, spec) -> None:
    outcome = tilegen("verify", spec, "--schedule", "padded", "--type", "T=f32", "--json")
    (report,) = outcome.json["files"][0]["reports"]
    assert outcome.code == 0 and report["passed"]
    (row,) = report["schedules"]
    assert row["schedule"] == "padded" and row["passed"] == row["tried"] > 10
    assert row["metrics"]["bank_conflicts"] == 0


def test_a_failed_expectation_is_1(tilegen, spec) -> None:
    spec.write_text(spec.read_text().replace("expect padded:", "expect tiled:"))
    for command in ("run", "verify"):
        outcome = tilegen(command, spec, "--type", "T=f32")
        assert outcome.code == 1
        assert "FAIL expect tiled: bank_conflicts == 0" in outcome.out
        assert "at M = 64, N = 64; expected bank_conflicts == 0" in outcome.out


def test_a_kernel_that_cannot_be_generated_yet_says_so(tilegen, tmp_path) -> None:
    path = tmp_path / "vector.tile"
    path.write_text(
        "kernel f(M, N) { in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]\n"
        "schedule wide { tile i = 32, j = 32; stage a; vector 8 }\ntest M = 3, N = 3 }"
    )
    outcome = tilegen("verify", path)
    assert outcome.code == 1
    assert "not generated" in outcome.out and "error[TG06" in outcome.out


def test_verify_of_a_folder(tilegen, tmp_path, spec, faulty) -> None:
    outcome = tilegen("verify", tmp_path, "--shapes", "spec", "--json")
    assert outcome.code == 1
    assert [f["passed"] for f in outcome.json["files"]] == [True]
    assert outcome.json["diagnostics"]


def test_a_spec_without_tests_shows_metrics_all_the_same(tilegen, tmp_path) -> None:
    path = tmp_path / "copy.tile"
    path.write_text("kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }")
    outcome = tilegen("run", path, "--json")
    (row,) = outcome.json["reports"][0]["schedules"]
    assert row["tried"] > 5 and row["metrics"]["load_efficiency"] > 0


def test_arrays_from_files(tilegen, tmp_path, spec, array) -> None:
    outcome = tilegen(
        "run", spec, "--input", f"a={tmp_path / 'a.npy'}", "--output", f"b={tmp_path / 'b.npy'}"
    )
    assert outcome.code == 0, outcome
    assert "transpose under schedule tiled on the simulator (sm_" in outcome.out
    assert "equals the NumPy reference, bit for bit" in outcome.out
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), array.T)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "u1"])
def test_files_of_any_order_and_byte_order(order, dtype, tilegen, tmp_path, spec, array) -> None:
    np.save(tmp_path / "x.npy", np.asarray(array.astype(dtype), order=order))
    outcome = tilegen(
        "run", spec, "-i", f"a={tmp_path / 'x.npy'}", "-o", f"b={tmp_path / 'b.npy'}", "-s", "auto", "--json"
    )
    assert outcome.code == 0, outcome
    assert outcome.json["sizes"] == {"M": 33, "N": 65} and outcome.json["on"] == "sim"
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), array.astype(dtype).T)


def test_sizes_scalars_and_structs(tilegen, tmp_path) -> None:
    path = tmp_path / "f.tile"
    path.write_text(
        "kernel f(N, S, k: f32 = 1.0) { in x: bf16[S * N]; out y: f32[N]; y[i] = f32(x[S * i]) * k }\n"
        + STRUCTS
    )
    import ml_dtypes

    np.save(tmp_path / "x.npy", np.arange(12).astype(ml_dtypes.bfloat16))
    np.save(tmp_path / "px.npy", np.arange(3, dtype="f4"))
    np.save(tmp_path / "py.npy", np.arange(3, dtype="i4") * 2)
    out = tmp_path / "out.npy"
    outcome = tilegen(
        "run", path, "-k", "f", "-i", f"x={tmp_path / 'x.npy'}", "--set", "S=4,k=0.5", "-o", f"y={out}"
    )
    assert outcome.code == 0, outcome
    assert np.load(out).tolist() == [0, 2, 4]
    fields = [f"p.x={tmp_path / 'px.npy'}", "-i", f"p.y={tmp_path / 'py.npy'}"]
    outcome = tilegen("run", path, "-k", "split", "-i", *fields, "-o", f"q={out}")
    assert outcome.code == 0, outcome
    assert np.load(out)["y"].tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["-i", "a={}/none.npy"], "TG0904", "No such file"),
        (["-i", "a={}"], "TG0904", "Is a directory"),
        (["-i", "a={}/transpose.tile"], "TG0904", "no .npy file"),
        (["-i", "a={}/cut.npy"], "TG0904", "damaged"),
        (["-i", "a={}/objects.npy"], "TG0904", "Python objects"),
        (["-i", "a={}/two.npz"], "TG0904", "archive"),
        (["-i", "A={}/a.npy"], "TG0810", "no input 'A'"),
        (["-i", "b={}/a.npy"], "TG0810", "no input 'b'"),
        (["-i", "a={}/a.npy", "-o", "a=x.npy"], "TG0810", "no output 'a'"),
        (["-i", "a={}/a.npy", "-o", "b={}/none/x.npy"], "TG0902", "cannot write"),
        (["-i", "a={}/a.npy", "--set", "M=32"], "TG0812", "M = 32"),
        (["-i", "a={}/a.npy", "--set", "M=-1"], "TG0812", "0 or more"),
        (["-i", "a={}/f8.npy"], "TG0811", "holds f64"),
        (["-i", "a={}/flat.npy"], "TG0812", "rank 2"),
        (["-i", "a={}/a.npy", "-t", "T=u8"], "TG0811", "holds f32"),
        (["-o", "b=x.npy"], "TG0810", "needs `a`"),
    ],
)
def test_mistakes_are_told(arguments, code, text, tilegen, tmp_path, spec, array) -> None:
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:200])
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "two.npz", a=array)
    np.save(tmp_path / "f8.npy", array.astype("f8"))
    np.save(tmp_path / "flat.npy", array.ravel())
    outcome = tilegen("run", spec, *(a.format(tmp_path) for a in arguments))
    assert outcome.code == (2 if code in ("TG0810", "TG0902") else 1), outcome
    assert f"error[{code}]" in outcome.err and text in outcome.err and "help: " in outcome.err
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_gpu_that_is_not_there_is_3(tilegen, tmp_path, spec, array, monkeypatch) -> None:
    from tilegen.toolchain import ToolchainMissing

    def none() -> None:
        raise ToolchainMissing("launching needs an NVIDIA GPU", "run on a machine with one")

    monkeypatch.setattr("tilegen.run.launch.gpu", none)
    monkeypatch.setattr("tilegen.run.gpu.gpu", none)
    for arguments in (["verify"], ["run"], ["run", "-i", f"a={tmp_path / 'a.npy'}"]):
        outcome = tilegen(arguments[0], spec, *arguments[1:], "--on", "gpu")
        assert outcome.code == 3, arguments
        assert "error[TG0901]" in outcome.err and "help: run on a machine" in outcome.err
        assert tilegen(arguments[0], spec, *arguments[1:], "--on", "gpu", "--json").json["exit_code"] == 3


def test_a_result_that_is_wrong_is_1_and_not_written(tilegen, tmp_path, spec, array, monkeypatch) -> None:
    import dataclasses

    from tilegen.run import simulated

    right = simulated.simulate_program

    def wrong(*arguments, **options):
        run = right(*arguments, **options)
        return dataclasses.replace(run, outputs={name: value + 1 for name, value in run.outputs.items()})

    monkeypatch.setattr("tilegen.run.simulated.simulate_program", wrong)
    outcome = tilegen("run", spec, "-i", f"a={tmp_path / 'a.npy'}", "-o", f"b={tmp_path / 'b.npy'}")
    assert outcome.code == 1
    assert "error[TG0905]" in outcome.err and "bug in tilegen" in outcome.err
    assert not (tmp_path / "b.npy").exists()
