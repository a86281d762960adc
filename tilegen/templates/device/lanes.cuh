// How lanes of a warp put together what each has.

//: exchange
// The value of the lane whose number differs in `bit`.
template <typename T>
static __device__ __forceinline__ T exchange(T value, int bit)
{
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, value, bit));
}

//: exchange_indexed; needs Indexed, exchange
template <typename T, typename I>
static __device__ __forceinline__ Indexed<T, I> exchange(const Indexed<T, I>& found, int bit)
{
    return Indexed<T, I>{exchange(found.value, bit), exchange(found.index, bit)};
}

//: across_lanes; needs exchange
// Combines the values of each group of LANES neighbouring lanes, all of the warp taking part; a butterfly, so that every
// lane gets the same bits.
template <typename Operator, int LANES, typename T>
static __device__ __forceinline__ T across_lanes(T value)
{
#pragma unroll
    for (int bit = LANES / 2; bit > 0; bit /= 2) {
        value = Operator::of(value, exchange(value, bit));
    }
    return value;
}

//: from_lane
// The value that another lane has, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_lane(T value, int lane)
{
    return static_cast<T>(__shfl_sync(0xffffffffu, value, lane, LANES));
}

//: from_lane_indexed; needs Indexed, from_lane
template <int LANES, typename T, typename I>
static __device__ __forceinline__ Indexed<T, I> from_lane(const Indexed<T, I>& found, int lane)
{
    return Indexed<T, I>{from_lane<LANES>(found.value, lane), from_lane<LANES>(found.index, lane)};
}

//: from_below
// The value of the lane that many places before, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_below(T value, int distance)
{
    return static_cast<T>(__shfl_up_sync(0xffffffffu, value, distance, LANES));
}

//: from_below_indexed; needs Indexed, from_below
template <int LANES, typename T, typename I>
static __device__ __forceinline__ Indexed<T, I> from_below(const Indexed<T, I>& found, int distance)
{
    return Indexed<T, I>{from_below<LANES>(found.value, distance), from_below<LANES>(found.index, distance)};
}

//: lanes_before; needs from_below, from_lane
// Combines the values of the lanes before this one, in groups of LANES neighbouring lanes, all of the warp taking part, by
// doubling distances. `total`: of all of them.
template <typename Operator, int LANES, typename T>
static __device__ __forceinline__ T lanes_before(T value, int lane, T identity, T& total)
{
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2) {
        const T other = from_below<LANES>(value, distance);
        value = lane >= distance ? Operator::of(other, value) : value;
    }
    total = from_lane<LANES>(value, LANES - 1);
    const T before = from_below<LANES>(value, 1);
    return lane > 0 ? before : identity;
}
