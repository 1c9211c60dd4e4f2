#include <map>
#include <string>

#include "../../csrc/tokenizer/trie.h"
#include "check.h"

using bankml::Trie;

namespace {

int32_t found(const Trie& trie, std::string_view text) {
  const Trie::Node node = trie.find(text);
  CHECK(node.ends() == (trie.leaf(node).id >= 0));
  return trie.leaf(node).id;
}

// Seeded strings over few letters: many shared prefixes, wide nodes at the top.
std::map<std::string, int32_t> random_entries(size_t count) {
  std::map<std::string, int32_t> entries;
  uint64_t state = 1;
  const auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  while (entries.size() < count) {
    std::string text;
    for (size_t n = 1 + next() % 6; n > 0; n--)
      text.push_back(static_cast<char>(next() % 3 == 0 ? next() : 'a' + next() % 4));
    entries.emplace(text, static_cast<int32_t>(entries.size()));
  }
  return entries;
}

}  // namespace

TEST(trie_finds_what_it_holds_and_nothing_else) {
  const Trie trie({{"a", 0}, {"abc", 1}, {"b", 2}, {std::string_view("\0x", 2), 3}, {"\xFF", 4}});
  CHECK(found(trie, "a") == 0 && found(trie, "abc") == 1 && found(trie, "b") == 2);
  CHECK(found(trie, std::string_view("\0x", 2)) == 3 && found(trie, "\xFF") == 4);
  for (const char* absent : {"", "ab", "abcd", "c", "ba", "\xFE"}) CHECK(found(trie, absent) == -1);
}

TEST(trie_holds_many) {
  const auto entries = random_entries(20000);
  std::vector<Trie::Entry> list;
  for (const auto& [text, id] : entries) list.push_back({text, id, static_cast<float>(id)});
  const Trie trie(list);
  for (const auto& [text, id] : entries) {
    CHECK(found(trie, text) == id);
    CHECK(trie.leaf(trie.find(text)).score == static_cast<float>(id));
    for (const char more : {'\0', 'a', '\xFF'}) {
      const auto longer = entries.find(text + more);
      CHECK(found(trie, text + more) == (longer == entries.end() ? -1 : longer->second));
    }
  }
}

TEST(trie_without_entries_matches_nothing) {
  const Trie trie;
  for (int byte = 0; byte < 256; byte++) {
    Trie::Node node = trie.root();
    CHECK(!trie.step(node, static_cast<uint8_t>(byte)));
  }
}

TEST(trie_refuses_a_text_that_comes_twice) {
  CHECK_THROWS(Trie({{std::string(5 << 20, 'a'), 0}}), "more than 2^22");
  CHECK_THROWS(Trie({{"x", 0}, {"same", 5}, {"same", 9}}), "\"same\" twice, as tokens 5 and 9");
}
