// Text → words as BERT sees them: cleaned, accents stripped, lower-cased, split at spaces, punctuation and ideographs.
//
// Equal to Hugging Face's BertNormalizer followed by BertPreTokenizer, one word at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bankml {

struct BertRules {
  bool lowercase = true;
  bool strip_accents = true;
};

// What a set of rules makes of each byte: ASCII, most of most texts, needs one load a byte.
class BertAscii {
 public:
  enum Role : uint8_t { kLetter, kSpace, kPunctuation, kDropped, kNotAscii };
  struct Byte {
    Role role;
    char becomes;
  };

  explicit BertAscii(BertRules rules);
  Byte operator[](char byte) const { return bytes_[static_cast<uint8_t>(byte)]; }

 private:
  std::array<Byte, 256> bytes_;
};

class BertWords {
 public:
  static constexpr size_t kMaxCharacters = 100;  // of a word; a longer one is unknown (max_input_chars_per_word)

  BertWords(std::string_view text, BertRules rules, const BertAscii& ascii)
      : text_(text), rules_(rules), ascii_(ascii) {}

  // Moves to the next word; false at the end of the text.
  bool next();
  std::string_view word() const { return {word_.data(), bytes_}; }
  bool too_long() const { return characters_ > kMaxCharacters; }

 private:
  struct Character {
    char32_t code_point;
    uint8_t flags;  // unicode::Flag
    uint8_t order;
  };

  bool read_ascii();
  void read_character();
  void place(Character c);
  void settle_marks();
  void emit(Character c);
  bool take();
  void append(char32_t c);

  std::string_view text_;
  BertRules rules_;
  const BertAscii& ascii_;
  size_t position_ = 0;
  std::vector<Character> pending_;  // normalised, not yet in a word; from taken_ on
  size_t taken_ = 0;
  std::vector<Character> marks_;               // since the last starter, in canonical order
  std::array<char, 4 * kMaxCharacters> word_;  // UTF-8
  size_t bytes_ = 0;                           // of word_
  size_t characters_ = 0;
};

}  // namespace bankml
