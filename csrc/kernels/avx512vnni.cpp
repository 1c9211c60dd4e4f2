// avx512vnni: avx512 with VNNI, whose vpdpwssd is a dot product and its sum in one instruction, two a cycle.

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

// sum + the products of two 16-bit integers a lane.
inline __m512i dot(__m512i sum, __m512i a, __m512i b) { return _mm512_dpwssd_epi32(sum, a, b); }

#include "avx512.inc"

}  // namespace

extern const Backend backend_avx512vnni;
constinit const Backend backend_avx512vnni = backend("avx512vnni", kAvx512 | kAvx512Vnni);

}  // namespace bankml
