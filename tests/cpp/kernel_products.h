// A whole product by a backend's own packing and tiles, as linear.cpp makes it, with canaries behind every buffer.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "kernel_data.h"
#include "kernels/backend.h"
#include "linear.h"

namespace bankml::testing {

inline void require_intact(const Guarded& buffer) {
  if (!buffer.intact()) throw std::logic_error("written beyond the end of a buffer");
}

struct Weights {
  DType type = DType::f32;
  int n = 0, k = 0;
  std::vector<uint8_t> bytes;

  bool in_blocks() const { return info(type).block > 1; }
  size_t row_bytes() const { return dtype_row_bytes(type, k); }
};

struct Rows {
  const float* x;  // (m, weights.k), rows ldx apart
  size_t ldx;
  int m;
};

// Inputs k0 … k0 + k of rows row … row + m.
struct Part {
  int k0, k, row, m;
};

inline Guarded panels_of(const Backend& backend, const Weights& w, int k0, int k) {
  Guarded panels(static_cast<size_t>((w.n + backend.nr - 1) / backend.nr * backend.nr) * k);
  if (w.in_blocks()) {
    uint8_t* bytes = reinterpret_cast<uint8_t*>(panels.data());
    backend.pack_panels16(w.type, w.bytes.data(), w.row_bytes(), w.n, k0, k, bytes);
  } else {
    backend.pack_panels(w.type, w.bytes.data(), w.row_bytes(), w.n, k0, k, panels.data());
  }
  require_intact(panels);
  return panels;
}

inline void multiply_floats(const Backend& backend, const Rows& rows, const Weights& w, const Part& part,
                            Guarded& panels, float* y, size_t ldy, Ahead& ahead) {
  Guarded packed(static_cast<size_t>(backend.mr) * part.k);
  backend.pack_rows(rows.x + part.row * rows.ldx + part.k0, rows.ldx, part.m, part.k, packed.data());
  require_intact(packed);
  backend.multiply(packed.data(), part.m, panels.data(), w.n, part.k, part.k0 > 0, y, ldy, ahead);
}

inline void multiply_integers(const Backend& backend, const Rows& rows, const Weights& w, const Part& part,
                              Guarded& panels, float* y, size_t ldy, Ahead& ahead) {
  const float* x = rows.x + part.row * rows.ldx;
  std::vector<float> scales(part.m), inverse(backend.mr16);
  for (int i = 0; i < part.m; ++i) scales[i] = scale_of(backend, x + i * rows.ldx, w.k, inverse[i]);
  Guarded packed(static_cast<size_t>(backend.mr16) * part.k / 2), sums(static_cast<size_t>(backend.mr16) * part.k / 16);
  int16_t* values = reinterpret_cast<int16_t*>(packed.data());
  backend.pack_rows16(x + part.k0, rows.ldx, part.m, part.k, inverse.data(), values, sums.data());
  require_intact(packed);
  require_intact(sums);
  const bool last = part.k0 + part.k == w.k;
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(panels.data());
  backend.multiply16(w.type, {values, sums.data(), last ? scales.data() : nullptr}, part.m, bytes, w.n, part.k,
                     part.k0 > 0, y, ldy, ahead);
}

// y (m, n), rows ldy apart, inputs in blocks that end at `ends`; with weights to fetch ahead or without.
inline Guarded product(const Backend& backend, const Rows& rows, const Weights& w, size_t ldy,
                       const std::vector<int>& ends, bool fetching) {
  Guarded y(rows.m * ldy);
  const int mr = w.in_blocks() ? backend.mr16 : backend.mr;
  int k0 = 0;
  for (const int end : ends) {
    if (end == k0) continue;
    Guarded panels = panels_of(backend, w, k0, end - k0);
    Ahead ahead;
    if (fetching) ahead = {w.bytes.data(), w.row_bytes(), w.row_bytes(), w.n};
    for (int row = 0; row < rows.m; row += mr) {
      const Part part{k0, end - k0, row, std::min(mr, rows.m - row)};
      const auto multiply = w.in_blocks() ? multiply_integers : multiply_floats;
      multiply(backend, rows, w, part, panels, y.data() + row * ldy, ldy, ahead);
    }
    k0 = end;
  }
  require_intact(y);
  return y;
}

}  // namespace bankml::testing
