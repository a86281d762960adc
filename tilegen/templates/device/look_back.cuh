// What the blocks of a scan tell each other.

//: PackedStates
// What the tiles of a row tell each other: 0 nothing yet, 1 the total of the tile, 2 that of everything up to its end. State
// and total travel in one word, so there is nothing to be ordered between them. Words of two tiles lie APART words from
// each other.
template <typename T, int APART>
struct PackedStates {
    typedef unsigned long long Seen;
    unsigned long long* words;

    __device__ __forceinline__ void publish(int place, unsigned state, T total) const
    {
        unsigned bits = 0;
        memcpy(&bits, &total, sizeof(T));
        *at(place) = static_cast<Seen>(state) << 32 | bits;
    }
    __device__ __forceinline__ Seen look(int place) const
    {
        return *at(place);
    }
    static __device__ __forceinline__ unsigned state(Seen seen)
    {
        return static_cast<unsigned>(seen >> 32);
    }
    __device__ __forceinline__ void settle() const {}
    __device__ __forceinline__ T total(int, Seen seen) const
    {
        const unsigned bits = static_cast<unsigned>(seen);
        T value;
        memcpy(&value, &bits, sizeof(T));
        return value;
    }
    __device__ __forceinline__ volatile unsigned long long* at(int place) const
    {
        return words + static_cast<size_t>(place) * APART;
    }
};

//: SeparateStates
// What the tiles of a row tell each other: 0 nothing yet, 1 the total of the tile, 2 that of everything up to its end. Totals
// lie beside the states, each kind in a place of its own; fences order the two. States of two tiles lie APART words from
// each other.
template <typename T, int APART>
struct SeparateStates {
    typedef unsigned Seen;
    unsigned* flags;
    T* totals;

    __device__ __forceinline__ void publish(int place, unsigned state, T total) const
    {
        totals[2 * static_cast<long long>(place) + state - 1] = total;
        __threadfence();
        *at(place) = state;
    }
    __device__ __forceinline__ Seen look(int place) const
    {
        return *at(place);
    }
    static __device__ __forceinline__ unsigned state(Seen seen)
    {
        return seen;
    }
    __device__ __forceinline__ void settle() const
    {
        __threadfence();
    }
    __device__ __forceinline__ T total(int place, Seen seen) const
    {
        return totals[2 * static_cast<long long>(place) + seen - 1];
    }
    __device__ __forceinline__ volatile unsigned* at(int place) const
    {
        return flags + static_cast<size_t>(place) * APART;
    }
};

//: look_back; needs lanes_before
// The total of the tiles of a row before `tile`, by a whole warp; `total` is that of the tile. 32 tiles make a chunk. States
// of the chunks lie behind those of the `tiles` tiles of the row. The order of combinations depends on `tile` alone: tiles of
// a chunk as in lanes_before, chunks from left to right, wherever the first known prefix is found.
template <typename Operator, typename States, typename T>
static __device__ __forceinline__ T look_back(
    const States& states, int tiles, int tile, int lane, T total, T identity)
{
    const int chunk = tile / 32, inside = tile % 32;
    const bool closes = inside == 31;
    if (lane == 0 && !closes) {
        states.publish(tile, 1, total);
    }

    // The tiles of the chunk before this one: each publishes its own total without waiting for anybody.
    const int neighbour = tile - inside + lane;
    typename States::Seen seen = 0;
    do {
        if (lane < inside) {
            seen = states.look(neighbour);
        }
    } while (__any_sync(0xffffffffu, lane < inside && States::state(seen) == 0));
    states.settle();
    T of_chunk;
    lanes_before<Operator, 32>(lane < inside ? states.total(neighbour, seen) : identity, lane, identity, of_chunk);
    if (closes) {
        total = Operator::of(of_chunk, total);
        if (lane == 0) {
            states.publish(tiles + chunk, 1, total);
        }
    }

    // The nearest chunk whose prefix is known, and the totals of those after it; before the row there is nothing.
    T before = identity;
    if (chunk > 0) {
        const int other = chunk - 1 - lane;
        unsigned known, whole;
        do {
            if (other >= 0) {
                seen = states.look(tiles + other);
            }
            known = __ballot_sync(0xffffffffu, other < 0 || States::state(seen) != 0);
            whole = __ballot_sync(0xffffffffu, other < 0 || States::state(seen) == 2);
        } while (whole == 0 || (((whole & (0u - whole)) - 1) & ~known) != 0);
        states.settle();
        const int nearest = __ffs(static_cast<int>(whole)) - 1;
        const T value = other >= 0 && lane <= nearest ? states.total(tiles + other, seen) : identity;
        before = from_lane<32>(value, nearest);
        for (int l = nearest - 1; l >= 0; --l) {
            before = Operator::of(before, from_lane<32>(value, l));
        }
    }
    if (closes && lane == 0) {
        states.publish(tiles + chunk, 2, Operator::of(before, total));
    }
    return Operator::of(before, of_chunk);
}

//: look_back_column
// The total of the tiles of a column before `tile`, by one thread: a prefix is what the one before it is, combined with the
// tile's own total, wherever the first known one is found. Columns lie `stride` places apart from tile to tile.
template <typename Operator, typename States, typename T>
static __device__ __forceinline__ T look_back_column(
    const States& states, int stride, int column, int tile, T total, T identity)
{
    const int place = tile * stride + column;
    if (tile == 0) {
        states.publish(place, 2, Operator::of(identity, total));
        return identity;
    }
    states.publish(place, 1, total);
    constexpr int SEEN = 16;
    typename States::Seen seen[SEEN] = {};
    int nearest;
    do {
#pragma unroll
        for (int n = 0; n < SEEN; ++n) {
            if (n < tile) {
                seen[n] = states.look(place - (n + 1) * stride);
            }
        }
        nearest = -1;
        bool known = true;
#pragma unroll
        for (int n = 0; n < SEEN; ++n) {
            nearest = known && nearest < 0 && States::state(seen[n]) == 2 ? n : nearest;
            known = known && States::state(seen[n]) != 0;
        }
    } while (nearest < 0);
    states.settle();
    T before = identity;
#pragma unroll
    for (int n = SEEN - 1; n >= 0; --n) {
        if (n <= nearest) {
            const T other = states.total(place - (n + 1) * stride, seen[n]);
            before = n == nearest ? other : Operator::of(before, other);
        }
    }
    states.publish(place, 2, Operator::of(before, total));
    return before;
}
