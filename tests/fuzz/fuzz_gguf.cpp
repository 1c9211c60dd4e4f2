// Any bytes as a model file: an error, or a file that can be read through and, if it is a whole model, encodes a text;
// never a fault.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "engine.h"
#include "error.h"

namespace {

// A file in memory that is written anew for every input.
std::string in_memory(const uint8_t* data, size_t size) {
  static const int descriptor = memfd_create("fuzz", 0);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) return "";
  return "/proc/self/fd/" + std::to_string(descriptor);
}

void read_everything(const bankml::gguf::File& file) {
  volatile unsigned sum = 0;
  for (const bankml::gguf::Tensor& tensor : file.tensors()) {
    for (uint64_t at = 0; at < tensor.bytes; ++at) sum = sum + file.data(tensor)[at];
  }
  for (const std::string& key : file.keys()) {
    const bankml::gguf::Value* value = file.find(key);
    for (size_t at = 0; at < value->bytes; ++at) sum = sum + value->data[at];
  }
}

void encode(const std::string& path) {
  bankml::Options options;
  options.threads = 1;
  const bankml::Engine engine(path, options);
  bankml::EncodeOptions limited;
  limited.max_tokens = 3;  // of 11 bytes, so that the cut is met too
  const std::vector<float> vectors = engine.encode({"why sky 日"}, limited).vectors;
  for (const float value : vectors) {
    if (!std::isfinite(value)) __builtin_trap();
  }
  engine.verify_finite({});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bankml;
  if (size > 1 << 20) return 0;
  try {
    const std::string path = in_memory(data, size);
    read_everything(gguf::File(path));
    encode(path);
  } catch (const Error&) {
  }
  return 0;
}
