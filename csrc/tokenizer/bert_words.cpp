#include "bert_words.h"

#include <algorithm>

#include "../utf8.h"
#include "unicode.h"

namespace bankml {

using unicode::kind;

BertAscii::BertAscii(BertRules rules) {
  for (char32_t c = 0; c < 128; c++) {
    const uint8_t flags = kind(c).flags;
    if (flags & (unicode::kDrop | unicode::kSpace | unicode::kPunctuation)) continue;
    letters_[c] = static_cast<char>(rules.lowercase && flags & unicode::kLowers ? unicode::lower(c)[0] : c);
  }
}

bool BertWords::next() {
  word_.clear();
  characters_ = 0;
  for (;;) {
    while (taken_ < pending_.size()) {
      if (take()) return true;
    }
    pending_.clear();
    taken_ = 0;
    if (marks_.empty()) read_letters();
    if (position_ < text_.size()) {
      read_character();
    } else if (!marks_.empty()) {
      settle_marks();
    } else {
      return characters_ > 0;
    }
  }
}

// Appends ASCII letters as they come. What is too long is counted but not kept.
void BertWords::read_letters() {
  for (; position_ < text_.size(); position_++) {
    const char letter = ascii_.letter(static_cast<uint8_t>(text_[position_]));
    if (letter == 0) return;
    if (++characters_ <= kMaxCharacters) word_.push_back(letter);
  }
}

// One character of the text → pending_, or marks_ if its place is not certain yet.
void BertWords::read_character() {
  const utf8::Character character = utf8::decode(text_.substr(position_));
  position_ += character.bytes;
  const char32_t c = character.code_point;
  const uint8_t flags = kind(c).flags;
  if (flags & unicode::kDrop) return;
  const bool apart = flags & (unicode::kSpace | unicode::kIdeograph);
  if (apart) {
    settle_marks();
    emit(' ');
  }
  if (flags & unicode::kSpace) return;
  split(c);
  if (apart) {
    settle_marks();
    emit(' ');
  }
}

// Canonical decomposition, without accents, in canonical order.
void BertWords::split(char32_t c) {
  if (!rules_.strip_accents) return emit(c);
  char32_t hangul[3];
  const bool whole = !(kind(c).flags & unicode::kDecomposes);
  for (const char32_t part : whole ? std::u32string_view(&c, 1) : unicode::decompose(c, hangul)) {
    const unicode::CodePointKind part_kind = kind(part);
    const bool stripped = part_kind.flags & unicode::kMark;
    if (part_kind.order == 0) settle_marks();
    if (stripped) continue;
    if (part_kind.order == 0) {
      emit(part);
    } else {
      marks_.push_back({part_kind.order, part});
    }
  }
  if (marks_.size() > kMaxCharacters) settle_marks();  // the word is too long in any order
}

void BertWords::settle_marks() {
  std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) { return a.order < b.order; });
  for (const Mark& mark : marks_) emit(mark.code_point);
  marks_.clear();
}

void BertWords::emit(char32_t c) {
  if (rules_.lowercase && kind(c).flags & unicode::kLowers) {
    for (const char32_t lower : unicode::lower(c)) pending_.push_back(lower);
  } else {
    pending_.push_back(c);
  }
}

// Moves one pending character into the word; true when the word is complete, which may leave the character pending.
bool BertWords::take() {
  const char32_t c = pending_[taken_];
  const bool punctuation = kind(c).flags & unicode::kPunctuation;
  if (c != ' ' && !punctuation) {
    if (++characters_ <= kMaxCharacters) utf8::append(word_, c);
    taken_++;
    return false;
  }
  if (punctuation && characters_ > 0) return true;
  taken_++;
  if (!punctuation) return characters_ > 0;
  utf8::append(word_, c);
  characters_ = 1;
  return true;
}

}  // namespace bankml
