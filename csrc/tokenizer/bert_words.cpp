#include "bert_words.h"

#include <algorithm>

#include "../utf8.h"
#include "unicode.h"

namespace bankml {

using unicode::kind;

BertAscii::BertAscii(BertRules rules) {
  bytes_.fill({kNotAscii, 0});
  for (char32_t c = 0; c < 128; c++) {
    const uint8_t flags = kind(c).flags;
    const bool lowers = rules.lowercase && flags & unicode::kLowers;
    bytes_[c] = {flags & unicode::kDrop          ? kDropped
                 : flags & unicode::kSpace       ? kSpace
                 : flags & unicode::kPunctuation ? kPunctuation
                                                 : kLetter,
                 static_cast<char>(lowers ? unicode::lower(c)[0] : c)};
  }
}

bool BertWords::next() {
  bytes_ = characters_ = 0;
  for (;;) {
    while (taken_ < pending_.size()) {
      if (take()) return true;
    }
    pending_.clear();
    taken_ = 0;
    if (marks_.empty() && read_ascii()) return true;
    if (position_ < text_.size()) {
      read_character();
    } else if (!marks_.empty()) {
      settle_marks();
    } else {
      return characters_ > 0;
    }
  }
}

// Reads ASCII as it comes; true when the word is complete. What ends it is read again, by then as the next word's
// first. What is too long is counted but not kept. The members are copies here: a byte that is written might otherwise
// be one of theirs.
bool BertWords::read_ascii() {
  const BertAscii& ascii = ascii_;
  const std::string_view text = text_;
  size_t at = position_, characters = characters_, bytes = bytes_;
  bool complete = false;
  for (; at < text.size(); at++) {
    const BertAscii::Byte byte = ascii[text[at]];
    if (byte.role == BertAscii::kLetter) {
      if (++characters <= kMaxCharacters) word_[bytes++] = byte.becomes;
      continue;
    }
    if (byte.role == BertAscii::kNotAscii) break;
    if (byte.role == BertAscii::kDropped) continue;
    complete = characters > 0;
    if (complete) break;
    if (byte.role == BertAscii::kSpace) continue;
    word_[bytes++] = byte.becomes;
    characters = 1;
    complete = true;
    at++;
    break;
  }
  position_ = at;
  characters_ = characters;
  bytes_ = bytes;
  return complete;
}

// One character of the text → pending_, or marks_ if its place is not certain yet.
void BertWords::read_character() {
  constexpr Character kSeparator = {' ', unicode::kSpace, 0};
  const utf8::Character character = utf8::decode(text_.substr(position_));
  position_ += character.bytes;
  const char32_t c = character.code_point;
  const auto [flags, order] = kind(c);
  if (flags & unicode::kDrop) return;
  const bool apart = flags & (unicode::kSpace | unicode::kIdeograph);
  if (apart) {
    settle_marks();
    emit(kSeparator);
  }
  if (flags & unicode::kSpace) return;
  if (rules_.strip_accents && flags & unicode::kDecomposes) {
    char32_t hangul[3];
    for (const char32_t part : unicode::decompose(c, hangul)) place({part, kind(part).flags, kind(part).order});
  } else {
    place({c, flags, order});
  }
  if (apart) {
    settle_marks();
    emit(kSeparator);
  }
}

// In canonical order, without accents.
void BertWords::place(Character c) {
  if (!rules_.strip_accents) return emit(c);
  if (c.order == 0) settle_marks();
  if (c.flags & unicode::kMark) return;
  if (c.order == 0) return emit(c);
  const auto earlier = [](const Character& a, const Character& b) { return a.order < b.order; };
  marks_.insert(std::upper_bound(marks_.begin(), marks_.end(), c, earlier), c);
  if (marks_.size() > kMaxCharacters) settle_marks();  // the word is too long in any order
}

void BertWords::settle_marks() {
  for (const Character& mark : marks_) emit(mark);
  marks_.clear();
}

void BertWords::emit(Character c) {
  if (rules_.lowercase && c.flags & unicode::kLowers) {
    for (const char32_t lower : unicode::lower(c.code_point)) pending_.push_back({lower, kind(lower).flags, 0});
  } else {
    pending_.push_back(c);
  }
}

// Moves one pending character into the word; true when the word is complete, which may leave the character pending.
bool BertWords::take() {
  const Character c = pending_[taken_];
  const bool space = c.code_point == ' ', punctuation = c.flags & unicode::kPunctuation;
  if ((space || punctuation) && characters_ > 0) return true;  // it is looked at again
  taken_++;
  if (!space) append(c.code_point);
  return punctuation;
}

void BertWords::append(char32_t c) {
  if (++characters_ <= kMaxCharacters) bytes_ = static_cast<size_t>(utf8::write(&word_[bytes_], c) - word_.data());
}

}  // namespace bankml
