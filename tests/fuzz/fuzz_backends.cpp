// Every backend that this CPU runs against scalar, over any shapes and finite values: panels and elementwise work equal
// to the bit, sums within the bound of docs/numerics.md, nothing written where nothing belongs. Denormals are flushed,
// as wherever the engine computes.
//
// Input: which function, shapes, a filling for each array, then the arrays' bytes, which begin anew when they run out.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "../../csrc/cpu.h"
#include "../../csrc/kernels/registry.h"
#include "../cpp/kernel_products.h"

using namespace bankml;
using namespace bankml::testing;

namespace {

using Floats = std::vector<float>;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  // The next byte; the second time round they are others, so that rows differ.
  uint8_t byte() {
    const uint8_t turn = static_cast<uint8_t>(at_ / size_ * 0x9d);
    return data_[at_++ % size_] ^ turn;
  }
  int up_to(int most) { return 1 + byte() % most; }

  // A finite number: the bits as they come, or a small one of few bits.
  float number(bool any) {
    if (!any) return static_cast<float>(static_cast<int8_t>(byte())) * 0x1p-5f;
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits = bits << 8 | byte();
    return std::bit_cast<float>((bits & 0x7f800000) == 0x7f800000 ? bits ^ 0x40000000 : bits);
  }
  Floats numbers(size_t count) {
    const uint8_t filling = byte();
    Floats out(count);
    for (float& value : out) value = number(filling % 8 == 0 || (filling % 8 == 1 && byte() % 16 == 0));
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

// The same bits, or both without a value.
bool same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b); }

bool same(const Guarded& a, const Guarded& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return a.intact() && b.intact();
}

// Any bytes but for halves that are not finite.
Weights weights(Bytes& in) {
  Weights w{kTypes[in.byte() % std::size(kTypes)], in.up_to(49), 0, {}};
  const DTypeInfo& type = info(w.type);
  w.k = type.block == 1 ? in.up_to(100) : type.block * in.up_to(type.block == 32 ? 5 : 2);
  const size_t count = static_cast<size_t>(w.n) * w.k;
  if (type.block == 1) {
    const Floats values = in.numbers(count);
    for (const float value : values) {
      const uint32_t bits = std::bit_cast<uint32_t>(value);
      for (int i = 4 - type.block_bytes; i < 4; ++i) w.bytes.push_back(static_cast<uint8_t>(bits >> 8 * i));
    }
  } else {
    w.bytes.resize(count / type.block * type.block_bytes);
    for (uint8_t& byte : w.bytes) byte = in.byte();
  }
  for (size_t block = 0; block < w.bytes.size(); block += type.block_bytes) {
    for (const int half : halves(w.type)) {
      uint8_t& upper = w.bytes[block + half + 1];
      if ((upper & 0x7c) == 0x7c) upper ^= 0x40;
    }
  }
  require(type.finite(w.bytes.data(), count));
  return w;
}

// |Δ| ≤ 2·k·2⁻²⁴·Σ|x·w|, and 2⁻¹²⁶ for each sum that may have been flushed; sums that may overflow are not compared.
bool close(const Rows& rows, const Weights& w, int row, const float* widened, float a, float b) {
  double size = 0;
  for (int i = 0; i < w.k; ++i) size += std::fabs(double{rows.x[row * rows.ldx + i]} * widened[i]);
  return size > 1e38 || std::fabs(double{a} - b) <= 2 * w.k * (0x1p-24 * size + 0x1p-126);
}

// Weights in blocks are multiplied exactly and added in one order: the same bits. Others are close.
void check_sums(const Rows& rows, const Weights& w, size_t ldy, const Guarded& ours, const Guarded& scalar) {
  Floats widened(w.k);
  for (int j = 0; j < w.n; ++j) {
    info(w.type).widen(w.bytes.data() + j * w.row_bytes(), widened.data(), w.k);
    for (int row = 0; row < rows.m; ++row) {
      const float a = ours[row * ldy + j], b = scalar[row * ldy + j];
      require(w.in_blocks() ? same(a, b) : close(rows, w, row, widened.data(), a, b));
    }
  }
  for (int row = 0; row < rows.m; ++row) {
    for (size_t j = w.n; j < ldy; ++j) require(ours[row * ldy + j] == kPoison);
  }
}

void check_product(const Backend& backend, const Backend& scalar, Bytes in) {
  const Weights w = weights(in);
  const int m = in.up_to(13), block = info(w.type).block;
  const size_t ldx = w.k + size_t{in.byte()} % 4, ldy = w.n + size_t{in.byte()} % 4;
  const bool fetching = in.byte() % 2 == 0;
  const std::vector<int> ends = {block * (in.byte() % (w.k / block + 1)), w.k};
  const Floats x = in.numbers(m * ldx);
  const Rows rows{x.data(), ldx, m};
  check_sums(rows, w, ldy, product(backend, rows, w, ldy, ends, fetching), product(scalar, rows, w, ldy, ends, false));
}

// Every bit of panels of floats, whose layout is the same for all backends.
void check_panels(const Backend& backend, const Backend&, Bytes in) {
  const Weights w = weights(in);
  if (w.in_blocks()) return;
  const Guarded panels = panels_of(backend, w, 0, w.k);
  Floats widened(w.k);
  for (int j = 0; j < w.n; ++j) {
    info(w.type).widen(w.bytes.data() + j * w.row_bytes(), widened.data(), w.k);
    const size_t column = static_cast<size_t>(j / backend.nr) * w.k * backend.nr + j % backend.nr;
    for (int i = 0; i < w.k; ++i) require(same(panels[column + i * backend.nr], widened[i]));
  }
}

void check_finish(const Backend& backend, const Backend& scalar, Bytes in) {
  const int m = in.up_to(4), n = in.up_to(60);
  const size_t ldy = n + in.byte() % 4;
  const Act act = static_cast<Act>(in.byte() % 3);
  const bool adds = in.byte() % 2 == 0;
  const Floats start = in.numbers(m * ldy), bias = in.numbers(n), residual = in.numbers(m * ldy);
  Guarded ours(start), truth(start);
  for (const auto& [which, y] : {std::pair{&backend, &ours}, std::pair{&scalar, &truth}}) {
    which->finish(y->data(), ldy, m, n, bias.data(), act, adds ? residual.data() : nullptr, ldy);
  }
  require(same(ours, truth));
}

void check_layer_norm(const Backend& backend, const Backend& scalar, Bytes in) {
  const int k = in.up_to(200);
  const Floats x = in.numbers(k), w = in.numbers(k), b = in.numbers(k);
  Guarded ours(x), truth(k);
  backend.layer_norm(ours.data(), k, w.data(), b.data(), 1e-5f, ours.data());  // in place, as the engine does
  scalar.layer_norm(x.data(), k, w.data(), b.data(), 1e-5f, truth.data());
  require(same(ours, truth));
}

void check_accumulate(const Backend& backend, const Backend& scalar, Bytes in) {
  const int k = in.up_to(200);
  const Floats x = in.numbers(k), start = in.numbers(k);
  Guarded ours(start), truth(start);
  backend.accumulate(x.data(), k, ours.data());
  scalar.accumulate(x.data(), k, truth.data());
  require(same(ours, truth));
}

struct Heads {
  int queries, keys, dim;
  size_t ld;
  Floats q, k, v;

  float scale() const { return 1 / std::sqrt(static_cast<float>(dim)); }
  Guarded run(const Backend& backend) const {
    Guarded out(queries * ld), scratch(attention_scratch(dim));
    backend.attend({q.data(), ld, queries, k.data(), v.data(), ld, keys, dim, scale(), out.data(), ld}, scratch.data());
    require(out.intact() && scratch.intact());
    return out;
  }
  // What a rounding of its scores can change of query `row`: each score by 2·dim·2⁻²⁴·Σ|q·k|/√dim.
  double shift(int row) const {
    double most = 0;
    for (int key = 0; key < keys; ++key) {
      double size = 0;
      for (int d = 0; d < dim; ++d) size += std::fabs(double{q[row * ld + d]} * k[key * ld + d]);
      most = std::max(most, 2 * dim * 0x1p-24 * size * scale());
    }
    return most;
  }
};

// |Δ| ≤ (2·shift + 4·(keys + 64)·2⁻²⁴)·max|v|: weights off by the scores' rounding, sums of `keys` terms, exp, a
// quotient.
void check_attention(const Backend& backend, const Backend& scalar, Bytes in) {
  Heads heads{in.up_to(20), in.up_to(200), in.up_to(70), 0, {}, {}, {}};
  heads.ld = heads.dim + in.byte() % 4;
  heads.q = in.numbers(heads.queries * heads.ld);
  heads.k = in.numbers(heads.keys * heads.ld);
  heads.v = in.numbers(heads.keys * heads.ld);
  const Guarded ours = heads.run(backend), truth = heads.run(scalar);
  double largest = 0;
  for (const float value : heads.v) largest = std::max(largest, std::fabs(double{value}));
  for (int row = 0; row < heads.queries; ++row) {
    const double shift = heads.shift(row), bound = 2 * shift + 4 * (heads.keys + 64) * 0x1p-24;
    for (size_t d = 0; d < heads.ld; ++d) {
      const float a = ours[row * heads.ld + d], b = truth[row * heads.ld + d];
      if (d >= static_cast<size_t>(heads.dim)) {
        require(a == kPoison && b == kPoison);
      } else if (shift < 0.5 && largest < 1e36) {
        require(std::fabs(double{a} - b) <= bound * largest + heads.keys * 0x1p-126);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<const Backend*> backends = available_backends();
  constexpr std::array kChecks = {check_product,    check_finish,    check_layer_norm,
                                  check_accumulate, check_attention, check_panels};
  if (size < 2) return 0;
  const FlushDenormals flush;
  for (const Backend* backend : backends) {
    kChecks[data[0] % kChecks.size()](*backend, *backends.back(), Bytes(data + 1, size - 1));
  }
  return 0;
}
