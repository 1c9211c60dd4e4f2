// A GGUF file: mapped, checked from end to end before anything is believed, and offered as metadata and tensor views.
// Knows no model. Everything a file can get wrong is a model_error that names the key or tensor and the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dtypes.h"
#include "error.h"

namespace bankml {
class Reader;
}

namespace bankml::gguf {

enum class ValueType : int32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// One metadata value, a view into the map. For an array `type` is the element's type and `count` its length.
struct Value {
  ValueType type;
  bool is_array = false;
  uint64_t count = 1;
  const uint8_t* data = nullptr;  // unaligned, little-endian; strings are u64 length + bytes
  size_t bytes = 0;               // payload size of an array of fixed-size elements; of a string without its length
};

struct Tensor {
  std::string name;
  DType type;
  int n_dims;
  int64_t ne[4];    // fastest-varying first: ne[0] = inputs, ne[1] = outputs
  uint64_t offset;  // from the start of the file
  uint64_t bytes;
  size_t row_bytes() const { return dtype_row_bytes(type, ne[0]); }
  int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  std::string shape() const;  // "[1024, 8192]"
};

class File {
 public:
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  // A model_error of this sentence, with the path before it.
  Error error(const std::string& sentence) const { return model_error(path_ + ": " + sentence); }
  uint64_t size() const { return size_; }

  // Metadata. `find` gives null for an absent key; the typed getters throw when the key has another type.
  const Value* find(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;  // any integer type; u64 above 2^63-1 is an error
  std::optional<double> real(std::string_view key) const;      // f32 or f64
  std::optional<bool> boolean(std::string_view key) const;
  // Arrays. Absent → empty; another element type → error.
  std::vector<std::string_view> strings(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;      // f32 or i32
  std::vector<int32_t> integers(std::string_view key) const;  // i32 or u32
  std::string_view octets(std::string_view key) const;        // i8 or u8
  const std::vector<std::string>& keys() const { return key_order_; }

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* find_tensor(std::string_view name) const;
  const uint8_t* data(const Tensor& tensor) const { return map_ + tensor.offset; }
  uint64_t offset_of(const uint8_t* data) const { return static_cast<uint64_t>(data - map_); }
  // Reads bytes [offset, offset + size) of the file by pread; a short read is a model_error.
  void read(uint64_t offset, size_t size, void* out) const;
  // Throws when the file was truncated or written to since it was opened: by size, by time of change, or seen as a
  // fault inside the map.
  void check_intact() const;
  // Lets the kernel drop the resident pages of the metadata, once a model has copied what it needs.
  void release_metadata() const;

 private:
  void map(const std::string& path);
  void unmap();
  void parse();
  void parse_keys(Reader& in, int64_t count);
  void parse_tensors(Reader& in, int64_t count);
  void place_tensors(const Reader& in);
  uint64_t alignment(const Reader& in) const;

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  int64_t modified_ = 0;  // nanoseconds since the epoch, when it was opened
  const uint8_t* map_ = nullptr;
  int guard_slot_ = -1;
  uint64_t data_start_ = 0;
  std::vector<std::string> key_order_;
  std::unordered_map<std::string, Value> values_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, size_t> tensor_index_;
};

}  // namespace bankml::gguf
