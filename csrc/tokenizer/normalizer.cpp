#include "normalizer.h"

#include <algorithm>

#include "../utf8.h"

namespace bankml {
namespace {

constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";

}  // namespace

void Normalizer::fill(std::string& out, size_t wanted) {
  while (position_ < text_.size() && out.size() < wanted) {
    if (const size_t run = plain_run(wanted - out.size()); run > 0) {
      put(out, text_.substr(position_, run));
      position_ += run;
      continue;
    }
    const std::string_view rest = text_.substr(position_);
    if (const Charsmap::Match match = charsmap_.longest(rest); match.bytes > 0) {
      put(out, match.replacement);
      position_ += match.bytes;
      continue;
    }
    // The U+FFFD of an invalid byte is not mapped again, although one that was in the text is.
    const utf8::Character character = utf8::decode(rest);
    put(out, character.valid ? rest.substr(0, character.bytes) : utf8::kReplacementBytes);
    position_ += character.bytes;
  }
}

// Bytes from here on that are ASCII and that the map leaves alone.
size_t Normalizer::plain_run(size_t most) const {
  const size_t end = position_ + std::min(most, text_.size() - position_);
  size_t i = position_;
  while (i < end && charsmap_.plain(text_[i])) i++;
  // The last one may start a longer match with a byte that is not ASCII.
  if (i > position_ && i < text_.size() && static_cast<uint8_t>(text_[i]) >= 0x80) i--;
  return i - position_;
}

void Normalizer::put(std::string& out, std::string_view mapped) {
  while (!mapped.empty()) {
    const size_t space = std::min(mapped.find(' '), mapped.size());
    if (space > 0) put_word(out, mapped.substr(0, space));
    if (space == mapped.size()) return;
    in_word_ = false;
    if (!rules_.remove_extra) out += kSpaceMarker;
    mapped.remove_prefix(space + 1);
  }
}

void Normalizer::put_word(std::string& out, std::string_view bytes) {
  if (!in_word_) {
    in_word_ = true;
    if ((rules_.add_prefix && !prefixed_) || rules_.remove_extra) {
      out += kSpaceMarker;
      prefixed_ = true;
    }
  }
  out += bytes;
}

}  // namespace bankml
