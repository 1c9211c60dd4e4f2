#include "nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "cpu.h"
#include "error.h"
#include "mapping.h"
#include "threads.h"

namespace bankml {

namespace {

constexpr int kRows = 512;               // rows whose products exist at once
constexpr size_t kBlockBytes = 1 << 20;  // of one piece of work: kernels fetch 16 KB ahead, into another thread's piece
constexpr size_t kAloneBytes = 2 << 20;  // a matrix below is read sooner (0.1 ms) than other threads are woken
constexpr double kMostSum = (1 << 24) - 1;  // of the |integers| of a query: times 128 it fits an int32

// A query as the kernels take it, and its products with rows.
class Query {
 public:
  Query(const Backend& backend, const Matrix& matrix, const float* query) : backend_(backend), matrix_(matrix) {
    for (int i = 0; i < matrix.dims; ++i) {
      if (!std::isfinite(query[i])) {
        throw input_error("value " + std::to_string(i) + " of the query is " + std::to_string(query[i]) +
                          "; every value must be finite");
      }
    }
    const size_t padded = static_cast<size_t>(matrix.dims + kQueryPad - 1) / kQueryPad * kQueryPad;
    if (matrix.type == Matrix::Type::i8) {
      integers_.resize(padded);
      quantise(query);
    } else {
      floats_.resize(padded);
      std::copy_n(query, matrix.dims, floats_.data());
    }
  }

  // Cosines of rows first … first + count, at most kRows.
  void multiply(int64_t first, int count, float* out) const {
    const uint8_t* rows = matrix_.rows + static_cast<size_t>(first) * matrix_.row_bytes();
    if (matrix_.type == Matrix::Type::i8) return multiply_integers(first, rows, count, out);
    const DType type = matrix_.type == Matrix::Type::f32 ? DType::f32 : DType::f16;
    backend_.dots(type, rows, count, matrix_.dims, floats_.data(), out);
  }

 private:
  // Integers as large as an int16 and the sum of a row allow: round(x / scale).
  void quantise(const float* query) {
    double largest = 0, sum = 0;
    for (int i = 0; i < matrix_.dims; ++i) {
      largest = std::max(largest, std::fabs(double{query[i]}));
      sum += std::fabs(double{query[i]});
    }
    if (largest == 0) return;
    scale_ = std::max(largest / 32767, sum / (kMostSum - matrix_.dims));  // rounding adds a half a value
    for (int i = 0; i < matrix_.dims; ++i) integers_[i] = static_cast<int16_t>(std::nearbyint(query[i] / scale_));
  }

  void multiply_integers(int64_t first, const uint8_t* rows, int count, float* out) const {
    int32_t sums[kRows];
    backend_.dots16(reinterpret_cast<const int8_t*>(rows), count, matrix_.dims, integers_.data(), sums);
    for (int i = 0; i < count; ++i) {
      float scale;
      std::memcpy(&scale, matrix_.scales + sizeof scale * static_cast<size_t>(first + i), sizeof scale);
      out[i] = static_cast<float>(sums[i] * scale_ * scale);
    }
  }

  const Backend& backend_;
  const Matrix& matrix_;
  std::vector<float> floats_;
  std::vector<int16_t> integers_;
  double scale_ = 0;
};

bool before(const Near& a, const Near& b) { return a.cosine != b.cosine ? a.cosine > b.cosine : a.row < b.row; }

// The best k of what was offered, and the first row whose product was not finite.
struct Best {
  size_t k = 0;
  std::vector<Near> heap;  // the last of them on top
  int64_t broken = INT64_MAX;

  void offer(int64_t first, int count, const float* cosines) {
    for (int i = 0; i < count; ++i) {
      if (!std::isfinite(cosines[i])) {
        broken = std::min(broken, first + i);
      } else if (heap.size() < k) {
        heap.push_back({first + i, cosines[i]});
        std::push_heap(heap.begin(), heap.end(), before);
      } else if (before({first + i, cosines[i]}, heap.front())) {
        std::pop_heap(heap.begin(), heap.end(), before);
        heap.back() = {first + i, cosines[i]};
        std::push_heap(heap.begin(), heap.end(), before);
      }
    }
  }
};

// Calls run(first, count) with every run of allowed rows in [first, end), in pieces of at most kRows.
template <class Run>
void over_runs(const uint8_t* allowed, int64_t first, int64_t end, const Run& run) {
  const auto in_pieces = [&run](int64_t from, int64_t to) {
    for (; from < to; from += kRows) run(from, static_cast<int>(std::min<int64_t>(kRows, to - from)));
  };
  if (allowed == nullptr) return in_pieces(first, end);
  while (first < end) {
    const uint8_t* begins = std::find_if(allowed + first, allowed + end, [](uint8_t allows) { return allows != 0; });
    const uint8_t* ends = std::find(begins, allowed + end, 0);
    in_pieces(begins - allowed, ends - allowed);
    first = ends - allowed;
  }
}

void check_finite(int64_t broken) {
  if (broken == INT64_MAX) return;
  throw input_error("row " + std::to_string(broken) +
                    " of the matrix has no finite product with the query: it holds a NaN, an infinity or far too large "
                    "numbers; leave it out or write it anew");
}

// Memory that may be a mapped file: while this lives, a part that the file lost reads as zeros instead of killing the
// process. Where all slots are taken nothing is watched over.
class Watched {
 public:
  Watched(const void* start, size_t size) {
    if (size == 0) return;
    try {
      slot_ = guard_mapping(start, size);
    } catch (const Error&) {
    }
  }
  ~Watched() { unguard_mapping(slot_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  void check() const {
    if (!mapping_damaged(slot_)) return;
    throw Error(ErrorKind::store, "the file of the matrix was truncated while it was searched; write it anew");
  }

 private:
  int slot_ = -1;
};

// A matrix and its scales.
class WatchedMatrix {
 public:
  explicit WatchedMatrix(const Matrix& matrix)
      : rows_(matrix.rows, static_cast<size_t>(matrix.n) * matrix.row_bytes()),
        scales_(matrix.scales, matrix.scales == nullptr ? 0 : sizeof(float) * static_cast<size_t>(matrix.n)) {}
  void check() const {
    rows_.check();
    scales_.check();
  }

 private:
  Watched rows_, scales_;
};

std::vector<Near> merged(std::vector<Best>& parts, size_t k) {
  std::vector<Near> all = std::move(parts[0].heap);
  for (size_t i = 1; i < parts.size(); ++i) all.insert(all.end(), parts[i].heap.begin(), parts[i].heap.end());
  std::sort(all.begin(), all.end(), before);
  if (all.size() > k) all.resize(k);
  return all;
}

}  // namespace

std::vector<Near> nearest(const Backend& backend, int threads, const Matrix& matrix, const float* query, int64_t k,
                          const uint8_t* allowed) {
  const Query prepared(backend, matrix, query);
  const size_t kept = static_cast<size_t>(std::clamp<int64_t>(k, 0, matrix.n));
  if (kept == 0) return {};
  const WatchedMatrix watched(matrix);
  const size_t row_bytes = matrix.row_bytes();  // not 0: there are rows
  const int64_t rows = std::max<int64_t>(1, static_cast<int64_t>(kBlockBytes / row_bytes));
  const bool alone = row_bytes * static_cast<size_t>(matrix.n) < kAloneBytes;
  std::vector<Best> parts(alone ? 1 : std::max(1, threads));
  for (Best& part : parts) {
    part.k = kept;
    part.heap.reserve(kept);  // work must not throw
  }
  Counter blocks((matrix.n + rows - 1) / rows);
  Turn turn{Place(true), std::try_to_lock};
  turn.run(static_cast<int>(parts.size()), [&](int thread) {
    float products[kRows];
    for (int64_t block; (block = blocks.next()) >= 0;) {
      over_runs(allowed, block * rows, std::min(matrix.n, (block + 1) * rows), [&](int64_t first, int count) {
        prepared.multiply(first, count, products);
        parts[thread].offer(first, count, products);
      });
    }
  });
  watched.check();
  int64_t broken = INT64_MAX;
  for (const Best& part : parts) broken = std::min(broken, part.broken);
  check_finite(broken);
  return merged(parts, kept);
}

std::vector<float> cosines(const Backend& backend, const Matrix& matrix, const float* query, const int64_t* rows,
                           size_t count) {
  const Query prepared(backend, matrix, query);
  const WatchedMatrix watched(matrix);
  std::vector<float> out(count);
  int64_t broken = INT64_MAX;
  {
    const FlushDenormals flush;
    for (size_t i = 0; i < count; ++i) {
      prepared.multiply(rows[i], 1, &out[i]);
      if (!std::isfinite(out[i])) broken = std::min(broken, rows[i]);
    }
  }
  watched.check();
  check_finite(broken);
  return out;
}

}  // namespace bankml
