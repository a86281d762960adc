import subprocess
import sys

import pytest

from tilegen.target import TargetError, known_targets, target


@pytest.mark.parametrize("name", ["sm_90", "90", "9.0", "compute_90", " SM_90 "])
def test_spellings_of_one_target(name: str) -> None:
    assert target(name) == target("sm_90")
    assert target(name).capability == (9, 0)
    assert target(name).virtual == "compute_90"


def test_architecture_specific_variant_shares_the_limits() -> None:
    plain, specific = target("sm_90"), target("sm_90a")
    assert (specific.name, specific.virtual) == ("sm_90a", "compute_90a")
    assert specific.shared_bytes_opt_in == plain.shared_bytes_opt_in


def test_hopper_limits() -> None:
    hopper = target("sm_90")
    assert hopper.max_threads_per_block == 1024
    assert hopper.max_block == (1024, 1024, 64)
    assert hopper.max_grid == (2147483647, 65535, 65535)
    assert hopper.shared_bytes_default == 49152
    assert hopper.shared_bytes_opt_in == 232448
    assert hopper.shared_bytes_per_sm == 233472
    assert hopper.parameter_bytes == 32764
    assert hopper.max_threads_per_sm == 2048


def test_two_part_numbers() -> None:
    assert target("sm_120").capability == target("12.0").capability == (12, 0)


@pytest.mark.parametrize("entry", known_targets(), ids=str)
def test_table_is_consistent(entry: object) -> None:
    t = target(str(entry))
    assert t.shared_bytes_default <= t.shared_bytes_opt_in <= t.shared_bytes_per_sm
    if t.major >= 8:
        assert t.shared_bytes_opt_in == t.shared_bytes_per_sm - t.reserved_shared_bytes
    assert t.max_threads_per_sm >= t.max_threads_per_block


def test_unknown_targets_say_what_there_is() -> None:  # report O3
    with pytest.raises(
        TargetError, match=r"unknown target 'sm_999'; nearest is sm_121; known are sm_50, .*sm_121"
    ):
        target("sm_999")
    with pytest.raises(TargetError, match="nearest is sm_50"):
        target("sm_30")
    with pytest.raises(TargetError, match="nearest is sm_80"):
        target("sm_85")
    with pytest.raises(TargetError, match="'hopper' is not the name of a target"):
        target("hopper")
    with pytest.raises(TargetError, match="variants with 'a' begin at sm_90; write sm_80"):
        target("sm_80a")


def test_imports_nothing_of_cuda() -> None:
    code = "import sys, tilegen.target, tilegen.analysis.metrics; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
