// Data for kernel tests: seeded and hostile values, buffers with canaries behind them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "dtypes.h"

namespace bankml::testing {

constexpr float kPoison = -12345.678f;
constexpr int kCanaries = 16;

// `size` floats, poisoned, with canaries behind them that `intact` looks at.
class Guarded {
 public:
  explicit Guarded(size_t size) : size_(size), values_(size + kCanaries, kPoison) {}
  explicit Guarded(const std::vector<float>& values) : size_(values.size()), values_(values) {
    values_.resize(size_ + kCanaries, kPoison);
  }
  float* data() { return values_.data(); }
  size_t size() const { return size_; }
  float operator[](size_t i) const { return values_[i]; }
  bool intact() const {
    for (size_t i = size_; i < values_.size(); ++i) {
      if (values_[i] != kPoison) return false;
    }
    return true;
  }

 private:
  size_t size_;
  std::vector<float> values_;
};

enum class Fill { random, zeros, one_hot, huge, tiny };
constexpr Fill kFills[] = {Fill::random, Fill::zeros, Fill::one_hot, Fill::huge, Fill::tiny};

inline std::vector<float> filled(size_t size, Fill fill, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(size);
  for (size_t i = 0; i < size; ++i) {
    const float value = normal(random);
    out[i] = fill == Fill::random    ? value
             : fill == Fill::one_hot ? static_cast<float>(i == seed % size)
             : fill == Fill::huge    ? value * 1e15f
             : fill == Fill::tiny    ? value * 1e-15f
                                     : 0.0f;
  }
  return out;
}

constexpr DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,  DType::q4_0,
                            DType::q4_1, DType::q5_0, DType::q5_1, DType::q2_k,  DType::q3_k,
                            DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl};

// Where the halves of a block stand: scales, minima or the value itself.
inline std::vector<int> halves(DType type) {
  switch (type) {
    case DType::f32:
    case DType::bf16:
      return {};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    default:
      return {0};
  }
}

// Blocks of any type with every byte random, halves and floats kept finite and moderate; `extreme` sets all quants to
// their ends (−128, nibble 0 and 15).
inline std::vector<uint8_t> random_blocks(DType type, size_t count, bool extreme, uint32_t seed) {
  std::mt19937 random(seed);
  const DTypeInfo& t = info(type);
  std::vector<uint8_t> out(count / t.block * t.block_bytes);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(extreme ? (random() & 1 ? 0x80 : 0x0f) : random());
  for (size_t at = 0; at < out.size(); at += t.block_bytes) {
    for (const int half : halves(type)) {
      const uint16_t bits =
          static_cast<uint16_t>((random() & 0x83ff) | (random() % 16) << 10);  // below 2, subnormals too
      std::memcpy(out.data() + at + half, &bits, sizeof bits);
    }
    const float value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    if (type == DType::f32) std::memcpy(out.data() + at, &value, sizeof value);
    if (type == DType::bf16) std::memcpy(out.data() + at, reinterpret_cast<const char*>(&value) + 2, 2);
  }
  return out;
}

}  // namespace bankml::testing
