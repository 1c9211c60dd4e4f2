// avx2: AVX2 + FMA + F16C. vfmadd231ps ymm: latency 4, two a cycle, so at least 8 accumulators; vbroadcastss and loads:
// two a cycle. Tile 6 × 16: 12 accumulators + 2 weights + 1 broadcast of 16 registers; per k 2 loads + 6 broadcasts for
// 12 FMA (96 multiply-adds). Rows packed (k, 6), panels (k, 16).

#include <immintrin.h>

#include "backend.h"

namespace bankml {

namespace {

constexpr int kMr = 6, kNr = 16;

#include "blocks.inc"
#include "elementwise.inc"

// Rows r0 … r7 of eight values each → columns.
inline void transpose(__m256 (&r)[8]) {
  __m256 pair[8], quad[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
  }
}

void pack_rows(const float* x, size_t ldx, int m, int k, float* packed) {
  int i = 0;
  // Eight inputs at a time; each store writes two floats too many, which the next store overwrites. The last eight go
  // the slow way.
  for (; i + 16 <= k; i += 8, packed += 8 * kMr) {
    __m256 r[8];
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) r[row] = row < m ? _mm256_loadu_ps(x + row * ldx + i) : _mm256_setzero_ps();
    transpose(r);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) _mm256_storeu_ps(packed + j * kMr, r[j]);
  }
  for (; i < k; ++i, packed += kMr) {
    for (int row = 0; row < kMr; ++row) packed[row] = row < m ? x[row * ldx + i] : 0.0f;
  }
}

// How a type gives eight consecutive values of a row, where value k begins, and how many cache lines eight rows of them
// fill.
struct F32 {
  static constexpr int lines_a_square = 4;
  static size_t offset(int k) { return 4 * static_cast<size_t>(k); }
  static __m256 load(const uint8_t* row, int k) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(row + offset(k)));
  }
};

struct F16 {
  static constexpr int lines_a_square = 2;
  static size_t offset(int k) { return 2 * static_cast<size_t>(k); }
  static __m256 load(const uint8_t* row, int k) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + offset(k))));
  }
};

struct BF16 {
  static constexpr int lines_a_square = 2;
  static size_t offset(int k) { return 2 * static_cast<size_t>(k); }
  static __m256 load(const uint8_t* row, int k) {
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + offset(k)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16));
  }
};

inline __m256 broadcast_half(const uint8_t* block) {
  uint16_t half;
  __builtin_memcpy(&half, block, sizeof half);
  return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(half)));
}

template <int kBytes>
struct BlocksOf32 {
  static constexpr int lines_a_square = 1;
  static size_t offset(int k) { return static_cast<size_t>(k) / 32 * kBytes; }
};

struct Q8_0 : BlocksOf32<34> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 2 + k % 32));
    return _mm256_mul_ps(broadcast_half(block), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)));
  }
};

// Nibbles k % 32 … of a block whose 16 bytes of them begin at `from`.
inline __m128i nibbles(const uint8_t* from, int k) {
  const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + k % 16));
  return _mm_and_si128(k % 32 < 16 ? pairs : _mm_srli_epi16(pairs, 4), _mm_set1_epi8(15));
}

// All ones where the quant's fifth bit, one of the four bytes at `high`, is set.
inline __m256i fifth_bits(const uint8_t* high, int k) {
  const __m256i bit = _mm256_slli_epi32(_mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), k % 32);
  int32_t bits;
  __builtin_memcpy(&bits, high, sizeof bits);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), bit), bit);
}

struct Q4_0 : BlocksOf32<18> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m256i q = _mm256_sub_epi32(_mm256_cvtepu8_epi32(nibbles(block + 2, k)), _mm256_set1_epi32(8));
    return _mm256_mul_ps(broadcast_half(block), _mm256_cvtepi32_ps(q));
  }
};

// The product is exact (blocks.inc), so fusing it with the sum changes no bit.
struct Q4_1 : BlocksOf32<20> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m256 q = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(nibbles(block + 4, k)));
    return _mm256_fmadd_ps(broadcast_half(block), q, broadcast_half(block + 2));
  }
};

struct Q5_0 : BlocksOf32<22> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m256i below = _mm256_andnot_si256(fifth_bits(block + 2, k), _mm256_set1_epi32(-16));
    const __m256i q = _mm256_or_si256(_mm256_cvtepu8_epi32(nibbles(block + 6, k)), below);
    return _mm256_mul_ps(broadcast_half(block), _mm256_cvtepi32_ps(q));
  }
};

struct Q5_1 : BlocksOf32<24> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m256i above = _mm256_and_si256(fifth_bits(block + 4, k), _mm256_set1_epi32(16));
    const __m256i q = _mm256_or_si256(_mm256_cvtepu8_epi32(nibbles(block + 8, k)), above);
    return _mm256_fmadd_ps(broadcast_half(block), _mm256_cvtepi32_ps(q), broadcast_half(block + 2));
  }
};

struct IQ4_NL : BlocksOf32<18> {
  static __m256 load(const uint8_t* row, int k) {
    const uint8_t* block = row + offset(k);
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks::kNonlinear));
    const __m256i q = _mm256_cvtepi8_epi32(_mm_shuffle_epi8(table, nibbles(block + 2, k)));
    return _mm256_mul_ps(broadcast_half(block), _mm256_cvtepi32_ps(q));
  }
};

// The last k % 8 values of a row, zeros behind them. Types with blocks have none: their rows are multiples of 32.
template <class Type>
inline __m256 load_tail(const uint8_t* row, int k, int count) {
  alignas(32) uint8_t values[32] = {};
  __builtin_memcpy(values, row + Type::offset(k), Type::offset(count));
  return Type::load(values, 0);
}

// Eight values of eight weight rows → eight columns of a panel.
template <class Type>
inline void pack_square(const uint8_t* rows, size_t row_bytes, int k, float* panel) {
  __m256 r[8];
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row) r[row] = Type::load(rows + row * row_bytes, k);
  transpose(r);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) _mm256_storeu_ps(panel + j * kNr, r[j]);
}

// The same at an edge: n rows, `count` values, zeros elsewhere.
template <class Type>
inline void pack_edge(const uint8_t* rows, size_t row_bytes, int n, int k, int count, float* panel) {
  __m256 r[8];
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row) {
    const uint8_t* from = rows + row * row_bytes;
    r[row] = row >= n ? _mm256_setzero_ps() : count == 8 ? Type::load(from, k) : load_tail<Type>(from, k, count);
  }
  transpose(r);
  for (int j = 0; j < count; ++j) _mm256_storeu_ps(panel + j * kNr, r[j]);
}

// Touches the cache lines of eight rows one after the other, ahead of their use. Eight streams of short rows are too
// much for the hardware's own prefetching: without this, weights that lie in memory are packed at 2.4 (k = 384) to 4.1
// values/ns instead of 11 from the cache.
class Prefetch {
 public:
  Prefetch(const uint8_t* rows, size_t row_bytes, size_t span) : row_(rows), row_bytes_(row_bytes), span_(span) {}
  void next_line() {
    _mm_prefetch(reinterpret_cast<const char*>(row_ + at_), _MM_HINT_T0);
    at_ += 64;
    if (at_ < span_) return;
    at_ = 0;
    row_ += row_bytes_;
  }

 private:
  const uint8_t* row_;
  size_t row_bytes_, span_, at_ = 0;
};

// Eight weight rows, or fewer at the end, → eight columns of a panel; meanwhile the next eight rows are fetched.
template <class Type>
inline void pack_eight(const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panel) {
  const size_t begin = Type::offset(k0), span = Type::offset(k0 + k) - begin;
  Prefetch next(rows + 8 * row_bytes + begin, row_bytes, span);
  int i = 0;
  for (; n >= 8 && i + 8 <= k; i += 8) {
    for (int line = 0; line < Type::lines_a_square; ++line) next.next_line();
    pack_square<Type>(rows, row_bytes, k0 + i, panel + i * kNr);
  }
  for (; i < k; i += 8) pack_edge<Type>(rows, row_bytes, n, k0 + i, k - i < 8 ? k - i : 8, panel + i * kNr);
}

// A whole panel at once: every cache line of it is written in one go (packing eight rows after the other fetched each
// twice).
template <class Type>
inline void pack_sixteen(const uint8_t* rows, size_t row_bytes, int k0, int k, float* panel) {
  for (int i = 0; i < k; i += 8) {
    pack_square<Type>(rows, row_bytes, k0 + i, panel + i * kNr);
    pack_square<Type>(rows + 8 * row_bytes, row_bytes, k0 + i, panel + i * kNr + 8);
  }
}

template <class Type>
void pack_panels_of(const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  for (int first = 0; first < n; first += kNr, panels += static_cast<size_t>(k) * kNr) {
    const uint8_t* from = rows + first * row_bytes;
    if (n - first >= kNr && k % 8 == 0) {
      pack_sixteen<Type>(from, row_bytes, k0, k, panels);
      continue;
    }
    pack_eight<Type>(from, row_bytes, n - first, k0, k, panels);
    pack_eight<Type>(from + 8 * row_bytes, row_bytes, n - first - 8, k0, k, panels + 8);
  }
}

// Eight values from value i on of eight blocks that were taken apart → eight columns of a panel. The product is exact
// (blocks.inc), so fusing it changes no bit.
template <int kValues>
inline void pack_unpacked_square(const Unpacked<kValues>* blocks, int i, float* panel) {
  __m256 r[8];
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row) {
    const Unpacked<kValues>& block = blocks[row];
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block.q + i));
    const __m256 q = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    r[row] = _mm256_fmsub_ps(_mm256_broadcast_ss(block.d + i / kGroup), q, _mm256_broadcast_ss(block.m + i / kGroup));
  }
  transpose(r);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) _mm256_storeu_ps(panel + j * kNr, r[j]);
}

// Types without a load of their own: one block of each of the panel's rows is taken apart, then they are widened
// together. Rows beyond n are blocks of zeros.
template <class Type>
void pack_unpacked(const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  Unpacked<Type::values> blocks[kNr];
  for (int first = 0; first < n; first += kNr, rows += kNr * row_bytes) {
    const int count = n - first < kNr ? n - first : kNr;
    for (int row = count; row < kNr; ++row) blocks[row] = {};
    const uint8_t* from = rows + static_cast<size_t>(k0 / Type::values) * Type::bytes;
    for (int block = 0; block < k / Type::values; ++block, from += Type::bytes) {
      for (int row = 0; row < count; ++row) Type::unpack(from + row * row_bytes, blocks[row]);
      for (int i = 0; i < Type::values; i += 8, panels += 8 * kNr) {
        pack_unpacked_square(blocks, i, panels);
        pack_unpacked_square(blocks + 8, i, panels + 8);
      }
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
    case DType::bf16:
      return pack_panels_of<BF16>(rows, row_bytes, n, k0, k, panels);
    case DType::q4_1:
      return pack_panels_of<Q4_1>(rows, row_bytes, n, k0, k, panels);
    case DType::q5_0:
      return pack_panels_of<Q5_0>(rows, row_bytes, n, k0, k, panels);
    case DType::q5_1:
      return pack_panels_of<Q5_1>(rows, row_bytes, n, k0, k, panels);
    case DType::q2_k:
      return pack_unpacked<blocks::Q2_K>(rows, row_bytes, n, k0, k, panels);
    case DType::q3_k:
      return pack_unpacked<blocks::Q3_K>(rows, row_bytes, n, k0, k, panels);
    case DType::q4_k:
      return pack_unpacked<blocks::Q4_K>(rows, row_bytes, n, k0, k, panels);
    case DType::q5_k:
      return pack_unpacked<blocks::Q5_K>(rows, row_bytes, n, k0, k, panels);
    case DType::q6_k:
      return pack_unpacked<blocks::Q6_K>(rows, row_bytes, n, k0, k, panels);
    case DType::iq4_nl:
      return pack_panels_of<IQ4_NL>(rows, row_bytes, n, k0, k, panels);
  }
}

void pack_f32_panels(const float* rows, size_t ld, int n, int k, float* panels) {
  pack_panels_of<F32>(reinterpret_cast<const uint8_t*>(rows), ld * sizeof(float), n, 0, k, panels);
}

// The accumulators of R rows × 16 outputs. A chain of structs, not an array: gcc keeps an array that a loop indexes in
// memory (a third of the speed). One row's broadcast and two FMA are one asm statement: left to itself the compiler
// reads the weights again for each row, or spills (60-85 % of the FMA peak against 94 %).
template <int R>
struct Sums {
  Sums<R - 1> above;
  __m256 low, high;

  [[gnu::always_inline]] void clear() {
    above.clear();
    low = high = _mm256_setzero_ps();
  }
  [[gnu::always_inline]] void load(const float* y, size_t ldy) {
    above.load(y, ldy);
    low = _mm256_loadu_ps(y + (R - 1) * ldy);
    high = _mm256_loadu_ps(y + (R - 1) * ldy + 8);
  }
  // Adds one input: value r of it stands at a[r·kRowStride].
  template <int kRowStride>
  [[gnu::always_inline]] void add(const float* a, __m256 w0, __m256 w1) {
    above.template add<kRowStride>(a, w0, w1);
    __m256 x;
    __asm__("vbroadcastss %[a], %[x]\n\tvfmadd231ps %[w0], %[x], %[low]\n\tvfmadd231ps %[w1], %[x], %[high]"
            : [low] "+x"(low), [high] "+x"(high), [x] "=&x"(x)
            : [a] "m"(a[(R - 1) * kRowStride]), [w0] "x"(w0), [w1] "x"(w1));
  }
  [[gnu::always_inline]] void store(float* y, size_t ldy) const {
    above.store(y, ldy);
    _mm256_storeu_ps(y + (R - 1) * ldy, low);
    _mm256_storeu_ps(y + (R - 1) * ldy + 8, high);
  }
};

template <>
struct Sums<0> {
  void clear() {}
  void load(const float*, size_t) {}
  template <int kRowStride>
  void add(const float*, __m256, __m256) {}
  void store(float*, size_t) const {}
};

// R rows × 16 outputs over k inputs; value i of row r stands at a[r·kRowStride + i·kStep]. Not inlined: inside a larger
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
    sums.template add<kRowStride>(a, _mm256_loadu_ps(panel), _mm256_loadu_ps(panel + 8));
  }
  sums.store(y, ldy);
}

// The same, touching a line of what is packed next every four inputs.
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
  for (int i = 0; i + 4 <= k; i += 4) {
    _mm_prefetch(reinterpret_cast<const char*>(ahead.row + ahead.at), _MM_HINT_T0);
    ahead.at += 64;
    if (ahead.at >= ahead.span) {
      ahead.at = 0;
      ahead.row += ahead.row_bytes;
      --ahead.rows;
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j, a += kMr, panel += kNr) {
      sums.template add<1>(a, _mm256_loadu_ps(panel), _mm256_loadu_ps(panel + 8));
    }
  }
  for (int i = k & ~3; i < k; ++i, a += kMr, panel += kNr) {
    sums.template add<1>(a, _mm256_loadu_ps(panel), _mm256_loadu_ps(panel + 8));
  }
  next = ahead;
  sums.store(y, ldy);
}

// A panel with fewer than 16 outputs goes through a tile of its own, so that nothing beyond y's edge is touched.
template <int R, int kRowStride, int kStep>
inline void edge_tile(const float* a, const float* panel, int n, int k, bool resume, float* y, size_t ldy) {
  alignas(32) float edge[R * kNr] = {};
  for (int r = 0; resume && r < R; ++r) __builtin_memcpy(edge + r * kNr, y + r * ldy, n * sizeof(float));
  tile<R, kRowStride, kStep>(a, panel, k, resume, edge, kNr);
  for (int r = 0; r < R; ++r) __builtin_memcpy(y + r * ldy, edge + r * kNr, n * sizeof(float));
}

template <int R, int kRowStride, int kStep>
void multiply_rows(const float* a, const float* panels, int n, int k, bool resume, float* y, size_t ldy) {
  int j = 0;
  for (; j + kNr <= n; j += kNr, panels += static_cast<size_t>(k) * kNr)
    tile<R, kRowStride, kStep>(a, panels, k, resume, y + j, ldy);
  if (j < n) edge_tile<R, kRowStride, kStep>(a, panels, n - j, k, resume, y + j, ldy);
}

template <int kRowStride, int kStep>
void multiply_any(const float* a, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy) {
  switch (m) {
    case 1:
      return multiply_rows<1, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
    case 2:
      return multiply_rows<2, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
    case 3:
      return multiply_rows<3, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
    case 4:
      return multiply_rows<4, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
    case 5:
      return multiply_rows<5, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
    default:
      return multiply_rows<6, kRowStride, kStep>(a, panels, n, k, resume, y, ldy);
  }
}

template <int R>
void multiply_rows_ahead(const float* a, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                         Ahead& ahead) {
  int j = 0;
  for (; j + kNr <= n; j += kNr, panels += static_cast<size_t>(k) * kNr) {
    if (ahead.rows > 0) {
      tile_ahead<R>(a, panels, k, resume, y + j, ldy, ahead);
    } else {
      tile<R, 1, kMr>(a, panels, k, resume, y + j, ldy);
    }
  }
  if (j < n) edge_tile<R, 1, kMr>(a, panels, n - j, k, resume, y + j, ldy);
}

void multiply_packed(const float* packed, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                     Ahead& ahead) {
  if (ahead.rows == 0) return multiply_any<1, kMr>(packed, m, panels, n, k, resume, y, ldy);
  switch (m) {
    case 1:
      return multiply_rows_ahead<1>(packed, panels, n, k, resume, y, ldy, ahead);
    case 2:
      return multiply_rows_ahead<2>(packed, panels, n, k, resume, y, ldy, ahead);
    case 3:
      return multiply_rows_ahead<3>(packed, panels, n, k, resume, y, ldy, ahead);
    case 4:
      return multiply_rows_ahead<4>(packed, panels, n, k, resume, y, ldy, ahead);
    case 5:
      return multiply_rows_ahead<5>(packed, panels, n, k, resume, y, ldy, ahead);
    default:
      return multiply_rows_ahead<6>(packed, panels, n, k, resume, y, ldy, ahead);
  }
}

void multiply_scores(const float* scores, int m, const float* panels, int n, int k, float* y, size_t ldy) {
  multiply_any<kKeyTile, 1>(scores, m, panels, n, k, true, y, ldy);
}

#include "attention.inc"

}  // namespace

extern const Backend backend_avx2;
constinit const Backend backend_avx2 = {
    "avx2", kAvx2, kMr, kNr, pack_rows, pack_panels, multiply_packed, finish, layer_norm, attend, accumulate,
};

}  // namespace bankml
