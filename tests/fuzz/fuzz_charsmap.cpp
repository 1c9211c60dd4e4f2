// A hostile character map: any bytes load or are a model_error, and so does any text that is mapped with them.
//
// Input: u16 length of the text, the text, then the map.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../csrc/error.h"
#include "../../csrc/tokenizer/normalizer.h"
#include "../../csrc/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t length = std::min<size_t>(data[0] | data[1] << 8, size - 2);
  try {
    const bankml::Charsmap charsmap(bytes.substr(2 + length));
    bankml::Normalizer normalizer(bytes.substr(2, length), charsmap, {.add_prefix = true, .remove_extra = true});
    std::string out;
    while (!normalizer.done() && out.size() < (1 << 20)) normalizer.fill(out, out.size() + 16);
    if (!bankml::utf8::valid(out)) __builtin_trap();
  } catch (const bankml::Error&) {
  }
  return 0;
}
