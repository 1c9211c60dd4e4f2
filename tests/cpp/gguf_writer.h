// Writes small GGUF files for tests: right ones, and by raw bytes wrong ones.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../../csrc/gguf.h"

namespace check {

class GgufWriter {
 public:
  using Type = bankml::gguf::ValueType;

  GgufWriter& string(std::string_view key, std::string_view value) { return begin(key, Type::string).text(value); }
  GgufWriter& u32(std::string_view key, uint32_t value) { return begin(key, Type::u32).number(value); }
  GgufWriter& f32(std::string_view key, float value) { return begin(key, Type::f32).number(value); }
  GgufWriter& boolean(std::string_view key, bool value) { return begin(key, Type::boolean).number<uint8_t>(value); }
  GgufWriter& strings(std::string_view key, const std::vector<std::string>& values) {
    array(key, Type::string, values.size());
    for (const std::string& value : values) text(value);
    return *this;
  }
  GgufWriter& floats(std::string_view key, const std::vector<float>& values) { return numbers(key, Type::f32, values); }
  GgufWriter& i32s(std::string_view key, const std::vector<int32_t>& values) { return numbers(key, Type::i32, values); }
  GgufWriter& u32s(std::string_view key, const std::vector<uint32_t>& values) {
    return numbers(key, Type::u32, values);
  }
  GgufWriter& octets(std::string_view key, std::string_view bytes) {
    array(key, Type::u8, bytes.size());
    keys_ += bytes;
    return *this;
  }
  // `ne` fastest-varying first; `data` are the tensor's bytes.
  GgufWriter& tensor(std::string_view name, bankml::DType type, const std::vector<int64_t>& ne, std::string_view data) {
    append_text(tensors_, name);
    append(tensors_, static_cast<uint32_t>(ne.size()));
    for (const int64_t n : ne) append(tensors_, n);
    append(tensors_, static_cast<int32_t>(type));
    append(tensors_, static_cast<uint64_t>(data_.size()));
    data_ += data;
    pad(data_);
    tensor_count_++;
    return *this;
  }

  std::string bytes() const {
    std::string file = "GGUF";
    append(file, uint32_t{3});
    append(file, tensor_count_);
    append(file, key_count_);
    file += keys_ + tensors_;
    pad(file);
    return file + data_;
  }

 private:
  template <typename T>
  static void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void append_text(std::string& out, std::string_view value) {
    append(out, static_cast<uint64_t>(value.size()));
    out += value;
  }
  static void pad(std::string& out) { out.resize((out.size() + 31) / 32 * 32); }

  GgufWriter& begin(std::string_view key, Type type) {
    append_text(keys_, key);
    append(keys_, static_cast<int32_t>(type));
    key_count_++;
    return *this;
  }
  void array(std::string_view key, Type type, size_t count) {
    begin(key, Type::array);
    append(keys_, static_cast<int32_t>(type));
    append(keys_, static_cast<uint64_t>(count));
  }
  template <typename T>
  GgufWriter& number(T value) {
    append(keys_, value);
    return *this;
  }
  template <typename T>
  GgufWriter& numbers(std::string_view key, Type type, const std::vector<T>& values) {
    array(key, type, values.size());
    for (const T value : values) append(keys_, value);
    return *this;
  }
  GgufWriter& text(std::string_view value) {
    append_text(keys_, value);
    return *this;
  }

  std::string keys_, tensors_, data_;
  int64_t key_count_ = 0, tensor_count_ = 0;
};

// A file that lives as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder ? folder : "/tmp") + "/bankml-test-XXXXXX";
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) throw std::runtime_error("cannot create " + path_);
    close(descriptor);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace check
