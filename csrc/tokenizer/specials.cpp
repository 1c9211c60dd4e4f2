#include "specials.h"

namespace bankml {

Specials::Specials(const Vocabulary& vocabulary)
    : user_defined_(vocabulary.trie({PieceType::user_defined})),
      all_(vocabulary.trie({PieceType::user_defined, PieceType::control, PieceType::unknown})) {}

Specials::Set::Set(Trie entries) : trie(std::move(entries)) {
  for (int byte = 0; byte < 256; byte++) {
    Trie::Node node = trie.root();
    leads[static_cast<size_t>(byte)] = trie.step(node, static_cast<uint8_t>(byte));
  }
}

Specials::Found Specials::Set::first(std::string_view text) const {
  for (size_t start = 0; leads.any() && start < text.size(); start++) {
    if (!leads[static_cast<uint8_t>(text[start])]) continue;
    Found found = {start, 0, -1};
    Trie::Node node = trie.root();
    for (size_t i = start; i < text.size() && trie.step(node, static_cast<uint8_t>(text[i])); i++) {
      if (node.ends()) found = {start, i + 1 - start, trie.leaf(node).id};
    }
    if (found.bytes > 0) return found;
  }
  return {text.size(), 0, -1};
}

}  // namespace bankml
