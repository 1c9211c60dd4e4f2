// The border between the engine and the instruction sets: one struct of tile sizes and pointers, all of them set in
// every backend. Kernel files include this, one intrinsics header and C headers, and export one constant;
// docs/numerics.md fixes what they compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../cpu.h"
#include "../dtypes.h"

namespace bankml {

enum class Act : int { none, gelu_erf, gelu_tanh };

// One block of queries of one head, against every key of their sequence.
struct Attention {
  const float* q;  // (queries, dim), rows ldq apart
  size_t ldq;
  int queries;     // 1 … kMaxQueries
  const float* k;  // (keys, dim), rows ldkv apart
  const float* v;  // (keys, dim), rows ldkv apart
  size_t ldkv;
  int keys;
  int dim;
  float scale;  // 1/√dim
  float* out;   // (queries, dim), rows ldo apart
  size_t ldo;
};

constexpr int kKeyTile = 64;     // keys a tile, counted from position 0
constexpr int kMaxQueries = 96;  // queries that share one packing of a key tile
constexpr int kLanes = 16;       // lanes of a sum along a row
constexpr int kMaxTile = 32;     // the largest mr or nr of any backend
constexpr int kQueryPad = 32;    // a query has zeros up to a multiple of so many values

// Floats of scratch that `attend` needs for heads of `dim`: queries, outputs, running maxima and sums, one tile of K, V
// and scores.
constexpr size_t attention_scratch(int dim) {
  const size_t padded = static_cast<size_t>(dim + kMaxTile - 1) / kMaxTile * kMaxTile;
  const size_t queries = kMaxQueries + kMaxTile;
  return 2 * queries * padded + 2 * queries + 2 * kKeyTile * padded + kMaxTile * kKeyTile + 64;
}

// Weights that will be packed next: a product touches their cache lines, one every few inputs, so that memory works
// while it computes. Packing alone waits for memory: 15 tokens of bge-m3 took 1.3 times as long.
struct Ahead {
  const uint8_t* row = nullptr;
  size_t row_bytes = 0;
  size_t span = 0;  // bytes of each row
  int rows = 0;     // rows left
  size_t at = 0;    // next byte of `row`
};

// m rows of x as 16-bit integers, packed: value = integer · scale.
struct Rows16 {
  const int16_t* values;          // (k / 2, mr16, 2)
  const float* sums;              // (k / 16, mr16) sums of 16 integers; read for types with minima only
  const float* scales = nullptr;  // (m), once the last inputs are taken: y is multiplied by them
};

struct Backend {
  const char* name;
  uint32_t needs;  // CpuFeature bits
  int mr, nr;      // rows and outputs of one tile

  // x (m ≤ mr, k) → (k, mr); rows beyond m are zeros.
  void (*pack_rows)(const float* x, size_t ldx, int m, int k, float* packed);
  // Inputs k0 … k0 + k of n weight rows (F32, F16, BF16) → panels of nr outputs, each (k, nr); outputs beyond n are
  // zeros.
  void (*pack_panels)(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels);
  // y (m ≤ mr, n) = packed rows · panels; `resume` goes on from the sums already in y.
  void (*multiply)(const float* packed, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                   Ahead& ahead);
  // The same for the types with blocks, in integers; k0 and k are multiples of the block.
  int mr16;
  // The largest |x| of a row; NaN or infinite where the row holds such a value.
  float (*largest)(const float* x, int k);
  // round(x · inverse) of m ≤ mr16 rows, k a multiple of 32; `sums` may be null.
  void (*pack_rows16)(const float* x, size_t ldx, int m, int k, const float* inverse, int16_t* packed, float* sums);
  void (*pack_panels16)(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, uint8_t* panels);
  void (*multiply16)(DType type, const Rows16& x, int m, const uint8_t* panels, int n, int k, bool resume, float* y,
                     size_t ldy, Ahead& ahead);
  // y = act(y + bias) + residual over (m, n); residual may be null.
  void (*finish)(float* y, size_t ldy, int m, int n, const float* bias, Act act, const float* residual, size_t ldr);
  // y = (x − mean)/√(var + eps)·w + b over one row; y may be x.
  void (*layer_norm)(const float* x, int k, const float* w, const float* b, float eps, float* y);
  void (*attend)(const Attention& task, float* scratch);
  // sum += x over one row.
  void (*accumulate)(const float* x, int k, float* sum);
  // out[i] = Σ row i · query: n rows (F32, F16) of k values, one behind the other, at any address. The query has zeros
  // behind it up to a multiple of kQueryPad.
  void (*dots)(DType type, const uint8_t* rows, int n, int k, const float* query, float* out);
  // The same in integers; Σ|query| · 128 must fit an int32.
  void (*dots16)(const int8_t* rows, int n, int k, const int16_t* query, int32_t* out);
};

}  // namespace bankml
