"""TG09: what the environment lacks, and what cannot be read or written. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0900",
        "a command line that cannot be understood",
        "`tilegen COMMAND --help` shows what a command takes.",
        "tilegen emit transpose.tile  # without -o",
    ),
    Code(
        "TG0901",
        "something is not installed",
        "Compiling and simulating need NVRTC and its headers, launching needs a GPU and CuPy. `tilegen doctor` looks "
        "at all of it and says what to install.",
        "tilegen verify transpose.tile --on gpu  # on a machine without a GPU",
    ),
    Code(
        "TG0902",
        "a file or folder that cannot be written",
        "The folder for the output cannot be made or written.",
        "tilegen emit transpose.tile -o /proc/out",
    ),
    Code(
        "TG0903",
        "a file that tilegen did not write",
        "`tilegen emit` replaces files that it wrote itself, which their first line tells, and no others.",
        "tilegen emit transpose.tile -o src  # where transpose.cu was written by hand",
    ),
    Code(
        "TG0904",
        "an array file that cannot be read",
        "Inputs are `.npy` files as `numpy.save` writes them: one array, no pickled objects.",
        "tilegen run transpose.tile --input a=a.txt",
    ),
    Code(
        "TG0905",
        "a result that differs from the reference",
        "`tilegen run` compares what the kernel computed with NumPy's result. A difference beyond rounding is a bug in "
        "tilegen: please report it.",
        "tilegen run transpose.tile --input a=a.npy --output b=b.npy",
    ),
    Code(
        "TG0906",
        "not enough memory",
        "The arrays do not fit into memory. The simulator keeps several copies of each.",
        "tilegen run transpose.tile --set M=1000000,N=1000000",
    ),
    Code(
        "TG0990",
        "an internal error of tilegen",
        "A mistake in tilegen, not in the spec. A report with the spec and the message helps; TILEGEN_DEBUG=1 shows "
        "where it happened.",
        "TILEGEN_DEBUG=1 tilegen emit transpose.tile -o out",
    ),
)
