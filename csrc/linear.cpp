#include "linear.h"

#include <algorithm>

namespace bankml {

namespace {

int tiles(const Backend& backend, int m) { return (m + backend.mr - 1) / backend.mr; }

// Where the tile of rows `tile` begins in the k block at k0; a block holds all its tiles one after the other.
size_t packed_offset(const Backend& backend, int m, int tile, int k0, int k) {
  const size_t padded = static_cast<size_t>(tiles(backend, m)) * backend.mr;
  return padded * k0 + static_cast<size_t>(tile) * backend.mr * k;
}

// Outputs a work item covers: enough items for the threads to share evenly, never less than one panel.
int chunk_of(const Crew& crew, int outputs) {
  const int share = outputs / (3 * crew.threads) / crew.backend.nr * crew.backend.nr;
  return std::clamp(share, crew.backend.nr, kMaxChunk);
}

struct Chunk {
  const Product* p = nullptr;
  int n0 = 0, n = 0;
};

// What packing reads of a chunk for the inputs from k0 on.
Ahead ahead_of(const Chunk& chunk, int k0) {
  if (chunk.p == nullptr) return {};
  const Matrix& w = chunk.p->w;
  const size_t begin = w.row_bytes() * k0 / w.k, end = w.row_bytes() * std::min(w.k, k0 + kKBlock) / w.k;
  return {w.data + w.row_bytes() * chunk.n0 + begin, w.row_bytes(), end - begin, chunk.n};
}

// One chunk of outputs of one product, for all m rows; `next` is this thread's next one.
void multiply_chunk(const Backend& backend, const float* packed, int m, const Chunk& chunk, const Chunk& next,
                    float* panels) {
  const Product& p = *chunk.p;
  const Matrix& w = p.w;
  const int n0 = chunk.n0, n = chunk.n;
  for (int k0 = 0; k0 < w.k; k0 += kKBlock) {
    const int k = std::min(kKBlock, w.k - k0);
    backend.pack_panels(w.type, w.data + w.row_bytes() * n0, w.row_bytes(), n, k0, k, panels);
    Ahead ahead = k0 + k < w.k ? ahead_of(chunk, k0 + k) : ahead_of(next, 0);
    for (int tile = 0; tile < tiles(backend, m); ++tile) {
      const int row = tile * backend.mr;
      const int rows = std::min(backend.mr, m - row);
      float* y = p.y + row * p.ldy + n0;
      backend.multiply(packed + packed_offset(backend, m, tile, k0, k), rows, panels, n, k, k0 > 0, y, p.ldy, ahead);
      if (k0 + k < w.k) continue;
      const float* residual = p.residual == nullptr ? nullptr : p.residual + row * p.ldr + n0;
      backend.finish(y, p.ldy, rows, n, p.bias + n0, p.act, residual, p.ldr);
    }
  }
}

}  // namespace

size_t packed_size(const Backend& backend, int m, int k) {
  return static_cast<size_t>(tiles(backend, m)) * backend.mr * k;
}

void pack(const Crew& crew, const float* x, size_t ldx, int m, int k, float* packed) {
  const Backend& backend = crew.backend;
  Counter work(tiles(backend, m));
  crew.turn.run(crew.threads, [&](int) {
    for (int64_t item; (item = work.next()) >= 0;) {
      const int tile = static_cast<int>(item), row = tile * backend.mr;
      for (int k0 = 0; k0 < k; k0 += kKBlock) {
        const int width = std::min(kKBlock, k - k0);
        backend.pack_rows(x + row * ldx + k0, ldx, std::min(backend.mr, m - row), width,
                          packed + packed_offset(backend, m, tile, k0, width));
      }
    }
  });
}

void multiply(const Crew& crew, const float* packed, int m, std::span<const Product> products) {
  int outputs = 0;
  for (const Product& p : products) outputs += p.w.n;
  const int chunk = chunk_of(crew, outputs);
  int64_t items = 0;
  for (const Product& p : products) items += (p.w.n + chunk - 1) / chunk;
  Counter work(items);
  const auto take = [&]() -> Chunk {
    int64_t item = work.next();
    if (item < 0) return {};
    const Product* p = products.data();
    for (; item >= (p->w.n + chunk - 1) / chunk; ++p) item -= (p->w.n + chunk - 1) / chunk;
    const int n0 = static_cast<int>(item) * chunk;
    return {p, n0, std::min(chunk, p->w.n - n0)};
  };
  crew.turn.run(crew.threads, [&](int thread) {
    for (Chunk now = take(), next; now.p != nullptr; now = next) {
      next = take();
      multiply_chunk(crew.backend, packed, m, now, next, crew.of(thread));
    }
  });
}

}  // namespace bankml
