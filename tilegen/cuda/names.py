"""C identifiers for the names of a spec: any name is allowed there; what C++ or CUDA reserves gets an underscore."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CPP = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if import inline int long
module mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
xor_eq restrict final override main std NULL INFINITY NAN assert errno linux unix signbit"""
_CUDA = """threadIdx blockIdx blockDim gridDim warpSize dim3 cudaStream_t cudaError_t abs acos acosh asin asinh atan
atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp
ilogb isfinite isinf isnan ldexp lgamma log log10 log1p log2 logb max min modf pow remainder rint round
rsqrt sin sinh sqrt tan tanh tgamma trunc half nv_bfloat16 clock printf malloc free memcpy memset float2
float4 double2 int2 int4 uint2 uint4 rhypot norm sincos index_t lane step tid shared stream device error
grid blocks I"""
# Helpers of templates/helpers.j2 and collectives.j2, which generated code calls by name.
_HELPERS = """floor_div floor_mod float_floor_mod float_floor_div integer_power square absolute same sign maximum
minimum clip is_nan is_inf sigmoid relu silu gelu gelu_float gelu_tanh inside edge wrap symmetric reflect
load_streaming load_readonly evict_last to_sector bf16_lane store_streaming transpose_bytes byte_of add_at
Sum Product Maximum Minimum Any All Indexed FirstGreatest FirstLeast exchange across_lanes
exchange_indexed NO_INDEX Divisor divisor quotient store_remote cluster_arrive cluster_wait
from_lane from_below lanes_before look_back look_back_column PackedStates SeparateStates"""
RESERVED = frozenset((_CPP + " " + _CUDA + " " + _HELPERS).split())


# Struct types of vectors, see `c_types.vector_name`.
_VECTOR_NAME = re.compile(r"(bool|[iufc]\d+|bf16|f8e\dm\d)x\d+(_align\d+)?")


class Names:
    """Hands out C identifiers: a wanted name, with underscores appended until nothing else has it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(RESERVED) | set(taken)
        self._given: dict[str, str] = {}

    def user(self, key: str, wanted: str | None = None) -> str:
        """The identifier for `key`, the same one at each call."""
        if key not in self._given:
            name = wanted if wanted is not None else key
            if _VECTOR_NAME.fullmatch(name):
                name += "_"
            if name.startswith("__") or (name.startswith("_") and name[1:2].isupper()) or "__" in name:
                name = "n" + name.replace("__", "_")
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._given[key] = name
        return self._given[key]

    def give(self, key: str, text: str) -> None:
        """Let `key` print as `text`, which need not be an identifier."""
        self._given[key] = text

    def __len__(self) -> int:
        return len(self._given)


def member_name(name: str) -> str:
    """C name of a struct member."""
    return Names().user(name)


def kernel_identifier(name: str) -> str:
    """A kernel's name as a C identifier."""
    return Names().user(name)
