// Text → token ids. One interface, two implementations (unigram.cpp for XLM-R, wordpiece.cpp for BERT).
//
// Both are linear in the text, do no work on the vocabulary per call, and never fail on any bytes: invalid UTF-8
// becomes U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../gguf.h"

namespace bankml {

struct TokenizeOptions {
  // Ids wanted at most, special tokens included. When the text has more, the ids are the first `limit` - suffix of the
  // whole text's ids followed by the closing special token, and reading stops soon after the cut is certain.
  size_t limit = std::numeric_limits<size_t>::max();
  // Whether the text of a control token ("</s>", "[SEP]") stands for the token. False for users: their text is text.
  bool parse_special = false;
};

struct Tokens {
  std::vector<int32_t> ids;
  bool truncated = false;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual Tokens tokenize(std::string_view utf8, const TokenizeOptions& options = {}) const = 0;
  virtual int32_t vocabulary_size() const = 0;
  // The bytes of a piece as the vocabulary stores it; empty for an id out of range.
  virtual std::string piece(int32_t id) const = 0;
  // What the file left unsaid and bankml assumed; one sentence each.
  virtual const std::vector<std::string>& warnings() const = 0;
};

// Reads `tokenizer.ggml.*` of the file. Errors are model_errors naming the key and the value. Keeps no pointer into
// `file`.
std::unique_ptr<Tokenizer> make_tokenizer(const gguf::File& file);

// The implementations' constructors, one a file.
std::unique_ptr<Tokenizer> make_unigram(const gguf::File& file);
std::unique_ptr<Tokenizer> make_wordpiece(const gguf::File& file);

}  // namespace bankml
