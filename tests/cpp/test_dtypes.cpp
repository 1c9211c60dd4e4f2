// The type table (csrc/dtypes); bit equality with gguf-py is tested in tests/test_dtypes.py.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "dtypes.h"

using namespace bankml;

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
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
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
  for (const DType type : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
    const DTypeInfo& t = info(type);
    const size_t count = 256, bytes = count / t.block * t.block_bytes;
    for (size_t block = 0; block < count / t.block; ++block) {
      std::vector<uint8_t> data(bytes);
      CHECK(t.finite(data.data(), count));
      const uint32_t infinity = 0x7f800000u;
      const uint16_t half_nan = 0xfe00;
      if (type == DType::f32) {
        std::memcpy(data.data() + block * t.block_bytes, &infinity, 4);
      } else {
        std::memcpy(data.data() + block * t.block_bytes, &half_nan, 2);
      }
      CHECK(!t.finite(data.data(), count));
    }
  }
}

TEST(dtypes_unknown_ids) {
  for (const int id : {-1, 4, 5, 31, 33, 36, 38, 43, 1000}) CHECK(dtype_info(id) == nullptr);
  CHECK(std::string(dtype_info(12)->name) == "Q4_K" && dtype_info(12)->widen == nullptr);
}
