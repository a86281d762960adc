"""TG01: text that cannot be read or parsed. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0101",
        "a file cannot be read",
        "The path names no file that can be opened: it does not exist, is a directory (or one without .tile "
        "files), or its permissions forbid reading.",
        "tilegen check no_such.tile",
    ),
    Code(
        "TG0102",
        "a file is not UTF-8",
        "A spec is UTF-8 text, with or without a byte order mark. The byte named is the first one that is not.",
        "# a comment saved as Latin-1: caf\\xE9",
    ),
    Code(
        "TG0103",
        "a file is not text",
        "The file holds a NUL byte, which no text has: most likely it is an array, an archive or a program.",
        "tilegen check a.npy",
    ),
    Code(
        "TG0104",
        "a file is too large",
        "A spec has at most 1 MiB. A file of that size is no page of index notation; the limit keeps reading fast.",
        "tilegen check weights.bin",
    ),
    Code(
        "TG0105",
        "no kernel",
        "A spec holds at least one kernel. A file that is empty or has comments alone is most likely the wrong one.",
        "# nothing but this comment",
    ),
    Code(
        "TG0110",
        "a character that the language does not have",
        "Outside comments a spec is ASCII: names are letters, digits and `_`, operators those of Python. Characters "
        "that merely look like them (×, ≤, a minus sign, curly quotes, a no-break space) come from word processors "
        "and web pages.",
        "y[i] = 2 × x[i]",
    ),
    Code(
        "TG0111",
        "a number that is written wrongly",
        "Integers are decimal, without a leading 0, and may hold `_`; floats have digits on both sides of the point; "
        "sizes in bytes end with B, KiB, MiB or GiB. Literals have no suffix: they take the other operand's type.",
        "y[i] = .5 * x[i]",
    ),
    Code(
        "TG0112",
        "a number that is too large",
        "Integers fit in 64 bits, floats in f64.",
        "y[i] = x[i] + 99999999999999999999",
    ),
    Code(
        "TG0113",
        "a name that is too long",
        "Names have at most 200 characters, so that the emitted code stays within the limits of every compiler.",
        "kernel " + "a" * 210 + "(N) { … }",
    ),
    Code(
        "TG0114",
        "an operator of another language",
        "The operators are Python's for numbers and conditions: `and`, `or`, `not`, `**`. There are no strings, no "
        "bitwise operators and no assignments that update.",
        "y[i] = where(x[i] > 0 && i > 0, 1, 0)",
    ),
    Code(
        "TG0120",
        "something else was expected",
        "The text up to here can be read, but not this. The message says what can stand here.",
        "kernel f { in x: f32[N] }",
    ),
    Code(
        "TG0121",
        "a statement ends too early",
        "A statement ends at a newline, at `;` and at the brace that closes its block. It goes on at a newline inside "
        "`( )` and `[ ]` and after an operator or a comma.",
        "y[i] =",
    ),
    Code(
        "TG0122",
        "brackets that do not match",
        "Each `(`, `[` and `{` is closed by its counterpart, the innermost first.",
        "y[i] = (x[i] + 1",
    ),
    Code(
        "TG0123",
        "a block that is not closed",
        "The braces of a kernel or a schedule are still open where something starts that cannot stand in them, or at "
        "the end of the file.",
        "schedule tiled { tile i = 32, j = 32\ntest M = 33, N = 65",
    ),
    Code(
        "TG0124",
        "no statement starts like this",
        "A file holds kernels. A kernel holds declarations of tensors (`in`, `out`, `inout`), `let`, assignments, "
        "`schedule`, `test` and `expect`.",
        "x: f32[N]",
    ),
    Code(
        "TG0125",
        "an unknown directive",
        "A schedule holds directives, each of which starts with its name.",
        "schedule tiled { tiles i = 32 }",
    ),
    Code(
        "TG0126",
        "an unknown clause",
        "Behind a tensor stand layout clauses, behind the sizes of a test its clauses, behind the tensors of `stage` "
        "its options; each starts with its name.",
        "in x: f32[N] boundry edge",
    ),
    Code(
        "TG0127",
        "chained comparisons",
        "A comparison has two sides. Python's `a < b < c` is written `a < b and b < c`.",
        "y[i] = where(0 < i < N - 1, x[i], 0)",
    ),
    Code(
        "TG0128",
        "`=` and `==` mixed up",
        "`=` assigns in statements, directives and tests; `==` compares in expressions and expectations.",
        "expect padded: bank_conflicts = 0",
    ),
    Code(
        "TG0129",
        "a comma or a colon is missing",
        "The parts of a list are separated by commas; a name and its type, and a schedule and what is expected of it, "
        "by a colon.",
        "test M = 33 N = 65",
    ),
    Code(
        "TG0130",
        "a construct of another language",
        "A spec says what every element is, and nothing about the order: it has no loops, conditional statements, "
        "slices, calls for their effect or returns. Axes take ranges, choices are `where`.",
        "for i in range(N): y[i] = x[i]",
    ),
    Code(
        "TG0131",
        "a second pair of brackets",
        "All indices of a tensor stand in one pair of brackets.",
        "b[i][j] = a[j][i]",
    ),
    Code(
        "TG0140",
        "brackets nested too deeply",
        "At most 100 brackets are open at once.",
        "y[i] = ((((… x[i] …))))",
    ),
    Code(
        "TG0141",
        "an expression that is too deep",
        "At most 150 operations lie on a path from an expression to one of its operands. A sum of n terms is n - 1 "
        "operations deep: write it as a reduction, or name parts of it with `let`.",
        "y[i] = x[i] + x[i] + … + x[i]",
    ),
    Code(
        "TG0142",
        "a spec that is too long",
        "A file has at most 60000 names, numbers and operators.",
        "a file of 3000 kernels",
    ),
    Code(
        "TG0150",
        "a reduction without axes",
        "The brackets of a reduction hold the axes that it reduces over, each with a range where no tensor gives it "
        "one.",
        "s = sum[i + 1](x[i])",
    ),
    Code(
        "TG0151",
        "a range in an index",
        "An index is an expression. The range of an axis stands behind its statement (`for i in 1..N`) or in a "
        "reduction.",
        "y[i in 1..N] = x[i]",
    ),
    Code(
        "TG0152",
        "an option that is given twice",
        "Each option of `stage` stands once; several values to choose from are a set, `pad {0, 1}`.",
        "stage a pad 0 pad 1",
    ),
)
