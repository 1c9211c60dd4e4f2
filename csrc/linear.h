// y = act(x Wᵀ + b) + r for several weight matrices over the same rows x: packing, blocking and threads. The only
// caller of the backends' products.
//
// x is packed once into k-major tiles that all threads share, as floats or, for weights in blocks, as 16-bit integers.
// A thread takes a chunk of outputs, packs just those weights into its own panels (second-level cache, k up to kKBlock
// at once) and runs every row tile over them.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"
#include "threads.h"

namespace bankml {

constexpr int kKBlock = 1024;  // inputs widened at once; sums are stored to y and resumed between blocks
constexpr int kMaxChunk = 64;  // outputs a thread widens at once: 64 · 1,024 · 4 B = 256 KB

// A weight matrix in the file: n outputs (rows) of k inputs.
struct Matrix {
  DType type = DType::f32;
  const uint8_t* data = nullptr;
  int n = 0, k = 0;
  size_t row_bytes() const { return dtype_row_bytes(type, k); }
};

struct Product {
  Matrix w;
  const float* bias;  // (n)
  Act act = Act::none;
  const float* residual = nullptr;  // (m, n), rows ldr apart, or null
  size_t ldr = 0;
  float* y = nullptr;  // (m, n), rows ldy apart
  size_t ldy = 0;
};

// The threads and the backend of one pass, with a buffer of scratch floats a thread. Denormals are flushed by the
// caller and in every thread.
struct Crew {
  const Backend& backend;
  Turn& turn;
  int threads;
  float* scratch;  // (threads, scratch_stride)
  size_t scratch_stride;
  float* of(int thread) const { return scratch + scratch_stride * static_cast<size_t>(thread); }

  // Calls act(item, thread) for the items 0 … items − 1; a single one is done at once, without the other threads.
  template <class Action>
  void share(int64_t items, const Action& act) const {
    if (items == 1) return act(0, 0);
    Counter work(items);
    turn.run(threads, [&](int thread) {
      for (int64_t item; (item = work.next()) >= 0;) act(item, thread);
    });
  }
};

// Floats of scratch a thread needs for panels.
constexpr size_t panel_scratch() { return size_t{kMaxChunk + kMaxTile} * kKBlock; }

// The rows of a product as its backends take them, in floats or integers; kept from product to product.
struct Packed {
  std::vector<float> floats;      // tiles (k, mr)
  std::vector<int16_t> integers;  // tiles (k / 2, mr16, 2)
  std::vector<float> sums;        // tiles (k / 16, mr16)
  std::vector<float> scales;      // (m)
  size_t bytes() const;
};

// The scale of a row of 16-bit integers, and what its values are multiplied by to become them. A row that is all but
// zero is zeros; one that is not finite has the scale NaN, so that its outputs are not finite either.
float scale_of(const Backend& backend, const float* x, int k, float& inverse);

// Rows x (m, k), ldx apart.
struct Input {
  const float* x;
  size_t ldx;
  int m, k;
};

// All of `products` over the same rows, whose length is each product's k.
void multiply(const Crew& crew, const Input& x, std::span<const Product> products, Packed& packed);

}  // namespace bankml
