// Maxima and minima in which NaN wins.

//: maximum
// The larger one; NaN if either is NaN.
template <typename T>
static __device__ __forceinline__ T maximum(T a, T b)
{
    return (a > b || a != a) ? a : b;
}

//: maximum_float; needs maximum
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction for floats.
static __device__ __forceinline__ float maximum(float a, float b)
{
    float greater;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
    return greater;
}
#endif

//: minimum
// The smaller one; NaN if either is NaN.
template <typename T>
static __device__ __forceinline__ T minimum(T a, T b)
{
    return (a < b || a != a) ? a : b;
}

//: minimum_float; needs minimum
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction for floats.
static __device__ __forceinline__ float minimum(float a, float b)
{
    float less;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(less) : "f"(a), "f"(b));
    return less;
}
#endif

//: clip; needs minimum, maximum
template <typename T>
static __device__ __forceinline__ T clip(T x, T low, T high)
{
    return minimum(maximum(x, low), high);
}
