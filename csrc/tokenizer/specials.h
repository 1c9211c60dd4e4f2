// Special tokens that are written out in a text, and the stretches of plain text between them.
//
// The leftmost one is taken, and of several there the longest.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>

#include "trie.h"
#include "vocabulary.h"

namespace bankml {

class Specials {
 public:
  explicit Specials(const Vocabulary& vocabulary);

  // Calls `plain(text)` and `special(id)` in order until one returns false. User-defined tokens always stand for
  // themselves, control and unknown tokens only if `parse`; what is not taken as a token is plain text. Reads no
  // further than it is asked to.
  template <typename Plain, typename Special>
  void partition(std::string_view text, bool parse, Plain plain, Special special) const {
    while (!text.empty()) {
      const Found found = (parse ? all_ : user_defined_).first(text);
      if (found.start > 0 && !plain(text.substr(0, found.start))) return;
      if (found.bytes > 0 && !special(found.id)) return;
      text.remove_prefix(found.start + found.bytes);
    }
  }

 private:
  struct Found {
    size_t start, bytes;  // (text.size(), 0) when there is none
    int32_t id;
  };
  struct Set {
    explicit Set(Trie entries);
    Found first(std::string_view text) const;

    Trie trie;
    std::bitset<256> leads;  // the bytes with which entries begin
  };

  Set user_defined_, all_;
};

}  // namespace bankml
