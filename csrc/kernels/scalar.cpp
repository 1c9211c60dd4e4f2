// scalar: the specification. Runs on any CPU; triple loops, no tricks.
// Tile 4 × 8, rows packed (k, 4), panels (k, 8).

#include "backend.h"

namespace bankml {

namespace {

constexpr int kMr = 4, kNr = 8;

#include "blocks.inc"
#include "elementwise.inc"

void pack_rows(const float* x, size_t ldx, int m, int k, float* packed) {
  for (int i = 0; i < k; ++i) {
    for (int row = 0; row < kMr; ++row) packed[i * kMr + row] = row < m ? x[row * ldx + i] : 0.0f;
  }
}

// Value i of a row of floats.
struct F32 {
  static float value(const uint8_t* row, int i) { return f32_at(row + 4 * static_cast<size_t>(i)); }
};

struct F16 {
  static float value(const uint8_t* row, int i) { return half_at(row + 2 * static_cast<size_t>(i)); }
};

struct BF16 {
  static float value(const uint8_t* row, int i) { return bf16_at(row + 2 * static_cast<size_t>(i)); }
};

template <class Type>
void pack_column(const uint8_t* row, int k0, int k, float* column) {
  for (int i = 0; i < k; ++i) column[i * kNr] = Type::value(row, k0 + i);
}

template <class Type>
void unpack_column(const uint8_t* row, int k0, int k, float* column) {
  Unpacked<Type::values> block;
  for (int i = 0; i < k; i += Type::values) {
    Type::unpack(row + static_cast<size_t>((k0 + i) / Type::values) * Type::bytes, block);
    for (int j = 0; j < Type::values; ++j) column[(i + j) * kNr] = block.value(j);
  }
}

// Inputs k0 … k0 + k of a weight row → one column of a panel.
using Column = void (*)(const uint8_t* row, int k0, int k, float* column);

Column column_of(DType type) {
  switch (type) {
    case DType::f32:
      return pack_column<F32>;
    case DType::f16:
      return pack_column<F16>;
    case DType::bf16:
      return pack_column<BF16>;
    case DType::q8_0:
      return unpack_column<blocks::Q8_0>;
    case DType::q4_0:
      return unpack_column<blocks::Q4_0>;
    case DType::q4_1:
      return unpack_column<blocks::Q4_1>;
    case DType::q5_0:
      return unpack_column<blocks::Q5_0>;
    case DType::q5_1:
      return unpack_column<blocks::Q5_1>;
    case DType::q2_k:
      return unpack_column<blocks::Q2_K>;
    case DType::q3_k:
      return unpack_column<blocks::Q3_K>;
    case DType::q4_k:
      return unpack_column<blocks::Q4_K>;
    case DType::q5_k:
      return unpack_column<blocks::Q5_K>;
    case DType::q6_k:
      return unpack_column<blocks::Q6_K>;
    case DType::iq4_nl:
      return unpack_column<blocks::IQ4_NL>;
  }
  return nullptr;
}

void pack_panels(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  const Column pack = column_of(type);
  for (int first = 0; first < n; first += kNr, panels += static_cast<size_t>(k) * kNr) {
    for (int j = 0; j < kNr; ++j) {
      if (first + j < n) {
        pack(rows + (first + j) * row_bytes, k0, k, panels + j);
      } else {
        for (int i = 0; i < k; ++i) panels[i * kNr + j] = 0.0f;
      }
    }
  }
}

void pack_f32_panels(const float* rows, size_t ld, int n, int k, float* panels) {
  pack_panels(DType::f32, reinterpret_cast<const uint8_t*>(rows), ld * sizeof(float), n, 0, k, panels);
}

// y[row][j] = Σ a(row, i)·panel(i, j): one accumulator, i ascending, fused.
void multiply_any(const float* a, int row_stride, int step, int m, const float* panels, int n, int k, bool resume,
                  float* y, size_t ldy) {
  for (int row = 0; row < m; ++row) {
    for (int j = 0; j < n; ++j) {
      const float* panel = panels + static_cast<size_t>(j / kNr) * k * kNr + j % kNr;
      float sum = resume ? y[row * ldy + j] : 0.0f;
      for (int i = 0; i < k; ++i) sum = fma1(a[row * row_stride + i * step], panel[i * kNr], sum);
      y[row * ldy + j] = sum;
    }
  }
}

void multiply_packed(const float* packed, int m, const float* panels, int n, int k, bool resume, float* y, size_t ldy,
                     Ahead&) {
  multiply_any(packed, 1, kMr, m, panels, n, k, resume, y, ldy);
}

void multiply_scores(const float* scores, int m, const float* panels, int n, int k, float* y, size_t ldy) {
  multiply_any(scores, kKeyTile, 1, m, panels, n, k, true, y, ldy);
}

#include "attention.inc"

}  // namespace

extern const Backend backend_scalar;
constinit const Backend backend_scalar = {
    "scalar", 0, kMr, kNr, pack_rows, pack_panels, multiply_packed, finish, layer_norm, attend, accumulate,
};

}  // namespace bankml
