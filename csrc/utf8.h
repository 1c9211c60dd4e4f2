// UTF-8, one character at a time. Anything that is not UTF-8 reads as U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bankml::utf8 {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

struct Character {
  char32_t code_point;
  uint32_t bytes;  // consumed: 1 of an invalid sequence, but all 3 of a surrogate
  bool valid;
};

constexpr Character kInvalid = {kReplacement, 1, false};

inline bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The length that a valid character's first byte announces.
inline uint32_t length(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

// The character at the front of `text`, which is not empty.
inline Character decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return kInvalid;
  const uint32_t bytes = length(lead);
  if (text.size() < bytes) return kInvalid;
  char32_t code_point = lead & (0x7Fu >> bytes);
  for (uint32_t i = 1; i < bytes; i++) {
    if (!is_continuation(byte(i))) return kInvalid;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  if ((bytes == 3 && code_point < 0x800) || (bytes == 4 && (code_point < 0x10000 || code_point > 0x10FFFF)))
    return kInvalid;
  if (code_point >= 0xD800 && code_point <= 0xDFFF) return {kReplacement, bytes, false};
  return {code_point, bytes, true};
}

inline bool valid(std::string_view text) {
  while (!text.empty()) {
    const Character character = decode(text);
    if (!character.valid) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

// Whether a character acts on a terminal instead of showing: controls, direction marks, those without width.
inline bool acts(char32_t c) {
  return c < ' ' || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

// Bytes of an untrusted file as they may stand in a message: valid UTF-8 that only shows, and short.
inline std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty() && out.size() < 80) {
    const Character character = decode(text);
    const bool shown = character.valid && !acts(character.code_point);
    out += shown ? text.substr(0, character.bytes) : kReplacementBytes;
    text.remove_prefix(character.bytes);
  }
  return out;
}

// Writes a character's bytes, at most 4; the place behind them.
inline char* write(char* out, char32_t c) {
  const auto put = [&](char32_t byte) { *out++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
    return out;
  }
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
  return out;
}

}  // namespace bankml::utf8
