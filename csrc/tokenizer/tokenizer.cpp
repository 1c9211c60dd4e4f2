#include "tokenizer.h"

#include "../utf8.h"

namespace bankml {

std::unique_ptr<Tokenizer> make_tokenizer(const gguf::File& file) {
  const std::optional<std::string> model = file.string("tokenizer.ggml.model");
  if (!model) throw file.error("tokenizer.ggml.model is absent: the file has no tokenizer; convert the model again");
  if (*model == "t5") return make_unigram(file);
  if (*model == "bert") return make_wordpiece(file);
  throw file.error("tokenizer.ggml.model is \"" + utf8::printable(*model) +
                   "\", which bankml does not run; it runs \"bert\" (WordPiece) and \"t5\" (Unigram, XLM-R)");
}

}  // namespace bankml
