// Any text through Unigram, with overlapping pieces and a character map. Input as in checked_tokenizer.h.
#include "../cpp/charsmap_writer.h"
#include "checked_tokenizer.h"

namespace {

check::GgufWriter vocabulary() {
  check::GgufWriter file;
  file.string("tokenizer.ggml.model", "t5");
  file.strings("tokenizer.ggml.tokens",
               {"<s>",     "<pad>", "</s>", "<unk>", "\u2581", "a",      "b",   "ab",       "aba",   "aaa",
                "\u2581a", "é",     "日",   "日本",  "本",     "\uFFFD", "[u]", "x\u2581y", "xxxxx", "x"});
  file.floats("tokenizer.ggml.scores",
              {0, 0, 0, 0, -2, -3, -3, -5, -7, -8.5f, -4, -6, -6, -7, -6, -9, -1, -5, -9, -2.5f});
  file.i32s("tokenizer.ggml.token_type", {3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 5, 1});
  file.octets("tokenizer.ggml.precompiled_charsmap",
              check::charsmap_blob(
                  {{"\t", " "}, {"e\u0301", "é"}, {"A", "a"}, {"\u200B", ""}, {"㎏", "ab a"}, {"\u2581", " "}}));
  file.boolean("tokenizer.ggml.add_space_prefix", true).boolean("tokenizer.ggml.remove_extra_whitespaces", true);
  file.u32("tokenizer.ggml.bos_token_id", 0)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.unknown_token_id", 3);
  file.boolean("tokenizer.ggml.add_bos_token", true).boolean("tokenizer.ggml.add_eos_token", true);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = fuzz::load(vocabulary());
  fuzz::check_input(*tokenizer, data, size);
  return 0;
}
