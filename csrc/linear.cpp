#include "linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "stage.h"

namespace bankml {

namespace {

bool in_blocks(const Matrix& w) { return info(w.type).block > 1; }

// Of so many rows each, or panels of so many outputs.
int tiles(int size, int count) { return (count + size - 1) / size; }

// Rows row … row + m. A product's rows are shared out evenly: 15 rows are 3 tiles of 5, not 6, 6 and 3, because a tile
// of few rows waits for its own sums (3 rows of 6 take as long as 4).
struct Tile {
  int row, m;
};

Tile tile_of(int mr, int m, int index) {
  const int count = tiles(mr, m), least = m / count, more = m % count;
  return {index * least + std::min(index, more), least + (index < more ? 1 : 0)};
}

// Where input k0 of a tile of rows stands, in values; a tile holds its k inputs one after the other, mr rows wide.
size_t offset(int mr, int index, int k0, int k) { return (static_cast<size_t>(index) * k + k0) * mr; }

template <class T>
void grow(std::vector<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

// Calls act(tile, its index) for every tile of m rows.
template <class Act>
void for_tiles(const Crew& crew, int mr, int m, const Act& act) {
  crew.share(tiles(mr, m), [&](int64_t item, int) {
    const Timed timed(Stage::rows);
    const int index = static_cast<int>(item);
    act(tile_of(mr, m, index), index);
  });
}

void pack_floats(const Crew& crew, const Input& x, Packed& packed) {
  const int mr = crew.backend.mr;
  grow(packed.floats, offset(mr, tiles(mr, x.m), 0, x.k));
  for_tiles(crew, mr, x.m, [&](const Tile& tile, int index) {
    float* to = packed.floats.data() + offset(mr, index, 0, x.k);
    crew.backend.pack_rows(x.x + tile.row * x.ldx, x.ldx, tile.m, x.k, to);
  });
}

void pack_integers(const Crew& crew, const Input& x, bool sums, Packed& packed) {
  const int mr = crew.backend.mr16;
  const size_t size = offset(mr, tiles(mr, x.m), 0, x.k);
  grow(packed.integers, size);
  grow(packed.sums, sums ? size / 16 : 0);
  grow(packed.scales, x.m);
  for_tiles(crew, mr, x.m, [&](const Tile& tile, int index) {
    const auto [row, m] = tile;
    float inverse[kMaxTile];
    for (int i = 0; i < m; ++i) {
      packed.scales[row + i] = scale_of(crew.backend, x.x + (row + i) * x.ldx, x.k, inverse[i]);
    }
    const size_t at = offset(mr, index, 0, x.k);
    float* to_sums = sums ? packed.sums.data() + at / 16 : nullptr;
    crew.backend.pack_rows16(x.x + row * x.ldx, x.ldx, m, x.k, inverse, packed.integers.data() + at, to_sums);
  });
}

struct Chunk {
  const Product* p = nullptr;
  int n0 = 0, n = 0;
};

// Shares out the outputs of all products in whole panels: large chunks first, single panels at the end, so that no
// thread waits long for another's last one.
class Outputs {
 public:
  Outputs(std::span<const Product> products, const Backend& backend, int threads)
      : products_(products), nr_(backend.nr), most_(kMaxChunk / backend.nr), shares_(2 * threads) {
    for (const Product& p : products_) total_ += panels(p);
  }

  // The next chunk, never of two products; an empty one when all are given.
  Chunk take() {
    int at = next_.load(std::memory_order_relaxed), panel, count;
    const Product* p;
    do {
      if (at >= total_) return {};
      p = products_.data();
      for (panel = at; panel >= panels(*p); ++p) panel -= panels(*p);
      count = std::min(std::clamp((total_ - at) / shares_, 1, most_), panels(*p) - panel);
    } while (!next_.compare_exchange_weak(at, at + count, std::memory_order_relaxed));
    return {p, panel * nr_, std::min(count * nr_, p->w.n - panel * nr_)};
  }

 private:
  int panels(const Product& p) const { return tiles(nr_, p.w.n); }

  std::span<const Product> products_;
  int nr_;
  int most_;    // panels of a chunk
  int shares_;  // a chunk is at most one of so many parts of the panels left
  int total_ = 0;
  std::atomic<int> next_{0};
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
  Tile tile;
  int index;  // of the tile
  int k0, k;
  bool last;  // no more inputs follow
};

void multiply_tile(const Backend& backend, const Packed& packed, const Chunk& chunk, const Step& step,
                   const float* panels, Ahead& ahead) {
  const Product& p = *chunk.p;
  float* y = p.y + step.tile.row * p.ldy + chunk.n0;
  if (!in_blocks(p.w)) {
    const float* rows = packed.floats.data() + offset(backend.mr, step.index, step.k0, p.w.k);
    backend.multiply(rows, step.tile.m, panels, chunk.n, step.k, step.k0 > 0, y, p.ldy, ahead);
    return;
  }
  const size_t at = offset(backend.mr16, step.index, step.k0, p.w.k);
  const Rows16 rows{packed.integers.data() + at, packed.sums.data() + at / 16,
                    step.last ? packed.scales.data() + step.tile.row : nullptr};
  backend.multiply16(p.w.type, rows, step.tile.m, reinterpret_cast<const uint8_t*>(panels), chunk.n, step.k,
                     step.k0 > 0, y, p.ldy, ahead);
}

void finish_tile(const Backend& backend, const Chunk& chunk, const Tile& tile) {
  const Timed timed(Stage::finish);
  const Product& p = *chunk.p;
  const float* residual = p.residual == nullptr ? nullptr : p.residual + tile.row * p.ldr + chunk.n0;
  float* y = p.y + tile.row * p.ldy + chunk.n0;
  backend.finish(y, p.ldy, tile.m, chunk.n, p.bias + chunk.n0, p.act, residual, p.ldr);
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
  const Matrix& w = chunk.p->w;
  const int mr = in_blocks(w) ? backend.mr16 : backend.mr;
  for (int k0 = 0; k0 < w.k; k0 += kKBlock) {
    const int k = std::min(kKBlock, w.k - k0);
    const bool last = k0 + k == w.k;
    pack_panels(backend, chunk, k0, k, panels);
    Ahead ahead = last ? ahead_of(next, 0) : ahead_of(chunk, k0 + k);
    for (int index = 0; index < tiles(mr, m); ++index) {
      const Tile tile = tile_of(mr, m, index);
      multiply_tile(backend, packed, chunk, {tile, index, k0, k, last}, panels, ahead);
      if (last) finish_tile(backend, chunk, tile);
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
  Outputs outputs(products, crew.backend, crew.threads);
  crew.turn.run(crew.threads, [&](int thread) {
    const Timed timed(Stage::tiles);
    for (Chunk now = outputs.take(), next; now.p != nullptr; now = next) {
      next = outputs.take();
      multiply_chunk(crew.backend, packed, x.m, now, next, crew.of(thread));
    }
  });
}

}  // namespace bankml
