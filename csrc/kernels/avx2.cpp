// avx2: AVX2 + FMA + F16C.

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

// sum + the products of two 16-bit integers a lane.
inline __m256i dot(__m256i sum, __m256i a, __m256i b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

#include "avx2.inc"

}  // namespace

extern const Backend backend_avx2;
constinit const Backend backend_avx2 = backend("avx2", kAvx2);

}  // namespace bankml
