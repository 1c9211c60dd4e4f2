// Untrusted bytes, read forward: every read is compared with what is left before it happens.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "error.h"

namespace bankml {

// Reads [0, size) of a file's bytes; `path` stands in messages.
class Reader {
 public:
  Reader(const std::string& path, const uint8_t* data, uint64_t size) : path_(path), data_(data), size_(size) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return size_ - position_; }
  const uint8_t* here() const { return data_ + position_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw model_error(path_ + ": " + what + " (at byte " + std::to_string(position_) +
                      "); the file is damaged or not a GGUF model: fetch it again");
  }

  void skip(uint64_t bytes, std::string_view what) {
    if (bytes > left()) {
      fail(std::string(what) + " needs " + std::to_string(bytes) + " bytes, " + std::to_string(left()) + " are left");
    }
    position_ += bytes;
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    const uint8_t* from = here();
    skip(sizeof value, what);
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  std::string_view string(std::string_view what) {
    const auto length = number<uint64_t>(what);
    if (length > uint64_t{1} << 30) fail(std::string(what) + " has a length of " + std::to_string(length));
    const auto* from = reinterpret_cast<const char*>(here());
    skip(length, what);
    return {from, length};
  }

 private:
  const std::string& path_;
  const uint8_t* data_;
  uint64_t size_;
  uint64_t position_ = 0;
};

}  // namespace bankml
