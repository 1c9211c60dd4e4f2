#include "../../csrc/error.h"
#include "../../csrc/tokenizer/charsmap.h"
#include "charsmap_writer.h"
#include "check.h"

using bankml::Charsmap;
using check::charsmap_blob;

namespace {

std::string u32(uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); }

std::string mapped(const Charsmap& map, std::string_view text) {
  const Charsmap::Match match = map.longest(text);
  return std::to_string(match.bytes) + ":" + std::string(match.replacement);
}

constexpr const char* kKey = "tokenizer.ggml.precompiled_charsmap";

}  // namespace

TEST(charsmap_takes_the_longest_match) {
  const Charsmap map(
      charsmap_blob({{"e\xCC\x81", "\xC3\xA9"}, {"\t", " "}, {"\xE2\x80\x8B", ""}, {"ab", "x"}, {"abcd", "yz"}}));
  CHECK(mapped(map, "e\xCC\x81!") == "3:\xC3\xA9");
  CHECK(mapped(map, "e") == "0:");
  CHECK(mapped(map, "\t\t") == "1: ");
  CHECK(mapped(map, "\xE2\x80\x8B") == "3:");
  CHECK(mapped(map, "abcx") == "2:x");
  CHECK(mapped(map, "abcd") == "4:yz");
  CHECK(mapped(map, "") == "0:");
  CHECK(mapped(map, std::string_view("\0ab", 3)) == "0:");
}

TEST(charsmap_knows_what_ascii_stays) {
  const Charsmap map(charsmap_blob({{"e\xCC\x81", "\xC3\xA9"}, {"\t", " "}, {"ab", "x"}}));
  CHECK(map.plain('e') && map.plain('b') && map.plain(' '));
  CHECK(!map.plain('\t') && !map.plain('a'));
  // Rules of three and more ASCII bytes whose beginnings are not rules.
  const Charsmap longer(charsmap_blob({{"...", "\xE2\x80\xA6"}, {"wxyz", "q"}}));
  CHECK(!longer.plain('.') && !longer.plain('w') && longer.plain('x'));
}

TEST(charsmap_of_wrong_size_is_an_error) {
  const std::string units(1024, '\0');
  for (size_t size : {1u, 3u}) CHECK_THROWS(Charsmap(std::string(size, '\0')), kKey);
  CHECK_THROWS(Charsmap(u32(0)), kKey);
  CHECK_THROWS(Charsmap(u32(0) + std::string(1, '\0')), kKey);
  CHECK_THROWS(Charsmap(u32(0xFFFFFFFF) + units), kKey);
  CHECK_THROWS(Charsmap(u32(0xFFFFFFFC) + units), "4294967292");
  CHECK_THROWS(Charsmap(u32(6) + units), "multiple of 4");
  CHECK_THROWS(Charsmap(u32(1024) + units), "no replacements");
  CHECK_THROWS(Charsmap(u32(1024) + units + "unterminated"), "ends inside a replacement");
  (void)Charsmap(u32(1024) + units + std::string(1, '\0'));
}

TEST(charsmap_faults_that_a_text_leads_to_are_errors) {
  // Unit 0 leads to unit 0x61 for 'a'; its leaf is at 0x61 ^ its own offset.
  std::vector<uint32_t> units(256, 0);
  units[0x61] = 0x61u | 1u << 8 | 1u << 10;  // 'a', has a leaf at 0x60
  const auto blob = [&](uint32_t leaf) {
    units[0x60] = 0x80000000u | leaf;
    std::string bytes = u32(1024);
    for (const uint32_t unit : units) bytes += u32(unit);
    return bytes + std::string("ok\0\xC3\0", 5);
  };
  CHECK(mapped(Charsmap(blob(0)), "a") == "1:ok");
  CHECK(mapped(Charsmap(blob(2)), "a") == "1:");
  CHECK_THROWS(Charsmap(blob(5)).longest("a"), "no UTF-8 replacement at offset 5");
  CHECK_THROWS(Charsmap(blob(0x7FFFFFFF)).longest("a"), kKey);
  CHECK_THROWS(Charsmap(blob(3)).longest("a"), "no UTF-8 replacement at offset 3");
  units[0x61] = 0x61u | 1u << 8 | 0x3FFu << 10;  // the leaf lies beyond the array
  CHECK_THROWS(Charsmap(blob(0)).longest("a"), "leads to unit");
  CHECK(mapped(Charsmap(blob(0)), "b") == "0:");
}
