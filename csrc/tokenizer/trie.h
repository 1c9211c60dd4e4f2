// Byte strings → ids and scores, as a double array: one 12-byte unit a node, one load a step.
//
// A node's child for byte c is the unit at base ^ c if that unit's label is c. Bases are never shared, so the label
// alone proves the parent. Nodes are laid out by depth: the upper ones, which every walk visits, lie together and stay
// in the cache. 250,002 pieces of XLM-R make 783 thousand nodes, 9.8 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bankml {

class Trie {
 public:
  struct Entry {
    std::string_view text;
    int32_t id;
    float score = 0;
  };
  struct Node {
    uint32_t base_label;  // base (23 bits) | label (9 bits, 256 = no node)
    int32_t id;           // of the entry that ends here, or -1
    float score;          // beside the id: a look into a table of scores would be a second cache miss
  };
  static constexpr int kLabelBits = 9;
  static constexpr Node kEmpty = {256, -1, 0};

  Trie() : Trie(std::vector<Entry>{}) {}
  // Texts are not empty; throws a model_error for a text that comes twice and for more nodes than 2^23. `path` is the
  // file's, for messages.
  explicit Trie(std::vector<Entry> entries, std::string path = "");

  Node root() const { return root_; }
  // Moves `node` to its child for `byte`; false, and `node` untouched, when there is none.
  bool step(Node& node, uint8_t byte) const {
    const Node& child = units_[(node.base_label >> kLabelBits) ^ byte];
    if ((child.base_label & ((1u << kLabelBits) - 1)) != byte) return false;
    node = child;
    return true;
  }
  // The node after all of `path`; a node without children when the path leaves the trie.
  Node find(std::string_view path) const;
  size_t bytes() const { return units_.size() * sizeof(Node); }

 private:
  friend class TrieBuilder;
  Node root_ = kEmpty;
  std::vector<Node> units_;
};

}  // namespace bankml
