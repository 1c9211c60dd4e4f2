#include <string>

#include "check.h"
#include "utf8.h"

using bankml::utf8::kReplacementBytes;
using bankml::utf8::printable;

namespace {

std::string utf8(char32_t c) {
  char bytes[4];
  return {bytes, bankml::utf8::write(bytes, c)};
}

}  // namespace

TEST(utf8_printable_replaces_what_acts_on_a_terminal) {
  const std::string replaced(kReplacementBytes);
  for (const auto& [first, last] :
       {std::pair{0x00, 0x1F}, {0x7F, 0x9F}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}}) {
    for (const int c : {first, (first + last) / 2, last}) CHECK(printable(utf8(c)) == replaced);
    for (const int c : {first - 1, last + 1}) CHECK(c < 0 || printable(utf8(c)) == utf8(c));
  }
  CHECK(printable("\x1b[31m\xFF") == replaced + "[31m" + replaced);
  CHECK(printable("größe 日本 😀") == "größe 日本 😀");
}

TEST(utf8_printable_is_short) { CHECK(printable(std::string(1000, 'x')).size() == 80); }
