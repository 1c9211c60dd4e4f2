// Any bytes as a model file: an error or a file that can be read through, never a fault.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "error.h"
#include "gguf.h"
#include "tokenizer/tokenizer.h"
#include "weights.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bankml;
  if (size > 1 << 20) return 0;
  try {
    const gguf::File file(in_memory(data, size));
    read_everything(file);
    const Model model = read_model(file);
    const Weights weights(file, model);
    make_tokenizer(file)->tokenize("Any text, 日本語 too.");
  } catch (const Error&) {
  }
  return 0;
}
