// Raw text → what the Unigram lattice reads, a stretch at a time: characters mapped, words opened by U+2581.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "charsmap.h"

namespace bankml {

struct SpaceRules {
  bool add_prefix = false;    // the first word gets a U+2581 even if no space is before it
  bool remove_extra = false;  // runs of spaces merge, spaces at both ends vanish
};

class Normalizer {
 public:
  Normalizer(std::string_view text, const Charsmap& charsmap, SpaceRules rules)
      : text_(text), charsmap_(charsmap), rules_(rules) {}

  // Appends to `out` until it holds `wanted` bytes or the text ends.
  void fill(std::string& out, size_t wanted);
  bool done() const { return position_ == text_.size(); }

 private:
  size_t plain_run(size_t most) const;
  void put(std::string& out, std::string_view mapped);
  void put_word(std::string& out, std::string_view bytes);  // without a space

  std::string_view text_;
  const Charsmap& charsmap_;
  SpaceRules rules_;
  size_t position_ = 0;
  bool prefixed_ = false;  // whether a U+2581 was ever written before a word
  bool in_word_ = false;
};

}  // namespace bankml
