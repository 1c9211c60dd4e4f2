#include "charsmap.h"

#include <cstring>
#include <optional>

#include "../error.h"
#include "../utf8.h"

namespace bankml {
namespace {

constexpr const char* kKey = "tokenizer.ggml.precompiled_charsmap";

// Fields of a unit, as in the darts-clone format.
constexpr uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }
constexpr uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
constexpr bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
constexpr uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFF; }

uint32_t read_u32(const char* bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Nothing when the text is not base64.
std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  int count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((count += 6) >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8) & 0xFF));
  }
  return bytes;
}

// Which offsets begin a valid UTF-8 string that ends at a NUL; from the back, so in one pass.
std::vector<bool> text_starts(std::string_view bytes) {
  std::vector<bool> starts(bytes.size());
  for (size_t i = bytes.size(); i-- > 0;) {
    const utf8::Character character = utf8::decode(bytes.substr(i));
    starts[i] = bytes[i] == 0 || (character.valid && i + character.bytes < bytes.size() && starts[i + character.bytes]);
  }
  return starts;
}

}  // namespace

Error Charsmap::broken(const std::string& what) const {
  const std::string file = path_.empty() ? "" : path_ + ": ";
  return model_error(file + kKey + " " + what + "; convert the model again");
}

// Apart from the walk, which is inlined without the making of messages.
[[gnu::noinline]] Error Charsmap::out_of_range(size_t index) const {
  return broken("leads to unit " + std::to_string(index) + " of " + std::to_string(units_.size()));
}

Charsmap::Charsmap(std::string_view blob, std::string path) : path_(std::move(path)) {
  if (blob.size() < 4) throw broken("is " + std::to_string(blob.size()) + " bytes long, too short for its size field");
  const uint64_t size = read_u32(blob.data());
  if (size == 0 || size % 4 != 0)
    throw broken("has an array of " + std::to_string(size) + " bytes, not a positive multiple of 4");
  if (4 + size >= blob.size()) {
    throw broken("has an array of " + std::to_string(size) + " bytes and no replacements in " +
                 std::to_string(blob.size()) + " bytes");
  }
  if (blob.back() != 0) throw broken("ends inside a replacement");
  units_.resize(size / 4);
  for (size_t i = 0; i < units_.size(); i++) units_[i] = read_u32(blob.data() + 4 + 4 * i);
  replacements_ = blob.substr(4 + size);
  starts_text_ = text_starts(replacements_);
  for (size_t c = 0; c < 128; c++) plain_[c] = is_plain(static_cast<char>(c));
}

inline uint32_t Charsmap::unit(size_t index) const {
  if (index >= units_.size()) throw out_of_range(index);
  return units_[index];
}

std::string_view Charsmap::replacement(uint32_t offset) const {
  if (offset >= replacements_.size() || !starts_text_[offset]) {
    throw broken("has no UTF-8 replacement at offset " + std::to_string(offset));
  }
  return replacements_.data() + offset;
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
  if (units_.empty()) return {};
  size_t bytes = 0;
  uint32_t value = 0;
  size_t index = offset_of(unit(0));
  for (size_t i = 0; i < text.size() && text[i] != 0; i++) {
    const auto byte = static_cast<uint8_t>(text[i]);
    index ^= byte;
    const uint32_t node = unit(index);
    if (label_of(node) != byte) break;
    index ^= offset_of(node);
    if (has_leaf(node)) {
      bytes = i + 1;
      value = value_of(unit(index));
    }
  }
  if (bytes == 0) return {};
  return {bytes, replacement(value)};
}

// How many bytes of the text the map's paths follow, mapped or not.
size_t Charsmap::reach(std::string_view text) const {
  size_t index = offset_of(unit(0)), bytes = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) break;
    index ^= byte;
    const uint32_t node = unit(index);
    if (label_of(node) != byte) break;
    index ^= offset_of(node);
    ++bytes;
  }
  return bytes;
}

// A byte that begins a longer rule with another ASCII byte is not plain, even if the two alone are not mapped. A faulty
// map is not plain: then every text that meets the byte takes the checked way.
bool Charsmap::is_plain(char ascii) const try {
  for (int next = 0; next < 128; next++) {
    const char pair[] = {ascii, static_cast<char>(next)};
    if (reach({pair, 2}) > 1 || longest({pair, 2}).bytes != 0) return false;
  }
  return true;
} catch (const Error&) {
  return false;
}

Charsmap read_charsmap(const gguf::File& file) {
  const gguf::Value* value = file.find(kKey);
  if (value == nullptr) return {};
  if (!value->is_array || value->type != gguf::ValueType::string) {
    return Charsmap(file.octets(kKey), file.path());
  }
  std::string base64;
  for (const std::string_view part : file.strings(kKey)) base64 += part;
  const std::optional<std::string> blob = decode_base64(base64);
  if (!blob)
    throw file.error(std::string(kKey) + " is an array of strings that is not base64; convert the model again");
  return Charsmap(*blob, file.path());
}

}  // namespace bankml
