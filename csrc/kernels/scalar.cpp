// scalar: the specification. Runs on any CPU; triple loops, no tricks.
// Tile 4 × 8, rows packed (k, 4), panels (k, 8).

#include "backend.h"

namespace bankml {

namespace {

constexpr int kMr = 4, kNr = 8;

#include "elementwise.inc"

void pack_rows(const float* x, size_t ldx, int m, int k, float* packed) {
  for (int i = 0; i < k; ++i) {
    for (int row = 0; row < kMr; ++row) packed[i * kMr + row] = row < m ? x[row * ldx + i] : 0.0f;
  }
}

uint32_t half_at(const uint8_t* p) { return static_cast<uint32_t>(p[0] | p[1] << 8); }

float widen_half(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ffu;
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
  if (exponent == 0) return sign ? -subnormal : subnormal;
  return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

// Value i of a row of blocks, as the type defines it.
float value_at(DType type, const uint8_t* row, int i) {
  const int block = i / 32, j = i % 32;
  switch (type) {
    case DType::f32: {
      uint32_t bits = 0;
      for (int byte = 0; byte < 4; ++byte) bits |= static_cast<uint32_t>(row[4 * i + byte]) << 8 * byte;
      return from_bits(bits);
    }
    case DType::f16:
      return widen_half(half_at(row + 2 * i));
    case DType::q8_0: {
      const uint8_t* p = row + block * 34;
      return widen_half(half_at(p)) * static_cast<float>(static_cast<int8_t>(p[2 + j]));
    }
    case DType::q4_0: {
      const uint8_t* p = row + block * 18;
      const int q = j < 16 ? p[2 + j] & 15 : p[2 + j - 16] >> 4;
      return widen_half(half_at(p)) * static_cast<float>(q - 8);
    }
  }
  return 0.0f;
}

void pack_panels(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, float* panels) {
  for (int first = 0; first < n; first += kNr, panels += static_cast<size_t>(k) * kNr) {
    for (int j = 0; j < kNr; ++j) {
      const uint8_t* row = rows + (first + j) * row_bytes;
      for (int i = 0; i < k; ++i) panels[i * kNr + j] = first + j < n ? value_at(type, row, k0 + i) : 0.0f;
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
