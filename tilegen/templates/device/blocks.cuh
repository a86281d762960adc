// How threads and blocks add to shared counters, and blocks of a cluster reach each other.

//: add_at
// Adds to the counter `offset` bytes past `counts`; an offset in bytes takes one multiplication, an index two.
template <typename T>
static __device__ __forceinline__ void add_at(T* counts, unsigned offset, T value)
{
    atomicAdd(reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(counts) + offset), value);
}

//: store_remote; also cluster_arrive, cluster_wait
// Between these two, blocks of a cluster wait for each other; what was written before is seen after.
static __device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Writes `value` to the shared variable that is at `place` here, in another block of the cluster.
template <typename T>
static __device__ __forceinline__ void store_remote(T* place, int block, const T& value)
{
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(remote)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(place))), "r"(block));
    if (sizeof(T) % 4 == 0) {
#pragma unroll
        for (int word = 0; word < static_cast<int>(sizeof(T) / 4); ++word) {
            const unsigned bits = reinterpret_cast<const unsigned*>(&value)[word];
            asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(remote + 4 * word), "r"(bits) : "memory");
        }
    } else {
#pragma unroll
        for (int byte = 0; byte < static_cast<int>(sizeof(T)); ++byte) {
            const unsigned bits = reinterpret_cast<const unsigned char*>(&value)[byte];
            asm volatile("st.shared::cluster.b8 [%0], %1;" ::"r"(remote + byte), "r"(bits) : "memory");
        }
    }
}
