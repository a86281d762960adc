// What a boundary mode makes of an index.

//: inside
// Whether an index is one of the tensor's.
template <typename T>
static __device__ __forceinline__ bool inside(T index, T extent)
{
    return index >= 0 && index < extent;
}

//: edge
// The nearest index inside: a a | a b c | c c.
template <typename T>
static __device__ __forceinline__ T edge(T index, T extent)
{
    return index < 0 ? T(0) : (index < extent ? index : extent - 1);
}

//: wrap; needs floor_mod
// Periodic: b c | a b c | a b.
template <typename T>
static __device__ __forceinline__ T wrap(T index, T extent)
{
    return floor_mod(index, extent);
}

//: Unsigned
// The unsigned type of the width of an index, which holds twice an extent.
template <typename T>
struct Unsigned {
    typedef unsigned long long type;
};
template <>
struct Unsigned<int> {
    typedef unsigned type;
};

//: symmetric; needs Unsigned
// Mirrored with the edge repeated: b a | a b c | c b.
template <typename T>
static __device__ __forceinline__ T symmetric(T index, T extent)
{
    typedef typename Unsigned<T>::type U;
    const U period = 2 * static_cast<U>(extent);
    const U folded = (index < 0 ? static_cast<U>(~index) : static_cast<U>(index)) % period;
    return static_cast<T>(folded < static_cast<U>(extent) ? folded : period - 1 - folded);
}

//: reflect; needs Unsigned
// Mirrored about the edge: c b | a b c | b a.
template <typename T>
static __device__ __forceinline__ T reflect(T index, T extent)
{
    typedef typename Unsigned<T>::type U;
    const U period = extent > 1 ? 2 * static_cast<U>(extent) - 2 : 1;
    const U folded = (index < 0 ? U(0) - static_cast<U>(index) : static_cast<U>(index)) % period;
    return static_cast<T>(folded < static_cast<U>(extent) ? folded : period - folded);
}
