// Every available backend and entry against sums in double and against scalar (csrc/kernels).
#include <algorithm>
#include <cstdlib>
#include <string>

#include "check.h"
#include "kernel_products.h"
#include "kernels/registry.h"

using namespace bankml;
using namespace bankml::testing;

namespace {

#include "kernels/blocks.inc"

const Backend& scalar() { return *available_backends().back(); }

// Weights of a type, the same as floats, and what each value is the difference of: |d·q| + |m|.
struct TestWeights : Weights {
  TestWeights(DType of, int outputs, int inputs, bool extreme, uint32_t seed) : Weights{of, outputs, inputs, {}} {
    bytes = random_blocks(type, static_cast<size_t>(n) * k, extreme, seed);
    floats.resize(static_cast<size_t>(n) * k);
    info(type).widen(bytes.data(), floats.data(), floats.size());
    for (const float value : floats) sizes.push_back(std::fabs(double{value}));
    blocks::with(type, [&]<class Type>(Type) { read_sizes<Type>(); });
  }

  template <class Type>
  void read_sizes() {
    Unpacked<Type::values> block;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t at = i % Type::values;
      if (at == 0) Type::unpack(bytes.data() + i / Type::values * Type::bytes, block);
      sizes[i] = std::fabs(double{block.d[at / kGroup]} * block.q[at]) + std::fabs(double{block.m[at / kGroup]});
    }
  }

  std::vector<float> floats;
  std::vector<double> sizes;
};

// y (m, n) with k in blocks of `k_block`.
std::vector<float> product(const Backend& backend, const std::vector<float>& x, int m, const TestWeights& w,
                           int k_block, bool fetching = false) {
  const size_t ldy = static_cast<size_t>(w.n) + 3;
  std::vector<int> ends;
  for (int k0 = 0; k0 < w.k; k0 += k_block) ends.push_back(std::min(w.k, k0 + k_block));
  const Guarded y = testing::product(backend, {x.data(), static_cast<size_t>(w.k), m}, w, ldy, ends, fetching);
  std::vector<float> out;
  for (int row = 0; row < m; ++row) {
    for (int j = 0; j < w.n; ++j) out.push_back(y[row * ldy + j]);
    for (size_t j = w.n; j < ldy; ++j) CHECK(y[row * ldy + j] == kPoison);
  }
  return out;
}

// Within 2·k·2⁻²⁴·Σ|x|·(|d·q| + |m|) of the sum in double, for every output; with rows in integers half a step of them,
// and the rounding of their scale and its inverse (2⁻²² of the largest), times Σ|w|.
bool near_double(const Backend& backend, const std::vector<float>& y, const std::vector<float>& x, int m,
                 const TestWeights& w) {
  for (int row = 0; row < m; ++row) {
    const float* from = x.data() + static_cast<size_t>(row) * w.k;
    const double largest = backend.largest(from, w.k);
    const double step = w.in_blocks() ? largest / 32767 / 2 + largest * 0x1p-22 : 0;
    for (int j = 0; j < w.n; ++j) {
      double sum = 0, bound = 1e-44;  // the smallest denormal
      for (int i = 0; i < w.k; ++i) {
        const size_t at = static_cast<size_t>(j) * w.k + i;
        sum += double{from[i]} * w.floats[at];
        bound += 2 * w.k * 0x1p-24 * std::fabs(from[i]) * w.sizes[at] + step * w.sizes[at];
      }
      if (!(std::fabs(y[static_cast<size_t>(row) * w.n + j] - sum) <= bound)) return false;
    }
  }
  return true;
}

void check_product(const Backend& backend, DType type, int m, int n, int k, Fill fill, bool extreme, int k_block) {
  const TestWeights w(type, n, k, extreme, static_cast<uint32_t>(m * 31 + n * 7 + k));
  const std::vector<float> x = filled(static_cast<size_t>(m) * k, fill, static_cast<uint32_t>(n + k));
  const std::vector<float> y = product(backend, x, m, w, k_block);
  CHECK(near_double(backend, y, x, m, w));
  CHECK(y == product(backend, x, m, w, k_block, true));
  CHECK(y ==
        product(scalar(), x, m, w, w.k));  // the same additions in the same order: the same bits, however k is split
}

}  // namespace

TEST(kernels_required_backends_are_available) {
  const char* required = std::getenv("BANKML_REQUIRE_BACKENDS");
  std::string left = required == nullptr ? "scalar" : required;
  while (!left.empty()) {
    const std::string name = left.substr(0, left.find(','));
    left = left.size() > name.size() ? left.substr(name.size() + 1) : "";
    const auto all = available_backends();
    CHECK(std::any_of(all.begin(), all.end(), [&](const Backend* b) { return name == b->name; }));
  }
}

TEST(kernels_product_at_every_edge) {
  for (const Backend* backend : available_backends()) {
    for (const DType type : kTypes) {
      for (int m = 1; m <= std::max(backend->mr, backend->mr16) + 1; ++m) {
        for (const int n : {1, 7, 8, 9, 15, 16, 17, 33}) {
          for (const int k : {1, 3, 8, 31, 32, 33, 63, 64, 65, 160, 256}) {
            if (k % info(type).block == 0) check_product(*backend, type, m, n, k, Fill::random, false, std::max(32, k));
          }
        }
      }
    }
  }
}

TEST(kernels_product_of_hostile_values) {
  for (const Backend* backend : available_backends()) {
    for (const DType type : kTypes) {
      const int block = std::max(32, info(type).block);
      for (const Fill fill : kFills) check_product(*backend, type, 5, 19, 3 * block, fill, true, block);
    }
  }
}

// 1,280 and 2,816: whole blocks of 256 that are no whole blocks of 1,024 inputs.
TEST(kernels_product_of_real_shapes) {
  for (const Backend* backend : available_backends()) {
    for (const DType type : kTypes) {
      for (const int k : {384, 1024, 1280, 1536, 2816, 4096}) {
        if (k % info(type).block == 0) check_product(*backend, type, 3, 18, k, Fill::random, false, 1024);
      }
    }
  }
}

// Panels of floats hold the bits that the type table gives, also where denormals are flushed: a widened half is no
// denormal, and an F32 or BF16 that is one is passed on as it is.
TEST(kernels_panels_are_the_type_tables_bits) {
  constexpr int kInputs = 512, kOutputs = 19, kFirst = 256;
  for (const Backend* backend : available_backends()) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const TestWeights w(type, kOutputs, kInputs, false, 5);
      std::vector<float> panels(static_cast<size_t>(kOutputs + kMaxTile) * (kInputs - kFirst));
      const FlushDenormals flush;
      backend->pack_panels(type, w.bytes.data(), dtype_row_bytes(type, kInputs), kOutputs, kFirst, kInputs - kFirst,
                           panels.data());
      bool same = true;
      for (int j = 0; j < kOutputs; ++j) {
        for (int i = kFirst; i < kInputs; ++i) {
          const float* panel = panels.data() + static_cast<size_t>(j / backend->nr) * (kInputs - kFirst) * backend->nr;
          same &= std::memcmp(panel + (i - kFirst) * backend->nr + j % backend->nr, &w.floats[j * kInputs + i], 4) == 0;
        }
      }
      CHECK(same);
    }
  }
}

// A row's largest value is seen wherever it stands, and so is what is no number.
TEST(kernels_largest) {
  for (const Backend* backend : available_backends()) {
    for (const int k : {1, 31, 32, 33, 100}) {
      for (int at = 0; at < k; ++at) {
        std::vector<float> x(k, 0.5f);
        x[at] = -3.0f;
        CHECK(backend->largest(x.data(), k) == 3.0f);
        x[at] = -INFINITY;
        CHECK(std::isinf(backend->largest(x.data(), k)));
        x[at] = NAN;
        CHECK(std::isnan(backend->largest(x.data(), k)));
      }
    }
  }
}

TEST(kernels_layer_norm) {
  for (const Backend* backend : available_backends()) {
    for (const int k : {1, 15, 16, 17, 26, 64, 384, 1000, 1024}) {
      const std::vector<float> w = filled(k, Fill::random, 1), b = filled(k, Fill::random, 2);
      for (const Fill fill : {Fill::random, Fill::zeros, Fill::one_hot, Fill::huge, Fill::tiny}) {
        const std::vector<float> x = filled(k, fill, 3);
        Guarded y(k), truth(k);
        backend->layer_norm(x.data(), k, w.data(), b.data(), 1e-12f, y.data());
        scalar().layer_norm(x.data(), k, w.data(), b.data(), 1e-12f, truth.data());
        CHECK(y.intact());
        CHECK(std::equal(y.data(), y.data() + k, truth.data()));
        double mean = 0, variance = 0;
        for (const float value : x) mean += value / k;
        for (const float value : x) variance += (value - mean) * (value - mean) / k;
        if (fill == Fill::tiny) continue;  // its squares are denormal: the float result is only close to eps
        for (int i = 0; i < k; ++i)
          CHECK(std::fabs(y[i] - ((x[i] - mean) / std::sqrt(variance + 1e-12) * w[i] + b[i])) <=
                2e-5 * (1 + std::fabs(w[i]) * std::sqrt(k)));
      }
    }
  }
}

TEST(kernels_finish) {
  for (const Backend* backend : available_backends()) {
    for (const int n : {1, 7, 16, 33}) {
      for (const Act act : {Act::none, Act::gelu_erf, Act::gelu_tanh}) {
        const std::vector<float> y0 = filled(static_cast<size_t>(3) * n, Fill::random, 4),
                                 bias = filled(n, Fill::random, 5);
        const std::vector<float> residual = filled(static_cast<size_t>(3) * n, Fill::random, 6);
        for (const float* add : {static_cast<const float*>(nullptr), residual.data()}) {
          Guarded y(y0), truth(y0);
          backend->finish(y.data(), n, 3, n, bias.data(), act, add, n);
          scalar().finish(truth.data(), n, 3, n, bias.data(), act, add, n);
          CHECK(y.intact());
          CHECK(std::equal(y.data(), y.data() + 3 * n, truth.data()));
        }
      }
    }
  }
}

namespace {

float activated(const Backend& backend, Act act, float x) {
  const float zero = 0;
  backend.finish(&x, 1, 1, 1, &zero, act, nullptr, 1);
  return x;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_by_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

}  // namespace

// The errors that docs/numerics.md states, over a dense grid and far outside it.
TEST(kernels_gelu_error_is_what_numerics_says) {
  for (const Backend* backend : available_backends()) {
    double erf_error = 0, tanh_error = 0;
    for (int i = -120000; i <= 120000; ++i) {
      const float x = static_cast<float>(i) * 1e-4f;
      const double scale = std::max(1.0, std::fabs(double{x}));
      erf_error = std::max(erf_error, std::fabs(activated(*backend, Act::gelu_erf, x) - gelu(x)) / scale);
      tanh_error = std::max(tanh_error, std::fabs(activated(*backend, Act::gelu_tanh, x) - gelu_by_tanh(x)) / scale);
    }
    CHECK(erf_error <= 2.4e-7);
    CHECK(tanh_error <= 2.4e-7);
    for (const float x : {1e4f, 1e30f, 3e38f}) {
      CHECK(activated(*backend, Act::gelu_erf, x) == x);
      CHECK(activated(*backend, Act::gelu_tanh, x) == x);
      CHECK(std::fabs(activated(*backend, Act::gelu_erf, -x)) <= x * 1.2e-7f);
      CHECK(std::fabs(activated(*backend, Act::gelu_tanh, -x)) <= x * 1.2e-7f);
    }
  }
}

namespace {

struct AttentionCase {
  AttentionCase(int n_queries, int n_keys, int head_dim, uint32_t seed)
      : queries(n_queries), keys(n_keys), dim(head_dim), ld(head_dim + 5) {
    q = filled(static_cast<size_t>(queries) * ld, Fill::random, seed);
    k = filled(static_cast<size_t>(keys) * ld, Fill::random, seed + 1);
    v = filled(static_cast<size_t>(keys) * ld, Fill::random, seed + 2);
  }
  int queries, keys, dim;
  size_t ld;
  std::vector<float> q, k, v;

  std::vector<float> run(const Backend& backend, int first, int count) const {
    Guarded out(count * ld), scratch(attention_scratch(dim));
    backend.attend({q.data() + first * ld, ld, count, k.data(), v.data(), ld, keys, dim,
                    1.0f / std::sqrt(static_cast<float>(dim)), out.data(), ld},
                   scratch.data());
    CHECK(out.intact());
    CHECK(scratch.intact());
    std::vector<float> rows;
    for (int row = 0; row < count; ++row) {
      rows.insert(rows.end(), out.data() + row * ld, out.data() + row * ld + dim);
      for (size_t d = dim; d < ld; ++d) CHECK(out[row * ld + d] == kPoison);
    }
    return rows;
  }

  bool near_double(const std::vector<float>& out) const {
    for (int row = 0; row < queries; ++row) {
      std::vector<double> p(keys), o(dim);
      double total = 0;
      for (int j = 0; j < keys; ++j) {
        double s = 0;
        for (int d = 0; d < dim; ++d) s += double{q[row * ld + d]} * k[j * ld + d];
        total += p[j] = std::exp(s / std::sqrt(static_cast<double>(dim)));
      }
      for (int d = 0; d < dim; ++d) {
        for (int j = 0; j < keys; ++j) o[d] += p[j] / total * v[j * ld + d];
        if (!(std::fabs(out[row * dim + d] - o[d]) <= 1e-5)) return false;
      }
    }
    return true;
  }
};

}  // namespace

TEST(kernels_attention) {
  for (const Backend* backend : available_backends()) {
    for (const int dim : {1, 15, 26, 32, 64}) {
      for (const int keys : {1, 2, 15, 16, 17, 63, 64, 65, 128, 200}) {
        const AttentionCase c(std::min(keys, 13), keys, dim, static_cast<uint32_t>(keys * 100 + dim));
        const std::vector<float> out = c.run(*backend, 0, c.queries);
        CHECK(c.near_double(out));
        CHECK(out == c.run(scalar(), 0, c.queries));
      }
    }
  }
}

// A query's bits do not depend on the queries beside it.
TEST(kernels_attention_rows_are_independent) {
  for (const Backend* backend : available_backends()) {
    const AttentionCase c(kMaxQueries, 150, 32, 9);
    const std::vector<float> all = c.run(*backend, 0, kMaxQueries);
    for (const int first : {0, 1, 5, 6, 7, 50, kMaxQueries - 1}) {
      const std::vector<float> one = c.run(*backend, first, 1);
      CHECK(std::equal(one.begin(), one.end(), all.begin() + first * c.dim));
    }
  }
}

TEST(kernels_attention_of_huge_scores_is_finite) {
  for (const Backend* backend : available_backends()) {
    AttentionCase c(7, 100, 16, 11);
    for (float& value : c.q) value *= 1e4f;
    for (float& value : c.k) value *= 1e4f;
    for (const float value : c.run(*backend, 0, c.queries)) CHECK(std::isfinite(value));
  }
}

// eˣ alone, through the attention of one query to the scores 0 and x with the values 0 and 1: eˣ / (1 + eˣ).
TEST(kernels_exp_error_is_what_numerics_says) {
  for (const Backend* backend : available_backends()) {
    double error = 0;
    for (int i = 0; i <= 87000; ++i) {
      const float x = static_cast<float>(-i) * 1e-3f, q = 1, k[] = {0, x}, v[] = {0, 1};
      float out = -1;
      std::vector<float> scratch(attention_scratch(1));
      backend->attend({&q, 1, 1, k, v, 1, 2, 1, 1.0f, &out, 1}, scratch.data());
      const double truth = std::exp(double{x}) / (1 + std::exp(double{x}));
      error = std::max(error, std::fabs(out / truth - 1));
    }
    CHECK(error <= 3e-7);  // 1.2e-7 of exp, 2⁻²⁴ each of the sum and the quotient, and the sum's own exp(0)
  }
}

TEST(kernels_accumulate) {
  for (const Backend* backend : available_backends()) {
    for (const int k : {1, 9, 384}) {
      const std::vector<float> x = filled(k, Fill::random, 7), start = filled(k, Fill::random, 8);
      Guarded sum(start);
      backend->accumulate(x.data(), k, sum.data());
      CHECK(sum.intact());
      for (int i = 0; i < k; ++i) CHECK(sum[i] == start[i] + x[i]);
    }
  }
}

TEST(registry_chooses_and_refuses) {
  std::string warning;
  CHECK(std::string(choose_backend("", warning).name) == available_backends().front()->name);
  CHECK(warning.empty());
  CHECK(std::string(choose_backend("scalar", warning).name) == "scalar");
  CHECK_THROWS(choose_backend("avx9", warning), "choose one of");
  CHECK_THROWS(choose_backend("AVX2", warning), "scalar");
}
