// scalar: the specification. Runs on any CPU; triple loops, no tricks.
// Tile 4 × 8, rows packed (k, 4), panels (k, 8).

#include "backend.h"

namespace bankml {

namespace {

constexpr int kMr = 4, kNr = 8, kMr16 = 4;

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
    default:
      return nullptr;  // types with blocks: pack_panels16
  }
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

// round(x · inverse): adding 1.5·2²³ leaves the rounded integer in the low bits.
int16_t rounded(float x, float inverse) {
  const int32_t integer = static_cast<int32_t>(to_bits(x * inverse + 12582912.0f) - to_bits(12582912.0f));
  return static_cast<int16_t>(integer > 32767 ? 32767 : integer < -32768 ? -32768 : integer);
}

// Tiles (k / 2, mr16, 2).
void pack_rows16(const float* x, size_t ldx, int m, int k, const float* inverse, int16_t* packed, float* sums) {
  for (int row = 0; row < kMr16; ++row) {
    int sum = 0;
    for (int i = 0; i < k; ++i) {
      const int16_t value = row < m ? rounded(x[row * ldx + i], inverse[row]) : int16_t{0};
      packed[(i / 2 * kMr16 + row) * 2 + i % 2] = value;
      sum = i % kGroup == 0 ? value : sum + value;
      if (sums != nullptr && i % kGroup == kGroup - 1) sums[i / kGroup * kMr16 + row] = static_cast<float>(sum);
    }
  }
}

// A panel: (k, nr) bytes, then (k / 16, nr) scales, then as many minima.
constexpr size_t panel_bytes(int k) { return static_cast<size_t>(k) * kNr + 2 * sizeof(float) * (k / kGroup) * kNr; }

template <class Type>
void unpack_column(const uint8_t* row, int k0, int k, int8_t* q, float* d) {
  Unpacked<Type::values> block;
  for (int i = 0; i < k; i += Type::values) {
    Type::unpack(row + static_cast<size_t>((k0 + i) / Type::values) * Type::bytes, block);
    for (int j = 0; j < Type::values; ++j) q[(i + j) * kNr] = block.q[j];
    for (int group = 0; group < Type::values / kGroup; ++group) {
      d[(i / kGroup + group) * kNr] = block.d[group];
      d[(k / kGroup + i / kGroup + group) * kNr] = block.m[group];
    }
  }
}

void pack_panels16(DType type, const uint8_t* rows, size_t row_bytes, int n, int k0, int k, uint8_t* panels) {
  for (int first = 0; first < n; first += kNr, panels += panel_bytes(k)) {
    __builtin_memset(panels, 0, panel_bytes(k));
    int8_t* q = reinterpret_cast<int8_t*>(panels);
    float* d = reinterpret_cast<float*>(panels + static_cast<size_t>(k) * kNr);
    for (int j = 0; j < kNr && first + j < n; ++j) {
      blocks::with(type,
                   [&]<class Type>(Type) { unpack_column<Type>(rows + (first + j) * row_bytes, k0, k, q + j, d + j); });
    }
  }
}

// One output: group after group an exact sum of integers, times d; less m times the sum of the row's integers.
template <class Type>
float integer_chain(const Rows16& x, int row, const int8_t* q, const float* d, int k, float total) {
  for (int first = 0; first < k; first += Type::shared) {
    int sum = 0;
    for (int i = first; i < first + Type::shared; ++i) sum += x.values[(i / 2 * kMr16 + row) * 2 + i % 2] * q[i * kNr];
    const int group = first / kGroup;
    total = fma1(static_cast<float>(sum), d[group * kNr], total);
    if (!Type::minima) continue;
    const float* sums = x.sums + group * kMr16 + row;
    total = fma1(Type::shared == kGroup ? -sums[0] : -(sums[0] + sums[kMr16]), d[(k / kGroup + group) * kNr], total);
  }
  return total;
}

void multiply16(DType type, const Rows16& x, int m, const uint8_t* panels, int n, int k, bool resume, float* y,
                size_t ldy, Ahead&) {
  for (int row = 0; row < m; ++row) {
    for (int j = 0; j < n; ++j) {
      const uint8_t* panel = panels + j / kNr * panel_bytes(k);
      const int8_t* q = reinterpret_cast<const int8_t*>(panel) + j % kNr;
      const float* d = reinterpret_cast<const float*>(panel + static_cast<size_t>(k) * kNr) + j % kNr;
      float& out = y[row * ldy + j];
      blocks::with(type, [&]<class Type>(Type) { out = integer_chain<Type>(x, row, q, d, k, resume ? out : 0.0f); });
      if (x.scales != nullptr) out *= x.scales[row];
    }
  }
}

// A sum along a row: lane i % 16 takes value i, zeros behind the last one.
template <class Type>
float dot_row(const uint8_t* row, int k, const float* query) {
  float lanes[kLanes] = {};
  for (int i = 0; i < (k + kLanes - 1) / kLanes * kLanes; ++i) {
    lanes[i % kLanes] = fma1(i < k ? Type::value(row, i) : 0.0f, query[i], lanes[i % kLanes]);
  }
  Lanes sums;
  __builtin_memcpy(&sums, lanes, sizeof sums);
  return fold(sums);
}

void dots(DType type, const uint8_t* rows, int n, int k, const float* query, float* out) {
  for (int i = 0; i < n; ++i) {
    const size_t values = static_cast<size_t>(i) * k;
    out[i] = type == DType::f16 ? dot_row<F16>(rows + 2 * values, k, query) : dot_row<F32>(rows + 4 * values, k, query);
  }
}

void dots16(const int8_t* rows, int n, int k, const int16_t* query, int32_t* out) {
  for (int i = 0; i < n; ++i, rows += k) {
    out[i] = 0;
    for (int j = 0; j < k; ++j) out[i] += rows[j] * query[j];
  }
}

}  // namespace

extern const Backend backend_scalar;
constinit const Backend backend_scalar = {
    "scalar",        0,          kMr,     kNr,         pack_rows,     pack_panels,
    multiply_packed, kMr16,      largest, pack_rows16, pack_panels16, multiply16,
    finish,          layer_norm, attend,  accumulate,  dots,          dots16,
};

}  // namespace bankml
