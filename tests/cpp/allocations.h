// How many allocations this thread has made so far; main.cpp counts them.
#pragma once

#include <cstddef>
#include <string>

#include "../../csrc/tokenizer/tokenizer.h"

namespace check {

size_t allocations();

// Of tokenizing `unit` as often as is said.
inline size_t allocations_of(const bankml::Tokenizer& tokenizer, const std::string& unit, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; i++) text += unit;
  const size_t before = allocations();
  tokenizer.tokenize(text);
  return allocations() - before;
}

}  // namespace check
