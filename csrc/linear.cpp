#include "linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stage.h"

namespace bankml {

namespace {

bool in_blocks(const Matrix& w) { return info(w.type).block > 1; }

int tiles(int mr, int m) { return (m + mr - 1) / mr; }

// Where the tile of rows `tile` begins in the k block at k0, in values; a block holds all its tiles one after the
// other.
size_t offset(int mr, int m, int tile, int k0, int k) {
  const size_t padded = static_cast<size_t>(tiles(mr, m)) * mr;
  return padded * k0 + static_cast<size_t>(tile) * mr * k;
}

template <class T>
void grow(std::vector<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

// Calls act(first row, rows, tile) for every tile of m rows.
template <class Act>
void for_tiles(const Crew& crew, int mr, int m, const Act& act) {
  Counter work(tiles(mr, m));
  crew.turn.run(crew.threads, [&](int) {
    const Timed timed(Stage::rows);
    for (int64_t item; (item = work.next()) >= 0;) {
      const int tile = static_cast<int>(item), row = tile * mr;
      act(row, std::min(mr, m - row), tile);
    }
  });
}

void pack_floats(const Crew& crew, const Input& x, Packed& packed) {
  const int mr = crew.backend.mr;
  grow(packed.floats, offset(mr, x.m, 0, x.k, 0));
  for_tiles(crew, mr, x.m, [&](int row, int m, int tile) {
    for (int k0 = 0; k0 < x.k; k0 += kKBlock) {
      const int k = std::min(kKBlock, x.k - k0);
      float* to = packed.floats.data() + offset(mr, x.m, tile, k0, k);
      crew.backend.pack_rows(x.x + row * x.ldx + k0, x.ldx, m, k, to);
    }
  });
}

void pack_integers(const Crew& crew, const Input& x, bool sums, Packed& packed) {
  const int mr = crew.backend.mr16;
  const size_t size = offset(mr, x.m, 0, x.k, 0);
  grow(packed.integers, size);
  grow(packed.sums, sums ? size / 16 : 0);
  grow(packed.scales, x.m);
  for_tiles(crew, mr, x.m, [&](int row, int m, int tile) {
    float inverse[kMaxTile];
    for (int i = 0; i < m; ++i) {
      packed.scales[row + i] = scale_of(crew.backend, x.x + (row + i) * x.ldx, x.k, inverse[i]);
    }
    for (int k0 = 0; k0 < x.k; k0 += kKBlock) {
      const int k = std::min(kKBlock, x.k - k0);
      const size_t at = offset(mr, x.m, tile, k0, k);
      float* to_sums = sums ? packed.sums.data() + at / 16 : nullptr;
      crew.backend.pack_rows16(x.x + row * x.ldx + k0, x.ldx, m, k, inverse, packed.integers.data() + at, to_sums);
    }
  });
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

// Inputs k0 … k0 + k of a tile of rows times the panels of a chunk.
struct Step {
  int row, m, tile;  // rows
  int k0, k;         // inputs
  bool last;         // no more inputs follow
};

void multiply_tile(const Backend& backend, const Packed& packed, int m, const Chunk& chunk, const Step& step,
                   const float* panels, Ahead& ahead) {
  const Product& p = *chunk.p;
  float* y = p.y + step.row * p.ldy + chunk.n0;
  if (!in_blocks(p.w)) {
    const float* rows = packed.floats.data() + offset(backend.mr, m, step.tile, step.k0, step.k);
    backend.multiply(rows, step.m, panels, chunk.n, step.k, step.k0 > 0, y, p.ldy, ahead);
    return;
  }
  const size_t at = offset(backend.mr16, m, step.tile, step.k0, step.k);
  const Rows16 rows{packed.integers.data() + at, packed.sums.data() + at / 16,
                    step.last ? packed.scales.data() + step.row : nullptr};
  backend.multiply16(p.w.type, rows, step.m, reinterpret_cast<const uint8_t*>(panels), chunk.n, step.k, step.k0 > 0, y,
                     p.ldy, ahead);
}

void pack_panels(const Backend& backend, const Chunk& chunk, int k0, int k, float* panels) {
  const Timed timed(Stage::panels);
  const Matrix& w = chunk.p->w;
  const uint8_t* rows = w.data + w.row_bytes() * chunk.n0;
  if (in_blocks(w)) {
    backend.pack_panels16(w.type, rows, w.row_bytes(), chunk.n, k0, k, reinterpret_cast<uint8_t*>(panels));
  } else {
    backend.pack_panels(w.type, rows, w.row_bytes(), chunk.n, k0, k, panels);
  }
}

// One chunk of outputs of one product, for all m rows; `next` is this thread's next one.
void multiply_chunk(const Backend& backend, const Packed& packed, int m, const Chunk& chunk, const Chunk& next,
                    float* panels) {
  const Timed timed(Stage::tiles);
  const Product& p = *chunk.p;
  const int mr = in_blocks(p.w) ? backend.mr16 : backend.mr;
  for (int k0 = 0; k0 < p.w.k; k0 += kKBlock) {
    const int k = std::min(kKBlock, p.w.k - k0);
    const bool last = k0 + k == p.w.k;
    pack_panels(backend, chunk, k0, k, panels);
    Ahead ahead = last ? ahead_of(next, 0) : ahead_of(chunk, k0 + k);
    for (int tile = 0; tile < tiles(mr, m); ++tile) {
      const int row = tile * mr, rows = std::min(mr, m - row);
      multiply_tile(backend, packed, m, chunk, {row, rows, tile, k0, k, last}, panels, ahead);
      if (!last) continue;
      const Timed finishing(Stage::finish);
      const float* residual = p.residual == nullptr ? nullptr : p.residual + row * p.ldr + chunk.n0;
      float* y = p.y + row * p.ldy + chunk.n0;
      backend.finish(y, p.ldy, rows, chunk.n, p.bias + chunk.n0, p.act, residual, p.ldr);
    }
  }
}

}  // namespace

float scale_of(const Backend& backend, const float* x, int k, float& inverse) {
  constexpr float kTop = 32767.0f, kLeast = 0x1p-110f;
  const float largest = backend.largest(x, k);
  inverse = largest >= kLeast && std::isfinite(largest) ? kTop / largest : 0.0f;
  if (!std::isfinite(largest)) return std::numeric_limits<float>::quiet_NaN();
  return largest >= kLeast ? largest / kTop : 0.0f;
}

size_t Packed::bytes() const {
  return sizeof(float) * (floats.capacity() + sums.capacity() + scales.capacity()) +
         sizeof(int16_t) * integers.capacity();
}

void multiply(const Crew& crew, const Input& x, std::span<const Product> products, Packed& packed) {
  const auto any = [&](auto is) { return std::any_of(products.begin(), products.end(), is); };
  if (any([](const Product& p) { return !in_blocks(p.w); })) pack_floats(crew, x, packed);
  if (any([](const Product& p) { return in_blocks(p.w); })) {
    pack_integers(crew, x, any([](const Product& p) { return info(p.w.type).minima; }), packed);
  }
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
      multiply_chunk(crew.backend, packed, x.m, now, next, crew.of(thread));
    }
  });
}

}  // namespace bankml
