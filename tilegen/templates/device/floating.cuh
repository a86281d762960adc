// Floating-point functions that CUDA has not.

//: float_floor_mod
// Remainder with the sign of the divisor, as Python's `%`.
template <typename T>
static __device__ __forceinline__ T float_floor_mod(T a, T b)
{
    const T remainder = fmod(a, b);
    return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : (remainder != 0 ? remainder : copysign(T(0), b));
}

//: float_floor_div
// Quotient rounded down, consistent with `%`, as NumPy's floor_divide.
template <typename T>
static __device__ __forceinline__ T float_floor_div(T a, T b)
{
    if (b == 0) {
        return a / b;
    }
    const T remainder = fmod(a, b);
    T quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign(T(0), a / b);
    }
    const T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
}

//: square
template <typename T>
static __device__ __forceinline__ T square(T x)
{
    return x * x;
}

//: is_nan
template <typename T>
static __device__ __forceinline__ bool is_nan(T x)
{
    return x != x;
}

//: is_inf
template <typename T>
static __device__ __forceinline__ bool is_inf(T x)
{
    return x == x && x - x != x - x;
}

//: sigmoid
template <typename T>
static __device__ __forceinline__ T sigmoid(T x)
{
    return T(1) / (T(1) + exp(-x));
}

//: relu
// max(x, 0); NaN stays NaN.
template <typename T>
static __device__ __forceinline__ T relu(T x)
{
    return x < 0 ? T(0) : x;
}

//: silu
// x * sigmoid(x).
template <typename T>
static __device__ __forceinline__ T silu(T x)
{
    return x / (T(1) + exp(-x));
}

//: gelu
// x * Phi(x); by erfc, which keeps its digits in the negative tail where 1 + erf cancels.
template <typename T>
static __device__ __forceinline__ T gelu(T x)
{
    return T(0.5) * x * erfc(T(-0.70710678118654752) * x);
}

//: gelu_float
// x * Phi(x) in some 23 instructions: max(x, 0) - u Phi(-u) with u = |x|. Phi(-u) is exp(-u^2 / 2), whose
// argument is kept in two parts, times t = 1 / (1 + 0.305 u) and a polynomial in it: a minimax fit to 1e-7. It works with
// w = u / 2. EXACT: the square of x has no more bits than a
// float, as that of a half or a bfloat16.
template <bool EXACT>
static __device__ __forceinline__ float gelu_float(float x)
{
    const float h = 0.5f * x, w = fminf(fabsf(h), 7.5f);
    float t, power;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(fmaf(w, 0.61f, 1.0f)));
    float fit = 0.0734531363f;
    fit = fmaf(fit, t, -0.306233713f);
    fit = fmaf(fit, t, 0.371942924f);
    fit = fmaf(fit, t, -0.0765058872f);
    fit = fmaf(fit, t, 0.242399081f);
    fit = fmaf(fit, t, 0.206704473f);
    fit = fmaf(fit, t, 0.244963558f);
    fit = fmaf(fit, t, 0.243276523f) * t;
    const float high = w * w;
    const float exponent = high * -2.88539f;
    float lost = fmaf(high, 2.88539f, exponent);
    lost = EXACT ? lost : fmaf(fmaf(w, w, -high), 2.88539f, lost);
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    power = fmaf(power, lost * -0.69314718f, power);
    // 2 max(x / 2, 0) as x / 2 + |x / 2|: like x * Phi(x), it is no number for -infinity.
    return fmaf(-w * fit, power, h + fabsf(h));
}

//: gelu_tanh
// 0.5 * x * (1 + tanh(u)) = x / (1 + exp(-2 u)), which neither overflows to NaN nor cancels.
template <typename T>
static __device__ __forceinline__ T gelu_tanh(T x)
{
    const T u = T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
    return x / (T(1) + exp(T(-2) * u));
}

//: Divisor; also divisor, quotient
// A divisor that many values share: its inverse, and a power of two that keeps the inverse in the range of a float.
struct Divisor {
    float inverse;
    float scale;
};
static __device__ __forceinline__ Divisor divisor(float value)
{
    const float size = fabsf(value);
    const float scale = size < 1e-36f ? 18446744073709551616.0f : (size > 1e36f ? 5.4210108624275222e-20f : 1.0f);
    return Divisor{1.0f / (value * scale), scale};
}
static __device__ __forceinline__ float quotient(float x, const Divisor& by)
{
    return x * by.inverse * by.scale;
}
