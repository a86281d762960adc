// Loads and stores with cache hints, and alignment to sectors.

//: load_streaming
// Load of data that is not read again: first to leave the caches.
template <typename V>
static __device__ __forceinline__ V load_streaming(const void* place)
{
    V value;
    if (sizeof(V) == 16) {
        *reinterpret_cast<uint4*>(&value) = __ldcs(static_cast<const uint4*>(place));
    } else if (sizeof(V) == 8) {
        *reinterpret_cast<uint2*>(&value) = __ldcs(static_cast<const uint2*>(place));
    } else if (sizeof(V) == 4) {
        *reinterpret_cast<unsigned*>(&value) = __ldcs(static_cast<const unsigned*>(place));
    } else {
        *reinterpret_cast<unsigned short*>(&value) = __ldcs(static_cast<const unsigned short*>(place));
    }
    return value;
}

//: load_readonly
// Load through the read-only path.
template <typename V>
static __device__ __forceinline__ V load_readonly(const void* place)
{
    V value;
    if (sizeof(V) == 16) {
        *reinterpret_cast<uint4*>(&value) = __ldg(static_cast<const uint4*>(place));
    } else if (sizeof(V) == 8) {
        *reinterpret_cast<uint2*>(&value) = __ldg(static_cast<const uint2*>(place));
    } else if (sizeof(V) == 4) {
        *reinterpret_cast<unsigned*>(&value) = __ldg(static_cast<const unsigned*>(place));
    } else {
        *reinterpret_cast<unsigned short*>(&value) = __ldg(static_cast<const unsigned short*>(place));
    }
    return value;
}

//: store_streaming
// Store of data that is not read again: first to leave the caches.
template <typename V>
static __device__ __forceinline__ void store_streaming(void* place, const V& value)
{
    if (sizeof(V) == 16) {
        __stcs(static_cast<uint4*>(place), *reinterpret_cast<const uint4*>(&value));
    } else if (sizeof(V) == 8) {
        __stcs(static_cast<uint2*>(place), *reinterpret_cast<const uint2*>(&value));
    } else if (sizeof(V) == 4) {
        __stcs(static_cast<unsigned*>(place), *reinterpret_cast<const unsigned*>(&value));
    } else {
        __stcs(static_cast<unsigned short*>(place), *reinterpret_cast<const unsigned short*>(&value));
    }
}

//: associate_access_property; global; also __nv_associate_access_property
// Part of the compiler: nvcc declares it here, NVRTC only knows how to compile calls of it.
extern "C" __device__ void* __nv_associate_access_property(const void* place, unsigned long long property);

//: evict_last; needs associate_access_property
// The same pointer; lines of the L2 that are read through it are evicted after others, as by
// cuda::associate_access_property(place, cuda::access_property::persisting{}). Before sm_80 it is a plain pointer.
template <typename T>
static __device__ __forceinline__ const T* evict_last(const T* place)
{
#if __CUDA_ARCH__ >= 800
    return static_cast<const T*>(__nv_associate_access_property(place, 0x14f0000000000000ull));
#else
    return place;
#endif
}

//: to_sector
// Elements from `place` to where the next sector of 32 bytes begins, 0 if it begins there.
template <typename T>
static __device__ __forceinline__ int to_sector(const T* place)
{
    constexpr unsigned unit = 32 / sizeof(T);
    return static_cast<int>(-static_cast<unsigned>(reinterpret_cast<unsigned long long>(place) / sizeof(T)) % unit);
}
