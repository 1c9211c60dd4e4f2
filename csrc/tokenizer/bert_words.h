// Text → words as BERT sees them: cleaned, accents stripped, lower-cased, split at spaces, punctuation and ideographs.
//
// Equal to Hugging Face's BertNormalizer followed by BertPreTokenizer, one word at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bankml {

struct BertRules {
  bool lowercase = true;
  bool strip_accents = true;
};

// What a set of rules does to ASCII, the fast half of the work.
class BertAscii {
 public:
  explicit BertAscii(BertRules rules);
  // The letter that a byte becomes, or 0 if it is no letter of a word.
  char letter(uint8_t byte) const { return letters_[byte]; }

 private:
  std::array<char, 256> letters_{};
};

class BertWords {
 public:
  static constexpr size_t kMaxCharacters = 100;  // of a word; a longer one is unknown (max_input_chars_per_word)

  BertWords(std::string_view text, BertRules rules, const BertAscii& ascii)
      : text_(text), rules_(rules), ascii_(ascii) {}

  // Moves to the next word; false at the end of the text.
  bool next();
  std::string_view word() const { return word_; }
  bool too_long() const { return characters_ > kMaxCharacters; }

 private:
  struct Mark {
    uint8_t order;
    char32_t code_point;
  };

  void read_letters();
  void read_character();
  void split(char32_t c);
  void settle_marks();
  void emit(char32_t c);
  bool take();

  std::string_view text_;
  BertRules rules_;
  const BertAscii& ascii_;
  size_t position_ = 0;
  std::vector<char32_t> pending_;  // normalised, not yet in a word; from taken_ on
  size_t taken_ = 0;
  std::vector<Mark> marks_;  // since the last starter: they may still change places
  std::string word_;
  size_t characters_ = 0;
};

}  // namespace bankml
