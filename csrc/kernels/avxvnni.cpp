// avxvnni: avx2 with AVX-VNNI, whose vpdpwssd is a dot product and its sum in one instruction.

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

// sum + the products of two 16-bit integers a lane.
inline __m256i dot(__m256i sum, __m256i a, __m256i b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }

#include "avx2.inc"

}  // namespace

extern const Backend backend_avxvnni;
constinit const Backend backend_avxvnni = backend("avxvnni", kAvx2 | kAvxVnni);

}  // namespace bankml
