// Integer arithmetic.

//: Bits
// The unsigned type of at least 32 bits in which arithmetic on T wraps.
template <bool LONG>
struct Bits {
    typedef unsigned type;
};
template <>
struct Bits<true> {
    typedef unsigned long long type;
};

//: floor_div
// Integer division rounded down, as Python's `//`, for divisors other than 0 and -1. (`< 1` is `< 0`, for unsigned types too.)
template <typename T>
static __device__ __forceinline__ T floor_div(T a, T b)
{
    const T quotient = static_cast<T>(a / b);
    if (T(-1) > T(0)) {
        return quotient;
    }
    return static_cast<T>(quotient - ((a % b != 0 && (a < 1) != (b < 1)) ? 1 : 0));
}

//: floor_mod
// Remainder with the sign of the divisor, as Python's `%`, for divisors other than 0 and -1.
template <typename T>
static __device__ __forceinline__ T floor_mod(T a, T b)
{
    const T remainder = static_cast<T>(a % b);
    if (T(-1) > T(0)) {
        return remainder;
    }
    return static_cast<T>((remainder != 0 && (remainder < 1) != (b < 1)) ? remainder + b : remainder);
}

//: defined_floor_div; needs floor_div, Bits
// The same for every divisor: 0 gives 0, and the least number divided by -1 is itself.
template <typename T>
static __device__ __forceinline__ T defined_floor_div(T a, T b)
{
    typedef typename Bits<sizeof(T) == 8>::type U;
    const bool opposite = T(-1) < T(1) && b == T(-1);
    const T quotient = floor_div<T>(a, (b == 0 || opposite) ? T(1) : b);
    return b == 0 ? T(0) : opposite ? static_cast<T>(U(0) - static_cast<U>(a)) : quotient;
}

//: defined_floor_mod; needs floor_mod
// The same for every divisor: 0 and -1 give 0.
template <typename T>
static __device__ __forceinline__ T defined_floor_mod(T a, T b)
{
    return floor_mod<T>(a, (b == 0 || (T(-1) < T(1) && b == T(-1))) ? T(1) : b);
}

//: integer_power; needs Bits
// By repeated squaring, wrapping; a negative exponent gives 1 / base ** -exponent rounded towards zero, 0 for a base of 0.
template <typename T>
static __device__ __forceinline__ T integer_power(T base, T exponent)
{
    typedef typename Bits<sizeof(T) == 8>::type U;
    const bool negative = exponent < T(1) && exponent != 0, unit = base == T(1) || base == T(-1);
    U power = 1, square = static_cast<U>(base);
    // Of a base of 1 or -1 the exponent's parity is all that counts, and two's complement keeps it.
    U left = negative ? (unit ? static_cast<U>(exponent) & 1 : 0) : static_cast<U>(exponent);
    for (; left != 0; left >>= 1) {
        power *= (left & 1) != 0 ? square : 1;
        square *= square;
    }
    return negative && !unit ? T(0) : static_cast<T>(power);
}

//: absolute; needs Bits
// The least number has no opposite: it stays as it is.
template <typename T>
static __device__ __forceinline__ T absolute(T x)
{
    typedef typename Bits<sizeof(T) == 8>::type U;
    return x < T(1) ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
}

//: truncated
// A float as an integer: towards zero, at most to the limits of T; 0 for NaN. The conversions to 32 and 64 bits saturate by
// themselves (PTX ISA, `cvt`); they give 0 for NaN only from 32 to 32 bits.
template <typename T>
static __device__ __forceinline__ T truncated(float x)
{
    const bool is_signed = T(-1) < T(1);
    if (sizeof(T) == 8) {
        const T whole = is_signed ? static_cast<T>(__float2ll_rz(x)) : static_cast<T>(__float2ull_rz(x));
        return x == x ? whole : T(0);
    }
    if (sizeof(T) == 4) {
        return is_signed ? static_cast<T>(__float2int_rz(x)) : static_cast<T>(__float2uint_rz(x));
    }
    const int greatest = (sizeof(T) == 1 ? 255 : 65535) >> (is_signed ? 1 : 0);
    return static_cast<T>(max(is_signed ? -greatest - 1 : 0, min(__float2int_rz(x), greatest)));
}
template <typename T>
static __device__ __forceinline__ T truncated(double x)
{
    const bool is_signed = T(-1) < T(1);
    if (sizeof(T) == 8) {
        const T whole = is_signed ? static_cast<T>(__double2ll_rz(x)) : static_cast<T>(__double2ull_rz(x));
        return x == x ? whole : T(0);
    }
    if (sizeof(T) == 4) {
        const T whole = is_signed ? static_cast<T>(__double2int_rz(x)) : static_cast<T>(__double2uint_rz(x));
        return x == x ? whole : T(0);
    }
    const int greatest = (sizeof(T) == 1 ? 255 : 65535) >> (is_signed ? 1 : 0);
    const int whole = max(is_signed ? -greatest - 1 : 0, min(__double2int_rz(x), greatest));
    return x == x ? static_cast<T>(whole) : T(0);
}

//: same
template <typename T>
static __device__ __forceinline__ T same(T x)
{
    return x;
}

//: sign
// -1, 0 or 1; NaN stays NaN.
template <typename T>
static __device__ __forceinline__ T sign(T x)
{
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
}
