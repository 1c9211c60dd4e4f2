// avx512: AVX-512 F, VL, BW and DQ.

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

// sum + the products of two 16-bit integers a lane.
inline __m512i dot(__m512i sum, __m512i a, __m512i b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }

#include "avx512.inc"

}  // namespace

extern const Backend backend_avx512;
constinit const Backend backend_avx512 = backend("avx512", kAvx512);

}  // namespace bankml
