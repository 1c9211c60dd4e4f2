// What must hold of every tokenizer for every text, whatever the bytes.
#pragma once

#include <memory>
#include <string_view>

#include "../../csrc/tokenizer/tokenizer.h"
#include "../cpp/gguf_writer.h"

namespace fuzz {

inline std::unique_ptr<bankml::Tokenizer> load(const check::GgufWriter& writer) {
  const check::TemporaryFile file(writer.bytes());
  return bankml::make_tokenizer(bankml::gguf::File(file.path()));
}

// Ids lie in the vocabulary, and a limit gives the first ids and the last one of the whole text's. Traps otherwise.
inline void check_text(const bankml::Tokenizer& tokenizer, std::string_view text, size_t limit, bool parse_special) {
  const bankml::Tokens whole = tokenizer.tokenize(text, {.parse_special = parse_special});
  for (const int32_t id : whole.ids) {
    if (id < 0 || id >= tokenizer.vocabulary_size()) __builtin_trap();
  }
  if (whole.truncated || whole.ids.size() < 2) __builtin_trap();
  const bankml::Tokens cut = tokenizer.tokenize(text, {.limit = limit, .parse_special = parse_special});
  std::vector<int32_t> expected = whole.ids;
  if (limit < whole.ids.size()) {
    expected.resize(limit - 1);
    expected.push_back(whole.ids.back());
  }
  if (cut.ids != expected || cut.truncated != (limit < whole.ids.size())) __builtin_trap();
}

// Input: limit - 1, whether specials are parsed, the text.
inline void check_input(const bankml::Tokenizer& tokenizer, const uint8_t* data, size_t size) {
  if (size < 2) return;
  check_text(tokenizer, {reinterpret_cast<const char*>(data) + 2, size - 2}, size_t{1} + data[0], data[1] & 1);
}

}  // namespace fuzz
