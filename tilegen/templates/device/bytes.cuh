// Bytes and halves within words.

//: bf16_lane
// A lane of a vector as a float, by one instruction on the word that it shares with another.
template <typename V>
static __device__ __forceinline__ float bf16_lane(const V& vector, int lane)
{
    unsigned word;
    memcpy(&word, vector.lane + lane / 2 * 2, sizeof(word));
    return __uint_as_float(lane % 2 ? word & 0xffff0000u : word << 16);
}

//: byte_of
// Byte `n` of a word, by one permutation.
static __device__ __forceinline__ unsigned byte_of(unsigned word, int n)
{
    return __byte_perm(word, 0, 0x4440 + n);
}

//: transpose_bytes
// Transposes 4 x 4 bytes held in four words.
static __device__ __forceinline__ void transpose_bytes(unsigned& a, unsigned& b, unsigned& c, unsigned& d)
{
    const unsigned ab_low = __byte_perm(a, b, 0x5140);
    const unsigned ab_high = __byte_perm(a, b, 0x7362);
    const unsigned cd_low = __byte_perm(c, d, 0x5140);
    const unsigned cd_high = __byte_perm(c, d, 0x7362);
    a = __byte_perm(ab_low, cd_low, 0x5410);
    b = __byte_perm(ab_low, cd_low, 0x7632);
    c = __byte_perm(ab_high, cd_high, 0x5410);
    d = __byte_perm(ab_high, cd_high, 0x7632);
}
