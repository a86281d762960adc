// What reductions combine by.

//: Sum
// Combines partial sums.
struct Sum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return static_cast<T>(a + b);
    }
};

//: Product
// Combines partial products.
struct Product {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return static_cast<T>(a * b);
    }
};

//: Maximum; needs maximum; sees maximum_float
// The larger one; NaN if either is NaN.
struct Maximum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return maximum(a, b);
    }
};

//: Minimum; needs minimum; sees minimum_float
// The smaller one; NaN if either is NaN.
struct Minimum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return minimum(a, b);
    }
};

//: Any
// Whether either holds.
struct Any {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return a || b;
    }
};

//: All
// Whether both hold.
struct All {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return a && b;
    }
};

//: Indexed; also NO_INDEX
// A value and where it was found.
template <typename T, typename I>
struct Indexed {
    T value;
    I index;
};
// No index of an element: greater than all of them, so that it never wins a tie.
template <typename I>
constexpr I NO_INDEX = static_cast<I>(~0ull >> (65 - 8 * sizeof(I)));

//: FirstGreatest; needs Indexed
// The larger value, the first of equal ones; NaN counts as the largest.
struct FirstGreatest {
    template <typename T, typename I>
    static __device__ __forceinline__ Indexed<T, I> of(const Indexed<T, I>& a, const Indexed<T, I>& b)
    {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        const bool tie = a.value == b.value || (a_nan && b_nan);
        const bool greater = b.value > a.value || (b_nan && !a_nan);
        return (tie ? b.index < a.index : greater) ? b : a;
    }
    // Takes in an element that comes after all earlier ones: only a greater one counts, or the first NaN.
    template <typename T, typename I>
    static __device__ __forceinline__ void take(Indexed<T, I>& best, T value, I index)
    {
        if (!(value <= best.value) && best.value == best.value) {
            best = Indexed<T, I>{value, index};
        }
    }
};

//: FirstLeast; needs Indexed
// The smaller value, the first of equal ones; NaN counts as the smallest.
struct FirstLeast {
    template <typename T, typename I>
    static __device__ __forceinline__ Indexed<T, I> of(const Indexed<T, I>& a, const Indexed<T, I>& b)
    {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        const bool tie = a.value == b.value || (a_nan && b_nan);
        const bool less = b.value < a.value || (b_nan && !a_nan);
        return (tie ? b.index < a.index : less) ? b : a;
    }
    // Takes in an element that comes after all earlier ones: only a smaller one counts, or the first NaN.
    template <typename T, typename I>
    static __device__ __forceinline__ void take(Indexed<T, I>& best, T value, I index)
    {
        if (!(value >= best.value) && best.value == best.value) {
            best = Indexed<T, I>{value, index};
        }
    }
};
