// The rows of a matrix that are nearest to a query: every row is looked at, so the answer is exact.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace bankml {

// Rows of unit length as they lie in memory, one behind the other, at any address: the product of a row with a query of
// unit length is the cosine between them.
struct Matrix {
  enum class Type { f32, f16, i8 };
  Type type;
  const uint8_t* rows;  // (n, dims)
  int64_t n;
  int dims;
  const uint8_t* scales;  // (n) floats at any address, i8 alone: a value is its integer · its row's scale
  size_t row_bytes() const { return static_cast<size_t>(dims) * (type == Type::f32 ? 4 : type == Type::f16 ? 2 : 1); }
};

struct Near {
  int64_t row;
  float cosine;
};

// The k rows of the largest cosines, best first and equal ones by their row, of those that `allowed` (n; null: all)
// does not have 0 for. Runs on up to `threads` threads while nobody else uses the pool, else on the caller's alone, and
// never waits. An input_error where the query or a product is not finite; an error of kind `store` where the matrix
// lies in a file that was cut meanwhile.
std::vector<Near> nearest(const Backend& backend, int threads, const Matrix& matrix, const float* query, int64_t k,
                          const uint8_t* allowed);

// The cosines of some rows, to the bit what `nearest` gives for them; errors as there.
std::vector<float> cosines(const Backend& backend, const Matrix& matrix, const float* query, const int64_t* rows,
                           size_t count);

}  // namespace bankml
