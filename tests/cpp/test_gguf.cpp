// The reader against right files, wrong files, and every truncation of a right one (csrc/gguf).
#include <cstring>
#include <random>

#include "check.h"
#include "error.h"
#include "gguf.h"
#include "gguf_writer.h"

using namespace bankml;
using check::GgufWriter;
using check::TemporaryFile;

namespace {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string text(const std::string& value) { return raw<uint64_t>(value.size()) + value; }

std::string header(int64_t tensors, int64_t keys, uint32_t version = 3) {
  return std::string("GGUF") + raw(version) + raw(tensors) + raw(keys);
}

// One tensor of four floats with the given fields, after the header; enough zeros behind it for the data.
std::string one_tensor(const std::string& name, uint32_t dims, const std::vector<int64_t>& ne, int32_t type,
                       uint64_t offset) {
  std::string file = header(1, 0) + text(name) + raw(dims);
  for (const int64_t n : ne) file += raw(n);
  return file + raw(type) + raw(offset) + std::string(256, '\0');
}

GgufWriter small() {
  GgufWriter writer;
  writer.string("general.architecture", "bert").u32("a.u32", 7).f32("a.f32", 0.5f).boolean("a.bool", true);
  writer.strings("a.strings", {"x", "", "yz"})
      .floats("a.floats", {1, 2})
      .i32s("a.i32s", {-1, 5})
      .octets("a.octets", "abc");
  writer.tensor("first", DType::f32, {4}, std::string(16, '\1'))
      .tensor("second", DType::f16, {32, 2}, std::string(128, '\2'));
  return writer;
}

void check_fails(const std::string& bytes, const char* part) {
  const TemporaryFile file(bytes);
  CHECK_THROWS(gguf::File(file.path()), part);
}

}  // namespace

TEST(gguf_reads_what_was_written) {
  const TemporaryFile temporary(small().bytes());
  const gguf::File file(temporary.path());
  CHECK(file.string("general.architecture") == "bert");
  CHECK(file.integer("a.u32") == 7 && file.real("a.f32") == 0.5 && file.boolean("a.bool") == true);
  CHECK((file.strings("a.strings") == std::vector<std::string_view>{"x", "", "yz"}));
  CHECK((file.floats("a.floats") == std::vector<float>{1, 2}) &&
        (file.integers("a.i32s") == std::vector<int32_t>{-1, 5}));
  CHECK(file.octets("a.octets") == "abc");
  CHECK(!file.string("absent") && !file.integer("absent") && file.strings("absent").empty() &&
        file.octets("absent").empty());
  CHECK(file.tensors().size() == 2 && file.find_tensor("third") == nullptr);
  const gguf::Tensor* second = file.find_tensor("second");
  CHECK(second != nullptr && second->rows() == 2 && second->row_bytes() == 64 && second->offset % 32 == 0);
  CHECK(file.data(*second)[0] == 2 && file.data(*second)[127] == 2);
  uint8_t byte = 0;
  file.read(file.find_tensor("first")->offset + 15, 1, &byte);
  CHECK(byte == 1);
  CHECK_THROWS(file.read(file.size(), 1, &byte), "cannot be read");
}

TEST(gguf_a_key_of_another_type_is_named) {
  const TemporaryFile temporary(small().bytes());
  const gguf::File file(temporary.path());
  CHECK_THROWS(file.string("a.u32"), "a.u32");
  CHECK_THROWS(file.integer("a.f32"), "a.f32");
  CHECK_THROWS(file.real("a.u32"), "a.u32");
  CHECK_THROWS(file.boolean("a.u32"), "a.u32");
  CHECK_THROWS(file.strings("a.floats"), "a.floats");
  CHECK_THROWS(file.floats("a.octets"), "a.octets");
  CHECK_THROWS(file.integers("a.floats"), "a.floats");
  CHECK_THROWS(file.octets("a.i32s"), "a.i32s");
  CHECK_THROWS(file.integer("a.i32s"), "a.i32s");
}

TEST(gguf_version_2_and_no_other) {
  std::string bytes = small().bytes();
  bytes[4] = 2;
  const TemporaryFile two(bytes);
  CHECK(gguf::File(two.path()).tensors().size() == 2);
  for (const char version : {0, 1, 4}) {
    bytes[4] = version;
    check_fails(bytes, version ? "GGUF version" : "byte order");
  }
  bytes[4] = 0, bytes[7] = 3;
  check_fails(bytes, "byte order");
}

TEST(gguf_every_truncation_is_an_error) {
  const std::string bytes = small().bytes();
  const size_t end = bytes.size();
  for (size_t size = 0; size < end; ++size) {
    const TemporaryFile file(bytes.substr(0, size));
    CHECK_THROWS(gguf::File(file.path()), file.path());
  }
}

// Any byte changed to anything: an error or a file that can be read through, never a fault (run under the sanitizers
// too).
TEST(gguf_random_corruption_never_faults) {
  const std::string bytes = small().bytes();
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string wrong = bytes;
    for (int n = 0; n < 1 + i % 4; ++n) wrong[random() % wrong.size()] = static_cast<char>(random());
    const TemporaryFile temporary(wrong);
    try {
      const gguf::File file(temporary.path());
      unsigned sum = 0;
      for (const gguf::Tensor& tensor : file.tensors()) {
        for (uint64_t at = 0; at < tensor.bytes; ++at) sum += file.data(tensor)[at];
      }
      for (const std::string& key : file.keys()) sum += static_cast<unsigned>(file.find(key)->bytes);
      CHECK(sum < UINT32_MAX);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(temporary.path()) == 0);
    }
  }
}

TEST(gguf_counts_and_lengths_beyond_the_file) {
  check_fails(header(int64_t{1} << 60, 0) + std::string(64, '\0'), "tensors");
  check_fails(header(-1, 0) + std::string(64, '\0'), "claims -1 tensors");
  check_fails(header(0, int64_t{1} << 60) + std::string(64, '\0'), "keys");
  check_fails(header(0, -5) + std::string(64, '\0'), "claims -5 keys");
  check_fails(header(0, 1) + raw(uint64_t{1} << 60) + std::string(64, '\0'), "a key");
  const std::string array = header(0, 1) + text("k") + raw<int32_t>(9);
  check_fails(array + raw<int32_t>(8) + raw(uint64_t{1} << 40) + std::string(64, '\0'), "elements");
  check_fails(array + raw<int32_t>(10) + raw(uint64_t{1} << 62) + std::string(64, '\0'), "elements");
  check_fails(array + raw<int32_t>(9) + raw(uint64_t{1}) + std::string(64, '\0'), "array of arrays");
  check_fails(array + raw<int32_t>(13) + raw(uint64_t{1}) + std::string(64, '\0'), "unknown value type 13");
}

TEST(gguf_keys_that_are_wrong) {
  const std::string value = raw<int32_t>(4) + raw<uint32_t>(1);
  check_fails(header(0, 2) + text("k") + value + text("k") + value + std::string(64, '\0'), "twice");
  check_fails(header(0, 1) + text("") + value + std::string(64, '\0'), "is empty");
  check_fails(header(0, 1) + text("k") + raw<int32_t>(99) + std::string(64, '\0'), "value type 99");
  check_fails(header(0, 1) + text("k") + raw<int32_t>(7) + "\2" + std::string(64, '\0'), "bool");
  check_fails(header(0, 1) + text("split.count") + raw<int32_t>(2) + raw<uint16_t>(3) + std::string(64, '\0'), "split");
  for (const uint32_t alignment : {0u, 3u, 0x80000000u}) {
    check_fails(header(0, 1) + text("general.alignment") + raw<int32_t>(4) + raw(alignment) + std::string(64, '\0'),
                "alignment");
  }
  check_fails(header(0, 1) + text("general.alignment") + raw<int32_t>(10) + raw<uint64_t>(32) + std::string(64, '\0'),
              "general.alignment");
}

TEST(gguf_tensors_that_are_wrong) {
  check_fails(one_tensor("", 1, {4}, 0, 0), "0 bytes");
  check_fails(one_tensor(std::string(64, 'n'), 1, {4}, 0, 0), "64 bytes");
  check_fails(one_tensor("t", 0, {}, 0, 0), "0 dimensions");
  check_fails(one_tensor("t", 5, {1, 1, 1, 1, 1}, 0, 0), "5 dimensions");
  check_fails(one_tensor("t", 1, {-4}, 0, 0), "-4");
  check_fails(one_tensor("t", 3, {int64_t{1} << 31, int64_t{1} << 31, 4}, 0, 0),
              "[2147483648, 2147483648, 4] has more values");
  check_fails(one_tensor("t", 1, {INT64_MAX}, 0, 0), "has more bytes");
  check_fails(one_tensor("t", 1, {int64_t{1} << 60}, 0, 0), "ends beyond");
  for (const int32_t type : {-1, 4, 5, 31, 36, 43, 1000})
    check_fails(one_tensor("t", 1, {32}, type, 0), "unknown type");
  check_fails(one_tensor("t", 1, {33}, 8, 0), "block of 32");
  check_fails(one_tensor("t", 1, {4}, 0, 32), "offset");
  check_fails(one_tensor("t", 1, {4}, 0, 1), "offset");
  check_fails(one_tensor("t", 1, {4}, 0, UINT64_MAX - 8), "offset");
  GgufWriter twice;
  twice.tensor("t", DType::f32, {4}, std::string(16, '\0')).tensor("t", DType::f32, {4}, std::string(16, '\0'));
  check_fails(twice.bytes(), "twice");
}

TEST(gguf_what_is_not_a_file) {
  CHECK_THROWS(gguf::File("/nonexistent/model.gguf"), "cannot be opened");
  CHECK_THROWS(gguf::File("/tmp"), "not a regular file");
  CHECK_THROWS(gguf::File("/dev/null"), "not a regular file");
  check_fails("", "0 bytes");
  check_fails(std::string("GGML").append(64, '\0'), "letters GGUF");
}
