#include "dtypes.h"

#include <cstring>
#include <iterator>

namespace bankml {

namespace {

#include "kernels/blocks.inc"

void widen_f32(const uint8_t* blocks, float* out, size_t count) { std::memcpy(out, blocks, count * sizeof(float)); }

void widen_f16(const uint8_t* blocks, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = half_at(blocks + 2 * i);
}

void widen_bf16(const uint8_t* blocks, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = bf16_at(blocks + 2 * i);
}

template <class Type>
void widen(const uint8_t* blocks, float* out, size_t count) {
  Unpacked<Type::values> block;
  for (size_t i = 0; i < count; i += Type::values, blocks += Type::bytes) {
    Type::unpack(blocks, block);
    for (int j = 0; j < Type::values; ++j) out[i + j] = block.value(j);
  }
}

// Whether no value of an unsigned type has all bits of `exponent` set.
template <class Bits>
bool finite_values(const uint8_t* values, size_t count, Bits exponent) {
  Bits bad = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + sizeof bits * i, sizeof bits);
    bad |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return bad == 0;
}

bool finite_f32(const uint8_t* blocks, size_t count) { return finite_values<uint32_t>(blocks, count, 0x7f800000u); }
bool finite_f16(const uint8_t* blocks, size_t count) { return finite_values<uint16_t>(blocks, count, 0x7c00); }
bool finite_bf16(const uint8_t* blocks, size_t count) { return finite_values<uint16_t>(blocks, count, 0x7f80); }

// Finite halves make finite values: kernels/blocks.inc.
template <class Type>
bool finite(const uint8_t* blocks, size_t count) {
  for (size_t i = 0; i < count; i += Type::values, blocks += Type::bytes) {
    for (const int at : Type::halves) {
      if (!finite_f16(blocks + at, 1)) return false;
    }
  }
  return true;
}

template <class Type>
constexpr DTypeInfo blocked(const char* name) {
  return {name, Type::values, Type::bytes, Type::minima, widen<Type>, finite<Type>};
}

constexpr DTypeInfo other(const char* name, int block, int block_bytes) {
  return {name, block, block_bytes, false, nullptr, nullptr};
}

constexpr DTypeInfo kRemoved = other("removed", 0, 0);

// By ggml's id; ids 4, 5, 31-33 and 36-38 were removed from ggml and stay empty.
constexpr DTypeInfo kTypes[] = {
    {"F32", 1, 4, false, widen_f32, finite_f32},
    {"F16", 1, 2, false, widen_f16, finite_f16},
    blocked<blocks::Q4_0>("Q4_0"),
    blocked<blocks::Q4_1>("Q4_1"),
    kRemoved,
    kRemoved,
    blocked<blocks::Q5_0>("Q5_0"),
    blocked<blocks::Q5_1>("Q5_1"),
    blocked<blocks::Q8_0>("Q8_0"),
    other("Q8_1", 32, 36),
    blocked<blocks::Q2_K>("Q2_K"),
    blocked<blocks::Q3_K>("Q3_K"),
    blocked<blocks::Q4_K>("Q4_K"),
    blocked<blocks::Q5_K>("Q5_K"),
    blocked<blocks::Q6_K>("Q6_K"),
    other("Q8_K", 256, 292),
    other("IQ2_XXS", 256, 66),
    other("IQ2_XS", 256, 74),
    other("IQ3_XXS", 256, 98),
    other("IQ1_S", 256, 50),
    blocked<blocks::IQ4_NL>("IQ4_NL"),
    other("IQ3_S", 256, 110),
    other("IQ2_S", 256, 82),
    other("IQ4_XS", 256, 136),
    other("I8", 1, 1),
    other("I16", 1, 2),
    other("I32", 1, 4),
    other("I64", 1, 8),
    other("F64", 1, 8),
    other("IQ1_M", 256, 56),
    {"BF16", 1, 2, false, widen_bf16, finite_bf16},
    kRemoved,
    kRemoved,
    kRemoved,
    other("TQ1_0", 256, 54),
    other("TQ2_0", 256, 66),
    kRemoved,
    kRemoved,
    kRemoved,
    other("MXFP4", 32, 17),
    other("NVFP4", 64, 36),
    other("Q1_0", 128, 18),
    other("Q2_0", 64, 18),
};

}  // namespace

const DTypeInfo* dtype_info(int32_t id) {
  if (id < 0 || id >= static_cast<int32_t>(std::size(kTypes)) || kTypes[id].block == 0) return nullptr;
  return &kTypes[id];
}

std::string runnable_types() {
  std::string out;
  for (const DTypeInfo& type : kTypes) {
    if (type.widen != nullptr) out += (out.empty() ? "" : ", ") + std::string(type.name);
  }
  return out;
}

}  // namespace bankml
