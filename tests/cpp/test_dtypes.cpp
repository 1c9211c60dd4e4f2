// The type table (csrc/dtypes); bit equality with gguf-py is tested in tests/test_dtypes.py.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"
#include "cpu.h"
#include "dtypes.h"
#include "kernel_data.h"

using namespace bankml;
using namespace bankml::testing;

TEST(dtypes_known_values) {
  const uint8_t q8[34] = {0x00, 0x3c, 1, 0xff, 0x80};  // d = 1: 1, −1, −128, 0 …
  float out[32];
  info(DType::q8_0).widen(q8, out, 32);
  CHECK(out[0] == 1 && out[1] == -1 && out[2] == -128 && out[31] == 0);
  const uint8_t q4[18] = {0x00, 0x40, 0xf0};  // d = 2: first low nibble 0 → −16, first high nibble 15 → 14
  info(DType::q4_0).widen(q4, out, 32);
  CHECK(out[0] == -16 && out[16] == 14 && out[1] == -16 && out[17] == -16);
}

TEST(dtypes_every_half) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const uint8_t half[] = {static_cast<uint8_t>(bits & 255), static_cast<uint8_t>(bits >> 8)};
    float value;
    info(DType::f16).widen(half, &value, 1);
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 31) {
      CHECK(mantissa ? std::isnan(value) : std::isinf(value));
      continue;
    }
    const double truth = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
    CHECK(value == (bits & 0x8000 ? -truth : truth));
    CHECK(std::signbit(value) == ((bits & 0x8000) != 0));
  }
}

TEST(dtypes_finite_sees_every_place) {
  for (const DType type : kTypes) {
    const DTypeInfo& t = info(type);
    const size_t count = 512, bytes = count / t.block * t.block_bytes;
    CHECK(t.finite(std::vector<uint8_t>(bytes).data(), count));
    const bool whole = halves(type).empty();  // F32, BF16: their last two bytes hold the exponent, of 8 bits
    bool seen = true;
    for (size_t block = 0; block < bytes; block += t.block_bytes) {
      for (const int at : whole ? std::vector<int>{t.block_bytes - 2} : halves(type)) {
        for (const uint16_t bits : {uint16_t{0x7f80}, uint16_t{0xff81}, uint16_t{0xfe00}}) {
          std::vector<uint8_t> data(bytes);
          std::memcpy(data.data() + block + at, &bits, sizeof bits);
          seen &= t.finite(data.data(), count) == (whole && bits == 0xfe00);  // as their upper half it is −4e37
        }
      }
    }
    CHECK(seen);
  }
}

// docs/numerics.md: halves widen to normal floats; an F32 or BF16 below 2⁻¹²⁶ keeps its bits.
TEST(dtypes_widen_the_same_where_denormals_are_flushed) {
  for (const DType type : kTypes) {
    const DTypeInfo& t = info(type);
    for (uint16_t low = 0; low < 0x400; low += 7) {
      std::vector<uint8_t> block(t.block_bytes, 0x35);
      const uint16_t bits = low | 0x8000;  // every format's smallest negative numbers
      for (const int at : halves(type)) std::memcpy(block.data() + at, &bits, sizeof bits);
      if (halves(type).empty()) std::memcpy(block.data() + t.block_bytes - 2, low & 1 ? &low : &bits, 2);
      if (halves(type).empty()) block[t.block_bytes - 1] &= 0x80;  // exponent 0 or 1
      std::vector<float> usual(t.block), flushed(t.block);
      t.widen(block.data(), usual.data(), t.block);
      const FlushDenormals flush;
      t.widen(block.data(), flushed.data(), t.block);
      CHECK(std::memcmp(usual.data(), flushed.data(), t.block * sizeof(float)) == 0);
    }
  }
}

TEST(dtypes_all_that_run_are_listed) {
  std::string expected;
  for (int id = 0; id < 64; ++id) {
    const DTypeInfo* type = dtype_info(id);
    const bool runs = std::find(std::begin(kTypes), std::end(kTypes), static_cast<DType>(id)) != std::end(kTypes);
    CHECK(runs == (type != nullptr && type->widen != nullptr));
    if (runs) expected += (expected.empty() ? "" : ", ") + std::string(type->name);
  }
  CHECK(runnable_types() == expected);
}

TEST(dtypes_unknown_ids) {
  for (const int id : {-1, 4, 5, 31, 33, 36, 38, 43, 1000}) CHECK(dtype_info(id) == nullptr);
  CHECK(std::string(dtype_info(16)->name) == "IQ2_XXS" && dtype_info(16)->widen == nullptr);
}
