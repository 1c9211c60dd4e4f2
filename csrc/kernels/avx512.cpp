// avx512: AVX-512 F, VL, BW and DQ. vfmadd231ps zmm: latency 4, two a cycle on server cores (one on some), so at least
// 8 accumulators; loads: two a cycle. Tile 12 × 32: 24 accumulators + 2 weights + 1 broadcast of 32 registers; per k 2
// loads + 12 broadcasts for 24 FMA (384 multiply-adds). Rows packed (k, 12), panels (k, 32).

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

constexpr int kMr = 12, kNr = 32;
constexpr int kSide = 16;  // rows and values of a square: one register each

#include "elementwise.inc"

inline __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1); }

// Rows r0 … r15 of sixteen values each → columns.
inline void transpose(__m512 (&r)[kSide]) {
  __m512 pair[kSide], quad[kSide];
#pragma GCC unroll 8
  for (int i = 0; i < kSide; i += 2) {
    pair[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    pair[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kSide; i += 4) {
    quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xee);
    quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
  }
  // Lane l of quad[4·g + c] is column 4·l + c of rows 4·g … 4·g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 even = _mm512_shuffle_f32x4(quad[c], quad[4 + c], 0x88);
    const __m512 odd = _mm512_shuffle_f32x4(quad[c], quad[4 + c], 0xdd);
    const __m512 even_below = _mm512_shuffle_f32x4(quad[8 + c], quad[12 + c], 0x88);
    const __m512 odd_below = _mm512_shuffle_f32x4(quad[8 + c], quad[12 + c], 0xdd);
    r[c] = _mm512_shuffle_f32x4(even, even_below, 0x88);
    r[4 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0x88);
    r[8 + c] = _mm512_shuffle_f32x4(even, even_below, 0xdd);
    r[12 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0xdd);
  }
}

void pack_rows(const float* x, size_t ldx, int m, int k, float* packed) {
  for (int i = 0; i < k; i += kSide) {
    const int count = k - i < kSide ? k - i : kSide;
    __m512 r[kSide];
#pragma GCC unroll 16
    for (int row = 0; row < kSide; ++row) {
      r[row] = row < m ? _mm512_maskz_loadu_ps(first(count), x + row * ldx + i) : _mm512_setzero_ps();
    }
    transpose(r);
    for (int j = 0; j < count; ++j, packed += kMr) _mm512_mask_storeu_ps(packed, first(kMr), r[j]);
  }
}

// How a type gives sixteen consecutive values of a row, or `count` and zeros, where value k begins, and how many cache
// lines sixteen rows of them fill.
struct F32 {
  static constexpr int lines_a_square = 16;
  static size_t offset(int k) { return 4 * static_cast<size_t>(k); }
  static __m512 load(const uint8_t* row, int k, int count) {
    return _mm512_maskz_loadu_ps(first(count), row + offset(k));
  }
};

struct F16 {
  static constexpr int lines_a_square = 8;
  static size_t offset(int k) { return 2 * static_cast<size_t>(k); }
  static __m512 load(const uint8_t* row, int k, int count) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(count), row + offset(k)));
  }
};

inline __m512 scale_of(const uint8_t* block) {
  uint16_t half;
  __builtin_memcpy(&half, block, sizeof half);
  return _mm512_set1_ps(_cvtsh_ss(half));
}

// Types with blocks have whole registers alone: their rows are multiples of 32.
struct Q8_0 {
  static constexpr int lines_a_square = 4;
  static size_t offset(int k) { return static_cast<size_t>(k) / 32 * 34; }
  static __m512 load(const uint8_t* row, int k, int) {
    const uint8_t* block = row + offset(k);
    const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2 + k % 32));
    return _mm512_mul_ps(scale_of(block), _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q)));
  }
};

struct Q4_0 {
  static constexpr int lines_a_square = 2;
  static size_t offset(int k) { return static_cast<size_t>(k) / 32 * 18; }
  static __m512 load(const uint8_t* row, int k, int) {
    const uint8_t* block = row + offset(k);
    const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2));
    const __m128i nibbles = k % 32 < 16 ? pairs : _mm_srli_epi16(pairs, 4);
    const __m512i q = _mm512_cvtepu8_epi32(_mm_and_si128(nibbles, _mm_set1_epi8(15)));
    return _mm512_mul_ps(scale_of(block), _mm512_cvtepi32_ps(_mm512_sub_epi32(q, _mm512_set1_epi32(8))));
  }
};

// `count` values of `n` of sixteen weight rows → as many rows of a panel, sixteen wide; zeros for the rows that are
// not.
template <class Type>
inline void pack_square(const uint8_t* rows, size_t row_bytes, int n, int k, int count, float* panel) {
  __m512 r[kSide];
#pragma GCC unroll 16
  for (int row = 0; row < kSide; ++row) {
    r[row] = row < n ? Type::load(rows + row * row_bytes, k, count) : _mm512_setzero_ps();
  }
  transpose(r);
#pragma GCC unroll 16
  for (int j = 0; j < kSide; ++j) {
    if (j < count) _mm512_storeu_ps(panel + j * kNr, r[j]);
  }
}

// A whole panel, both squares of a step together: every cache line of it is written in one go.
template <class Type>
inline void pack_whole(const uint8_t* rows, size_t row_bytes, int k0, int k, float* panel) {
  for (int i = 0; i < k; i += kSide, panel += kSide * kNr) {
    pack_square<Type>(rows, row_bytes, kSide, k0 + i, kSide, panel);
    pack_square<Type>(rows + kSide * row_bytes, row_bytes, kSide, k0 + i, kSide, panel + kSide);
  }
}

// The same with fewer rows, or with values left over.
template <class Type>
inline void pack_edge(const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panel) {
  for (int i = 0; i < k; i += kSide, panel += kSide * kNr) {
    const int count = k - i < kSide ? k - i : kSide;
    pack_square<Type>(rows, row_bytes, n < kSide ? n : kSide, k0 + i, count, panel);
    pack_square<Type>(rows + kSide * row_bytes, row_bytes, n - kSide, k0 + i, count, panel + kSide);
  }
}

template <class Type>
void pack_panels_of(const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  for (int at = 0; at < n; at += kNr, panels += static_cast<size_t>(k) * kNr, rows += kNr * row_bytes) {
    if (n - at >= kNr && k % kSide == 0) {
      pack_whole<Type>(rows, row_bytes, k0, k, panels);
    } else {
      pack_edge<Type>(rows, row_bytes, n - at, k0, k, panels);
    }
  }
}

void pack_panels(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  switch (type) {
    case DType::f32:
      return pack_panels_of<F32>(rows, row_bytes, n, k0, k, panels);
    case DType::f16:
      return pack_panels_of<F16>(rows, row_bytes, n, k0, k, panels);
    case DType::q8_0:
      return pack_panels_of<Q8_0>(rows, row_bytes, n, k0, k, panels);
    case DType::q4_0:
      return pack_panels_of<Q4_0>(rows, row_bytes, n, k0, k, panels);
  }
}

void pack_f32_panels(const float* rows, size_t ld, int n, int k, float* panels) {
  pack_panels_of<F32>(reinterpret_cast<const uint8_t*>(rows), ld * sizeof(float), n, 0, k, panels);
}

// The accumulators of R rows × 32 outputs, as in avx2.cpp: a chain of structs and one asm statement a row keep the
// compiler from spilling or reading the weights again.
template <int R>
struct Sums {
  Sums<R - 1> above;
  __m512 low, high;

  [[gnu::always_inline]] void clear() {
    above.clear();
    low = high = _mm512_setzero_ps();
  }
  [[gnu::always_inline]] void load(const float* y, size_t ldy) {
    above.load(y, ldy);
    low = _mm512_loadu_ps(y + (R - 1) * ldy);
    high = _mm512_loadu_ps(y + (R - 1) * ldy + 16);
  }
  // Adds one input: value r of it stands at a[r·kRowStride].
  template <int kRowStride>
  [[gnu::always_inline]] void add(const float* a, __m512 w0, __m512 w1) {
    above.template add<kRowStride>(a, w0, w1);
    __m512 x;
    __asm__("vbroadcastss %[a], %[x]\n\tvfmadd231ps %[w0], %[x], %[low]\n\tvfmadd231ps %[w1], %[x], %[high]"
            : [low] "+v"(low), [high] "+v"(high), [x] "=&v"(x)
            : [a] "m"(a[(R - 1) * kRowStride]), [w0] "v"(w0), [w1] "v"(w1));
  }
  [[gnu::always_inline]] void store(float* y, size_t ldy) const {
    above.store(y, ldy);
    _mm512_storeu_ps(y + (R - 1) * ldy, low);
    _mm512_storeu_ps(y + (R - 1) * ldy + 16, high);
  }
};

template <>
struct Sums<0> {
  void clear() {}
  void load(const float*, size_t) {}
  template <int kRowStride>
  void add(const float*, __m512, __m512) {}
  void store(float*, size_t) const {}
};

// R rows × 32 outputs over k inputs; value i of row r stands at a[r·kRowStride + i·kStep]. Not inlined: inside a larger
// function gcc writes the accumulators to memory after every input.
template <int R, int kRowStride, int kStep>
[[gnu::noinline]] void tile(const float* a, const float* panel, int k, bool resume, float* y, size_t ldy) {
  Sums<R> sums;
  if (resume) {
    sums.load(y, ldy);
  } else {
    sums.clear();
  }
  for (int i = 0; i < k; ++i, a += kStep, panel += kNr) {
    sums.template add<kRowStride>(a, _mm512_loadu_ps(panel), _mm512_loadu_ps(panel + 16));
  }
  sums.store(y, ldy);
}

// The same, touching a line of what is packed next every input: with up to 12 rows that is all of an F16 chunk.
template <int R>
[[gnu::noinline]] void tile_ahead(const float* a, const float* panel, int k, bool resume, float* y, size_t ldy,
                                  Ahead& next) {
  Sums<R> sums;
  if (resume) {
    sums.load(y, ldy);
  } else {
    sums.clear();
  }
  Ahead ahead = next;
  for (int i = 0; i < k; ++i, a += kMr, panel += kNr) {
    _mm_prefetch(reinterpret_cast<const char*>(ahead.row + ahead.at), _MM_HINT_T0);
    ahead.at += 64;
    if (ahead.at >= ahead.span) {
      ahead.at = 0;
      ahead.row += ahead.row_bytes;
      --ahead.rows;
    }
    sums.template add<1>(a, _mm512_loadu_ps(panel), _mm512_loadu_ps(panel + 16));
  }
  next = ahead;
  sums.store(y, ldy);
}

// A panel with fewer than 32 outputs goes through a tile of its own, so that nothing beyond y's edge is touched.
template <int R, int kRowStride, int kStep>
inline void edge_tile(const float* a, const float* panel, int n, int k, bool resume, float* y, size_t ldy) {
  alignas(64) float edge[R * kNr] = {};
  for (int r = 0; resume && r < R; ++r) __builtin_memcpy(edge + r * kNr, y + r * ldy, n * sizeof(float));
  tile<R, kRowStride, kStep>(a, panel, k, resume, edge, kNr);
  for (int r = 0; r < R; ++r) __builtin_memcpy(y + r * ldy, edge + r * kNr, n * sizeof(float));
}

template <int R, int kRowStride, int kStep>
void multiply_rows(const float* a, const float* panels, int n, int k, bool resume, float* y, size_t ldy, Ahead& ahead) {
  int j = 0;
  for (; j + kNr <= n; j += kNr, panels += static_cast<size_t>(k) * kNr) {
    if (kStep == kMr && ahead.rows > 0) {
      tile_ahead<R>(a, panels, k, resume, y + j, ldy, ahead);
    } else {
      tile<R, kRowStride, kStep>(a, panels, k, resume, y + j, ldy);
    }
  }
  if (j < n) edge_tile<R, kRowStride, kStep>(a, panels, n - j, k, resume, y + j, ldy);
}

// The template for m of 1 … R rows.
template <int kRowStride, int kStep, int R = kMr>
void multiply_any(const float* a, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                  Ahead& ahead) {
  if constexpr (R > 1) {
    if (m < R) return multiply_any<kRowStride, kStep, R - 1>(a, m, panels, n, k, resume, y, ldy, ahead);
  }
  multiply_rows<R, kRowStride, kStep>(a, panels, n, k, resume, y, ldy, ahead);
}

void multiply_packed(const float* packed, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                     Ahead& ahead) {
  multiply_any<1, kMr>(packed, m, panels, n, k, resume, y, ldy, ahead);
}

void multiply_scores(const float* scores, int m, const float* panels, int n, int k, float* y, size_t ldy) {
  Ahead nothing;
  multiply_any<kKeyTile, 1>(scores, m, panels, n, k, true, y, ldy, nothing);
}

#include "attention.inc"

}  // namespace

extern const Backend backend_avx512;
constinit const Backend backend_avx512 = {
    "avx512", kAvx512, kMr, kNr, pack_rows, pack_panels, multiply_packed, finish, layer_norm, attend, accumulate,
};

}  // namespace bankml
