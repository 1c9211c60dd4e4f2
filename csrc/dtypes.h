// Tensor types: ids, names, block sizes, and rows of blocks → rows of floats, in one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bankml {

// The types that are run, by ggml's id; the table knows the others by name.
enum class DType : int32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  bf16 = 30,
};

struct DTypeInfo {
  const char* name;  // as ggml spells it: "F16", "Q4_0"
  int block;         // values a block; 0 = an id that no longer exists
  int block_bytes;
  bool minima;  // values are d·q − m, not d·q alone
  // `count` values (a multiple of the block) from blocks to floats; null: known, but not supported.
  void (*widen)(const uint8_t* blocks, float* out, size_t count);
  // Whether every scale and value in `blocks` is finite.
  bool (*finite)(const uint8_t* blocks, size_t count);
};

// The table's row for a ggml type id, or null for an id that ggml does not know.
const DTypeInfo* dtype_info(int32_t id);
inline const DTypeInfo& info(DType type) { return *dtype_info(static_cast<int32_t>(type)); }
inline size_t dtype_row_bytes(DType type, int64_t count) {
  return static_cast<size_t>(count / info(type).block) * info(type).block_bytes;
}

// The names of the types that are run: "F32, F16, Q4_0, …".
std::string runnable_types();

}  // namespace bankml
