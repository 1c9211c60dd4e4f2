// Collects ids up to a limit, with the rule of TokenizeOptions::limit in one place.
#pragma once

#include <optional>
#include <utility>

#include "tokenizer.h"

namespace bankml {

class TokenSink {
 public:
  TokenSink(size_t limit, std::optional<int32_t> closing)
      : closing_(closing), fits_(limit > 0), room_(limit - (closing && fits_ ? 1 : 0)) {
    tokens_.ids.reserve(32);  // a query is one allocation
  }

  void add(int32_t id) {
    if (!full()) tokens_.ids.push_back(id);
  }
  // One id more than fits was added: the cut is certain and nothing that follows matters.
  bool full() const { return tokens_.ids.size() > room_; }

  Tokens finish() && {
    tokens_.truncated = full() || (closing_ && !fits_);
    if (full()) tokens_.ids.resize(room_);
    if (closing_ && fits_) tokens_.ids.push_back(*closing_);
    return std::move(tokens_);
  }

 private:
  std::optional<int32_t> closing_;
  bool fits_;    // whether there is room for the closing token at all
  size_t room_;  // ids before it
  Tokens tokens_;
};

}  // namespace bankml
