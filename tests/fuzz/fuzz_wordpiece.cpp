// Any text through WordPiece, with all four settings of its normaliser. Input as in checked_tokenizer.h.
#include <array>

#include "checked_tokenizer.h"

namespace {

std::unique_ptr<bankml::Tokenizer> make(bool lowercase, bool strip_accents) {
  check::GgufWriter file;
  file.string("tokenizer.ggml.model", "bert");
  file.strings("tokenizer.ggml.tokens",
               {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581a", "a", "\u2581ab", "b", "\u2581!", "\u2581日",
                "\u2581\u2581", "\u2581e", "é", "\u1161", "\u2581\u1100", "\u302E", "aaaa"});
  file.i32s("tokenizer.ggml.token_type", {3, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4});
  file.boolean("tokenizer.ggml.normalizer.lowercase", lowercase);
  file.boolean("tokenizer.ggml.normalizer.strip_accents", strip_accents);
  return fuzz::load(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array tokenizers = {make(false, false), make(false, true), make(true, false), make(true, true)};
  for (const auto& tokenizer : tokenizers) fuzz::check_input(*tokenizer, data, size);
  return 0;
}
