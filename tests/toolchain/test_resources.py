from tilegen.toolchain.compiler import Resources, parse_resources, without_times
from tilegen.toolchain.nvrtc import whole_elf

# Two kernels and a function that was not inlined, in the words of CUDA 11, 12 and 13's ptxas.
LOG = """ptxas info    : 28 bytes gmem, 400 bytes cmem[3]
ptxas info    : Compiling entry function '_Z1ai' for 'sm_90'
ptxas info    : Function properties for _Z1ai
    56 bytes stack frame, 64 bytes spill stores, 68 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 2 barriers, 56 bytes cumulative stack size, 144+16 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 12.097 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""  # noqa: E501


def test_report_of_ptxas() -> None:
    assert parse_resources(LOG) == {
        "_Z1ai": Resources(64, 64, 68, 56, 144, 384, 2),
        "k": Resources(8),
    }


def test_times_are_dropped() -> None:
    assert "Compile time" not in without_times(LOG)
    assert parse_resources(without_times(LOG)) == parse_resources(LOG)
    assert parse_resources("") == {}


def test_the_byte_that_cupy_cuts_off() -> None:
    # Program headers end the file: 64 bytes of ELF header, then 2 x 56.
    header = bytearray(64)
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (56).to_bytes(2, "little") + (2).to_bytes(2, "little")
    whole = bytes(header) + bytes(112)
    assert whole_elf(whole[:-1]) == whole
    assert whole_elf(whole) == whole
