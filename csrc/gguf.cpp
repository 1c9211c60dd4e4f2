#include "gguf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "error.h"
#include "mapping.h"
#include "reader.h"
#include "utf8.h"

namespace bankml::gguf {

namespace {

constexpr uint64_t kMaxCount = uint64_t{1} << 30;
constexpr size_t kMaxTensorName = 63;  // GGML_MAX_NAME - 1
constexpr int kMaxDims = 4;
constexpr uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;         // length, one character, type, one byte of value
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;  // length, one character, dims, type, offset
constexpr uint64_t kMaxAlignment = uint64_t{1} << 24;

constexpr size_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr const char* kValueNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                       "bool", "string", "array", "u64", "i64", "f64"};

const char* name_of(ValueType type) { return kValueNames[static_cast<int>(type)]; }

std::string called(std::string_view kind, const std::string& name) {
  return std::string(kind) + " " + utf8::printable(name);
}

ValueType read_type(Reader& in, const std::string& key) {
  const auto id = in.number<int32_t>(called("the type of key", key));
  if (id < 0 || id > static_cast<int32_t>(ValueType::f64)) {
    in.fail(called("key", key) + " has the unknown value type " + std::to_string(id));
  }
  return static_cast<ValueType>(id);
}

// Array payloads: the count is compared with what is left before anything is walked.
void read_array(Reader& in, const std::string& key, Value& value) {
  value.is_array = true;
  value.type = read_type(in, key);
  const std::string what = called("the array of key", key);
  if (value.type == ValueType::array) in.fail(called("key", key) + " is an array of arrays");
  value.count = in.number<uint64_t>(what);
  const uint64_t least = value.type == ValueType::string ? 8 : kValueBytes[static_cast<int>(value.type)];
  if (value.count > kMaxCount || value.count > in.left() / least) {
    in.fail(called("key", key) + " claims " + std::to_string(value.count) + " elements, more than the file can hold");
  }
  value.data = in.here();
  if (value.type == ValueType::string) {
    for (uint64_t i = 0; i < value.count; ++i) in.string(what);
  } else {
    in.skip(value.count * least, what);
  }
  value.bytes = static_cast<size_t>(in.here() - value.data);
}

Value read_value(Reader& in, const std::string& key) {
  Value value{};
  value.count = 1;
  value.type = read_type(in, key);
  if (value.type == ValueType::array) {
    read_array(in, key, value);
  } else if (value.type == ValueType::string) {
    value.data = in.here();
    value.bytes = in.string(called("the string of key", key)).size();
  } else {
    value.data = in.here();
    value.bytes = kValueBytes[static_cast<int>(value.type)];
    in.skip(value.bytes, called("the value of key", key));
    if (value.type == ValueType::boolean && *value.data > 1)
      in.fail(called("key", key) + " is a bool of value " + std::to_string(*value.data));
  }
  return value;
}

// A count that what is left of the file could hold.
int64_t read_count(Reader& in, const char* what, uint64_t least_bytes) {
  const auto count = in.number<int64_t>(std::string("the count of ") + what + "s");
  if (count < 0 || static_cast<uint64_t>(count) > in.left() / least_bytes) {
    in.fail("claims " + counted(count, what));
  }
  return count;
}

uint64_t padded(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

// Byte size of a tensor whose shape and type are known; fails on any overflow.
uint64_t checked_bytes(Reader& in, const Tensor& tensor) {
  const DTypeInfo& type = info(tensor.type);
  const std::string what = called("tensor", tensor.name) + " of shape " + tensor.shape();
  int64_t values = 1;
  for (const int64_t extent : tensor.ne) {
    if (extent < 1) in.fail(what + " has the extent " + std::to_string(extent));
    if (values > INT64_MAX / extent) in.fail(what + " has more values than can be counted");
    values *= extent;
  }
  if (tensor.ne[0] % type.block != 0) {
    in.fail(what + " has rows that are no multiple of " + type.name + "'s block of " + std::to_string(type.block));
  }
  const auto blocks = static_cast<uint64_t>(values / type.block);
  if (blocks > uint64_t{INT64_MAX} / type.block_bytes) in.fail(what + " has more bytes than can be counted");
  return blocks * type.block_bytes;
}

Tensor read_tensor(Reader& in) {
  Tensor tensor{};
  tensor.name = in.string("a tensor name");
  const std::string what = called("tensor", tensor.name);
  if (tensor.name.empty() || tensor.name.size() > kMaxTensorName) {
    in.fail(what + " has a name of " + std::to_string(tensor.name.size()) + " bytes, 1 to 63 are possible");
  }
  const auto dims = in.number<uint32_t>(what);
  if (dims < 1 || dims > kMaxDims) in.fail(what + " has " + std::to_string(dims) + " dimensions, 1 to 4 are possible");
  tensor.n_dims = static_cast<int>(dims);
  std::fill(std::begin(tensor.ne), std::end(tensor.ne), 1);
  for (int i = 0; i < tensor.n_dims; ++i) tensor.ne[i] = in.number<int64_t>(what);
  const auto type = in.number<int32_t>(what);
  if (dtype_info(type) == nullptr) in.fail(what + " has the unknown type id " + std::to_string(type));
  tensor.type = static_cast<DType>(type);
  tensor.offset = in.number<uint64_t>(what);
  tensor.bytes = checked_bytes(in, tensor);
  return tensor;
}

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

template <class T>
T load(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

[[noreturn]] void wrong_type(const std::string& path, std::string_view key, const Value& value, const char* wanted) {
  throw model_error(path + ": key " + utf8::printable(key) + " is " + (value.is_array ? "an array of " : "a ") +
                    name_of(value.type) + ", " + wanted + " is needed; convert the model again");
}

}  // namespace

File::File(const std::string& path) : path_(path) {
  map(path);
  try {
    parse();
  } catch (...) {
    unmap();
    throw;
  }
}

File::~File() { unmap(); }

void File::unmap() {
  unguard_mapping(guard_slot_);
  if (map_ != nullptr) munmap(const_cast<uint8_t*>(map_), size_);
  if (fd_ >= 0) close(fd_);
}

void File::map(const std::string& path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    throw model_error(path + ": cannot be opened (" + std::strerror(errno) + "); check the path and its permissions");
  }
  struct stat status;
  const bool regular = fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<uint64_t>(status.st_size) : 0;
  modified_ = regular ? nanoseconds(status.st_mtim) : 0;
  void* start = size_ >= 24 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_, 0) : MAP_FAILED;
  if (start == MAP_FAILED) {
    close(fd_);
    if (!regular) throw model_error(path + ": is not a regular file; give the path of a .gguf file");
    if (size_ < 24) {
      throw model_error(path + ": has " + std::to_string(size_) + " bytes, too few for a GGUF model; fetch it again");
    }
    throw model_error(path + ": cannot be mapped (" + std::strerror(errno) + "); check the memory limits");
  }
  map_ = static_cast<const uint8_t*>(start);
  guard_slot_ = guard_mapping(map_, size_);
}

void File::parse() {
  Reader in(path_, map_, size_);
  if (std::memcmp(map_, "GGUF", 4) != 0) in.fail("does not begin with the letters GGUF");
  in.skip(4, "the magic");
  const auto version = in.number<uint32_t>("the version");
  if ((version & 0xffff) == 0) {
    in.fail("is written for a machine of the other byte order (version " + std::to_string(version) + ")");
  }
  if (version != 2 && version != 3) in.fail("has GGUF version " + std::to_string(version) + ", 2 and 3 are read");
  const int64_t tensors = read_count(in, "tensor", kMinTensorBytes), keys = read_count(in, "key", kMinKeyBytes);
  parse_keys(in, keys);
  if (integer("split.count").value_or(1) > 1) {
    throw model_error(path_ + ": key split.count is " + std::to_string(*integer("split.count")) +
                      ", the file is one part of a model; join the parts with llama-gguf-split --merge");
  }
  parse_tensors(in, tensors);
  place_tensors(in);
}

void File::parse_keys(Reader& in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::string key(in.string("a key"));
    if (key.empty()) in.fail("key " + std::to_string(i) + " of " + std::to_string(count) + " is empty");
    if (!values_.emplace(key, read_value(in, key)).second) {
      in.fail(called("has key", key) + " twice");
    }
    key_order_.push_back(std::move(key));
  }
}

void File::parse_tensors(Reader& in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    tensors_.push_back(read_tensor(in));
    if (!tensor_index_.emplace(tensors_.back().name, tensors_.size() - 1).second) {
      in.fail(called("has tensor", tensors_.back().name) + " twice");
    }
  }
}

uint64_t File::alignment(const Reader& in) const {
  const Value* value = find("general.alignment");
  if (value == nullptr) return 32;
  if (value->is_array || value->type != ValueType::u32) wrong_type(path_, "general.alignment", *value, "a u32");
  const auto alignment = load<uint32_t>(value->data);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kMaxAlignment) {
    in.fail("key general.alignment is " + std::to_string(alignment) + ", a power of two up to 2^24 is possible");
  }
  return alignment;
}

// Offsets must be the running sum of padded sizes, and every tensor must end inside the file.
void File::place_tensors(const Reader& in) {
  const uint64_t step = alignment(in);
  data_start_ = padded(in.position(), step);
  uint64_t expected = 0;
  for (Tensor& tensor : tensors_) {
    const std::string name = called("tensor", tensor.name);
    if (tensor.offset != expected) {
      in.fail(name + " has the offset " + std::to_string(tensor.offset) + ", " + std::to_string(expected) + " is due");
    }
    if (tensor.bytes > UINT64_MAX - step - expected) {
      in.fail(name + " has " + std::to_string(tensor.bytes) + " bytes, with those before it more than can be counted");
    }
    expected += padded(tensor.bytes, step);
    if (data_start_ > size_ || tensor.offset + tensor.bytes > size_ - data_start_) {
      in.fail(name + " of " + std::to_string(tensor.bytes) + " bytes ends beyond the file's " + std::to_string(size_) +
              " bytes; the download is incomplete");
    }
    tensor.offset += data_start_;
  }
}

std::string Tensor::shape() const {
  std::string out = "[";
  for (int i = 0; i < n_dims; ++i) out += (i ? ", " : "") + std::to_string(ne[i]);
  return out + "]";
}

const Value* File::find(std::string_view key) const {
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> File::string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != ValueType::string) wrong_type(path_, key, *value, "a string");
  return std::string(reinterpret_cast<const char*>(value->data) + 8, value->bytes);
}

std::optional<int64_t> File::integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array) {
    switch (value->type) {
      case ValueType::u8:
        return load<uint8_t>(value->data);
      case ValueType::i8:
        return load<int8_t>(value->data);
      case ValueType::u16:
        return load<uint16_t>(value->data);
      case ValueType::i16:
        return load<int16_t>(value->data);
      case ValueType::u32:
        return load<uint32_t>(value->data);
      case ValueType::i32:
        return load<int32_t>(value->data);
      case ValueType::i64:
        return load<int64_t>(value->data);
      case ValueType::u64:
        if (load<uint64_t>(value->data) <= INT64_MAX) return load<int64_t>(value->data);
        throw model_error(path_ + ": key " + utf8::printable(key) + " is " +
                          std::to_string(load<uint64_t>(value->data)) +
                          ", an integer below 2^63 is needed; convert the model again");
      default:
        break;
    }
  }
  wrong_type(path_, key, *value, "an integer");
}

std::optional<double> File::real(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array && value->type == ValueType::f32) return load<float>(value->data);
  if (!value->is_array && value->type == ValueType::f64) return load<double>(value->data);
  wrong_type(path_, key, *value, "a float");
}

std::optional<bool> File::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != ValueType::boolean) wrong_type(path_, key, *value, "a bool");
  return *value->data != 0;
}

std::vector<std::string_view> File::strings(std::string_view key) const {
  std::vector<std::string_view> out;
  const Value* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array || value->type != ValueType::string) wrong_type(path_, key, *value, "an array of strings");
  out.reserve(value->count);
  const uint8_t* at = value->data;
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto length = load<uint64_t>(at);
    out.emplace_back(reinterpret_cast<const char*>(at) + 8, length);
    at += 8 + length;
  }
  return out;
}

std::vector<float> File::floats(std::string_view key) const {
  std::vector<float> out;
  const Value* value = find(key);
  if (value == nullptr) return out;
  const bool f32 = value->type == ValueType::f32;
  if (!value->is_array || (!f32 && value->type != ValueType::i32)) wrong_type(path_, key, *value, "an array of f32");
  out.resize(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    out[i] = f32 ? load<float>(value->data + 4 * i) : static_cast<float>(load<int32_t>(value->data + 4 * i));
  }
  return out;
}

std::vector<int32_t> File::integers(std::string_view key) const {
  std::vector<int32_t> out;
  const Value* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array || (value->type != ValueType::i32 && value->type != ValueType::u32)) {
    wrong_type(path_, key, *value, "an array of i32");
  }
  out.resize(value->count);
  std::memcpy(out.data(), value->data, value->count * sizeof(int32_t));
  return out;
}

std::string_view File::octets(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array || (value->type != ValueType::i8 && value->type != ValueType::u8)) {
    wrong_type(path_, key, *value, "an array of bytes");
  }
  return {reinterpret_cast<const char*>(value->data), value->count};
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(std::string(name));
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

void File::read(uint64_t offset, size_t size, void* out) const {
  auto* to = static_cast<uint8_t*>(out);
  while (size > 0) {
    const ssize_t got = pread(fd_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(got < 0 ? ErrorKind::model : ErrorKind::changed,
                  path_ + ": byte " + std::to_string(offset) + " cannot be read (" +
                      (got < 0 ? std::strerror(errno) : "the file was truncated") +
                      "); fetch the model again and reload");
    }
    to += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
}

void File::check_intact() const {
  struct stat status;
  const bool same = fstat(fd_, &status) == 0 && static_cast<uint64_t>(status.st_size) == size_ &&
                    modified_ == nanoseconds(status.st_mtim);
  if (!same || mapping_damaged(guard_slot_)) {
    throw Error(ErrorKind::changed, path_ + ": was truncated or written to while it was in use; load the model again");
  }
}

void File::release_metadata() const {
  const size_t pages = data_start_ / 4096 * 4096;
  if (pages > 0) madvise(const_cast<uint8_t*>(map_), pages, MADV_DONTNEED);
}

}  // namespace bankml::gguf
