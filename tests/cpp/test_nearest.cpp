// Exact search: every backend's products against scalar and double, masks, threads and ties (csrc/nearest).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "check.h"
#include "dtypes.h"
#include "kernel_data.h"
#include "kernels/registry.h"
#include "mapping.h"
#include "nearest.h"
#include "threads.h"

using namespace bankml;
using namespace bankml::testing;

namespace {

constexpr int kDims[] = {1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 384, 1000, 1024};
constexpr int kCounts[] = {1, 2, 3, 4, 5, 9};

const Backend& scalar() { return *available_backends().back(); }

template <class T>
std::vector<T> padded(std::vector<T> query) {
  query.resize((query.size() + kQueryPad - 1) / kQueryPad * kQueryPad);
  return query;
}

// Bytes of rows whose end is the end of what was allocated: an address sanitizer sees what is read beyond.
struct Rows {
  int n, dims;
  std::vector<uint8_t> bytes;
  Rows(int rows, int width, std::vector<uint8_t> values) : n(rows), dims(width), bytes(std::move(values)) {}
  Matrix matrix(Matrix::Type type, const float* scales = nullptr) const {
    return {type, bytes.data(), n, dims, reinterpret_cast<const uint8_t*>(scales)};
  }
};

Rows random_rows(DType type, int n, int dims, uint32_t seed) {
  return {n, dims, random_blocks(type, static_cast<size_t>(n) * dims, false, seed)};
}

std::vector<float> products(const Backend& backend, DType type, const Rows& rows, const std::vector<float>& query) {
  Guarded out(rows.n);
  backend.dots(type, rows.bytes.data(), rows.n, rows.dims, query.data(), out.data());
  CHECK(out.intact());
  return {out.data(), out.data() + rows.n};
}

// All rows by their cosine and number, as a plain sort has them.
std::vector<Near> sorted(const std::vector<float>& cosines, const std::vector<uint8_t>& allowed) {
  std::vector<Near> out;
  for (size_t i = 0; i < cosines.size(); ++i) {
    if (allowed.empty() || allowed[i]) out.push_back({static_cast<int64_t>(i), cosines[i]});
  }
  std::sort(out.begin(), out.end(), [](const Near& a, const Near& b) {
    return a.cosine > b.cosine || (a.cosine == b.cosine && a.row < b.row);
  });
  return out;
}

bool same(const std::vector<Near>& found, const std::vector<Near>& all, size_t k) {
  return found.size() == std::min(k, all.size()) &&
         std::equal(found.begin(), found.end(), all.begin(),
                    [](const Near& a, const Near& b) { return a.row == b.row && a.cosine == b.cosine; });
}

}  // namespace

TEST(nearest_products_of_floats_are_scalars_bits) {
  for (const Backend* backend : available_backends()) {
    for (const DType type : {DType::f32, DType::f16}) {
      for (const int dims : kDims) {
        const std::vector<float> query = padded(filled(dims, Fill::random, 3));
        for (const int n : kCounts) {
          const Rows rows = random_rows(type, n, dims, static_cast<uint32_t>(n * 1000 + dims));
          const std::vector<float> found = products(*backend, type, rows, query);
          CHECK(found == products(scalar(), type, rows, query));
          std::vector<float> values(static_cast<size_t>(n) * dims);
          info(type).widen(rows.bytes.data(), values.data(), values.size());
          for (int i = 0; i < n; ++i) {
            double sum = 0, size = 0;
            for (int j = 0; j < dims; ++j) sum += double{values[i * dims + j]} * query[j];
            for (int j = 0; j < dims; ++j) size += std::fabs(double{values[i * dims + j]} * query[j]);
            CHECK(std::fabs(found[i] - sum) <= 2 * dims * (0x1p-24 * size + 0x1p-126));
          }
        }
      }
    }
  }
}

TEST(nearest_products_of_integers_are_exact) {
  for (const Backend* backend : available_backends()) {
    for (const int dims : kDims) {
      const int most = std::min(32767, ((1 << 24) - 1) / dims);  // so that 128 · Σ|query| is the most that may be
      std::vector<int16_t> query(dims);
      for (int j = 0; j < dims; ++j) query[j] = static_cast<int16_t>(j % 3 == 0 ? -most : most - j % 5);
      query = padded(query);
      for (const int n : kCounts) {
        Rows rows{n, dims, std::vector<uint8_t>(static_cast<size_t>(n) * dims)};
        std::mt19937 random(static_cast<uint32_t>(dims));
        for (uint8_t& value : rows.bytes) value = static_cast<uint8_t>(random());
        for (int j = 0; j < dims; ++j) rows.bytes[j] = j % 3 == 0 ? 0x80 : 0x7f;  // -128 and 127: the largest sum
        const int8_t* values = reinterpret_cast<const int8_t*>(rows.bytes.data());
        std::vector<int32_t> found(n + 1, 77);
        backend->dots16(values, n, dims, query.data(), found.data());
        CHECK(found[n] == 77);
        for (int i = 0; i < n; ++i) {
          int64_t sum = 0;
          for (int j = 0; j < dims; ++j) sum += int64_t{values[i * dims + j]} * query[j];
          CHECK(found[i] == sum);
        }
      }
    }
  }
}

TEST(nearest_rows_at_any_mask_k_and_threads) {
  constexpr int kRows = 9000, kWidth = 65;  // 2.3 MB: more than one thread, pieces that end inside of a block
  Rows rows = random_rows(DType::f32, kRows, kWidth, 8);
  std::copy_n(rows.bytes.begin(), 3000 * kWidth * sizeof(float), rows.bytes.end() - 3000 * kWidth * sizeof(float));
  const Matrix matrix = rows.matrix(Matrix::Type::f32);
  const std::vector<float> query = filled(kWidth, Fill::random, 4);
  for (const Backend* backend : available_backends()) {
    const std::vector<float> all = products(*backend, DType::f32, rows, padded(query));
    for (const int every : {0, 1, 2, 700, 10000}) {  // 0: no mask
      std::vector<uint8_t> allowed(every == 0 ? 0 : kRows);
      for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = every == 700 ? i / 700 % 2 : i % every == 1 % every;
      const std::vector<Near> wanted = sorted(all, allowed);
      for (const int threads : {1, 2, 5}) {
        for (const size_t k : {size_t{1}, size_t{24}, size_t{kRows}, size_t{kRows + 1}}) {
          CHECK(same(nearest(*backend, threads, matrix, query.data(), static_cast<int64_t>(k),
                             every == 0 ? nullptr : allowed.data()),
                     wanted, k));
        }
      }
    }
    const std::vector<int64_t> some = {0, 8999, 17, 17};
    const std::vector<float> few = cosines(*backend, matrix, query.data(), some.data(), some.size());
    for (size_t i = 0; i < some.size(); ++i) CHECK(few[i] == all[some[i]]);
  }
}

TEST(nearest_names_the_first_row_that_is_not_finite) {
  constexpr int kRows = 40000, kWidth = 33;
  std::vector<float> values(static_cast<size_t>(kRows) * kWidth, 0.5f);
  values[30000 * kWidth] = values[12345 * kWidth + 32] = INFINITY;
  const Matrix matrix{Matrix::Type::f32, reinterpret_cast<const uint8_t*>(values.data()), kRows, kWidth, nullptr};
  std::vector<float> query(kWidth, 0.0f);  // ∞ · 0 is no number either
  for (int i = 0; i < 5; ++i) CHECK_THROWS(nearest(scalar(), 3, matrix, query.data(), 1, nullptr), "row 12345 of");
  query[7] = NAN;
  CHECK_THROWS(nearest(scalar(), 3, matrix, query.data(), 1, nullptr), "value 7 of the query");
}

// A search asked for while a pass runs, by another thread or by the pass's own, is answered meanwhile.
TEST(nearest_does_not_wait_for_a_pass) {
  const Rows rows = random_rows(DType::f32, 9000, 65, 8);
  const std::vector<float> query = filled(65, Fill::random, 4);
  const auto search = [&] { return nearest(scalar(), 2, rows.matrix(Matrix::Type::f32), query.data(), 3, nullptr); };
  const std::vector<Near> wanted = search();
  const Place place;
  Turn pass(place);
  CHECK(same(search(), wanted, 3));
  std::vector<Near> found;
  std::thread([&] { found = search(); }).join();  // would hang
  CHECK(same(found, wanted, 3));
  std::atomic<int> ran{0};
  pass.run(2, [&](int) { ran++; });  // the pool is still this pass's
  CHECK(ran >= 1);
}

// Also where another search met the missing page first.
TEST(nearest_every_search_of_a_truncated_file_is_told) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int file = memfd_create("rows", 0);
  CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(4 * page)) == 0);
  void* const rows = mmap(nullptr, 4 * page, PROT_READ, MAP_SHARED, file, 0);
  const int one = guard_mapping(rows, 4 * page), other = guard_mapping(rows, 4 * page);
  const int elsewhere = guard_mapping(static_cast<uint8_t*>(rows) + page, page);
  CHECK(ftruncate(file, static_cast<off_t>(page)) == 0);
  CHECK(static_cast<volatile uint8_t*>(rows)[3 * page] == 0);
  CHECK(mapping_damaged(one) && mapping_damaged(other) && !mapping_damaged(elsewhere));
  for (const int slot : {one, other, elsewhere}) unguard_mapping(slot);
  const std::vector<float> query = {1.0f};
  const Matrix matrix{Matrix::Type::f32, static_cast<const uint8_t*>(rows), static_cast<int64_t>(page), 1, nullptr};
  CHECK_THROWS(nearest(scalar(), 1, matrix, query.data(), 1, nullptr), "was truncated while it was searched");
  munmap(rows, 4 * page);
  close(file);
}

// Searches, passes and searches beside passes, all at once.
TEST(nearest_many_at_once) {
  const Rows rows = random_rows(DType::f16, 9000, 130, 8);
  const std::vector<float> query = filled(130, Fill::random, 4);
  const Backend& backend = *available_backends().front();
  const auto search = [&] { return nearest(backend, 3, rows.matrix(Matrix::Type::f16), query.data(), 9, nullptr); };
  const std::vector<Near> wanted = search();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 10; ++i) {
        if (caller < 4) wrong += !same(search(), wanted, 9);
        const Place place;
        if (caller >= 4) Turn(place).run(2, [](int) {});
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
}
