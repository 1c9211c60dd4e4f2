#include "dtypes.h"

#include <bit>
#include <cstring>
#include <iterator>

namespace bankml {

namespace {

constexpr int kBlock = 32;

uint16_t load_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

bool f16_finite(uint16_t half) { return (half & 0x7c00) != 0x7c00; }

void widen_f32(const uint8_t* blocks, float* out, size_t count) { std::memcpy(out, blocks, count * sizeof(float)); }

void widen_f16(const uint8_t* blocks, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = f16_to_f32(load_u16(blocks + 2 * i));
}

// f16 d, then 32 signed bytes q: d·q
void widen_q8_0(const uint8_t* blocks, float* out, size_t count) {
  for (size_t i = 0; i < count; i += kBlock, blocks += 34) {
    const float d = f16_to_f32(load_u16(blocks));
    for (int j = 0; j < kBlock; ++j) out[i + j] = d * static_cast<float>(static_cast<int8_t>(blocks[2 + j]));
  }
}

// f16 d, then 16 bytes of two nibbles; low nibbles are values 0-15, high nibbles 16-31: d·(q − 8)
void widen_q4_0(const uint8_t* blocks, float* out, size_t count) {
  for (size_t i = 0; i < count; i += kBlock, blocks += 18) {
    const float d = f16_to_f32(load_u16(blocks));
    for (int j = 0; j < kBlock / 2; ++j) {
      out[i + j] = d * static_cast<float>((blocks[2 + j] & 15) - 8);
      out[i + j + kBlock / 2] = d * static_cast<float>((blocks[2 + j] >> 4) - 8);
    }
  }
}

bool finite_f32(const uint8_t* blocks, size_t count) {
  uint32_t bad = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, blocks + 4 * i, sizeof bits);
    bad |= (bits & 0x7f800000u) == 0x7f800000u;
  }
  return bad == 0;
}

bool finite_f16(const uint8_t* blocks, size_t count) {
  uint16_t bad = 0;
  for (size_t i = 0; i < count; ++i) bad |= static_cast<uint16_t>((load_u16(blocks + 2 * i) & 0x7c00) == 0x7c00);
  return bad == 0;
}

// Blocks whose only float is the scale in their first two bytes.
template <int kBytes>
bool finite_scale(const uint8_t* blocks, size_t count) {
  for (size_t i = 0; i < count; i += kBlock, blocks += kBytes) {
    if (!f16_finite(load_u16(blocks))) return false;
  }
  return true;
}

// By ggml's id; ids 4, 5, 31-33 and 36-38 were removed from ggml and stay empty.
constexpr DTypeInfo kTypes[] = {
    {"F32", 1, 4, widen_f32, finite_f32},
    {"F16", 1, 2, widen_f16, finite_f16},
    {"Q4_0", 32, 18, widen_q4_0, finite_scale<18>},
    {"Q4_1", 32, 20, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"Q5_0", 32, 22, nullptr, nullptr},
    {"Q5_1", 32, 24, nullptr, nullptr},
    {"Q8_0", 32, 34, widen_q8_0, finite_scale<34>},
    {"Q8_1", 32, 36, nullptr, nullptr},
    {"Q2_K", 256, 84, nullptr, nullptr},
    {"Q3_K", 256, 110, nullptr, nullptr},
    {"Q4_K", 256, 144, nullptr, nullptr},
    {"Q5_K", 256, 176, nullptr, nullptr},
    {"Q6_K", 256, 210, nullptr, nullptr},
    {"Q8_K", 256, 292, nullptr, nullptr},
    {"IQ2_XXS", 256, 66, nullptr, nullptr},
    {"IQ2_XS", 256, 74, nullptr, nullptr},
    {"IQ3_XXS", 256, 98, nullptr, nullptr},
    {"IQ1_S", 256, 50, nullptr, nullptr},
    {"IQ4_NL", 32, 18, nullptr, nullptr},
    {"IQ3_S", 256, 110, nullptr, nullptr},
    {"IQ2_S", 256, 82, nullptr, nullptr},
    {"IQ4_XS", 256, 136, nullptr, nullptr},
    {"I8", 1, 1, nullptr, nullptr},
    {"I16", 1, 2, nullptr, nullptr},
    {"I32", 1, 4, nullptr, nullptr},
    {"I64", 1, 8, nullptr, nullptr},
    {"F64", 1, 8, nullptr, nullptr},
    {"IQ1_M", 256, 56, nullptr, nullptr},
    {"BF16", 1, 2, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"TQ1_0", 256, 54, nullptr, nullptr},
    {"TQ2_0", 256, 66, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"removed", 0, 0, nullptr, nullptr},
    {"MXFP4", 32, 17, nullptr, nullptr},
    {"NVFP4", 64, 36, nullptr, nullptr},
    {"Q1_0", 128, 18, nullptr, nullptr},
    {"Q2_0", 64, 18, nullptr, nullptr},
};

}  // namespace

const DTypeInfo* dtype_info(int32_t id) {
  if (id < 0 || id >= static_cast<int32_t>(std::size(kTypes)) || kTypes[id].block == 0) return nullptr;
  return &kTypes[id];
}

// Exact: every f16 is an f32. Subnormal halves are rescaled by 2^-24 per unit.
float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t bits = exponent == 31 ? 0x7f800000u | mantissa << 13 : (exponent + 112) << 23 | mantissa << 13;
  return std::bit_cast<float>(sign | bits);
}

}  // namespace bankml
