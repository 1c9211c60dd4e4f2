// Byte strings → ids and scores, as a double array: one 4-byte unit a node, one load a step.
//
// A node's child for byte c is the unit at base ^ c if that unit's label is c. Bases are never shared, so the label
// alone proves the parent. Nodes are laid out by depth: the upper ones, which every walk visits, lie together and stay
// in the cache. Ids and scores lie apart, for a walk waits for one unit after the other and needs them only where
// entries end. 250,002 pieces of XLM-R make 783 thousand nodes: 3.3 MB of units and 6.5 MB of ids and scores.
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
    uint32_t unit;   // base (22 bits) | whether an entry ends here (1 bit) | label (9 bits, 256 = no node)
    uint32_t index;  // of the unit
    bool ends() const { return unit & kEnds; }
  };
  struct Leaf {
    int32_t id;  // -1 where no entry ends
    float score;
  };

  Trie() : Trie(std::vector<Entry>{}) {}
  // Texts are not empty; throws a model_error for a text that comes twice and for more nodes than 2^22. `path` is the
  // file's, for messages.
  explicit Trie(std::vector<Entry> entries, std::string path = "");

  Node root() const { return root_; }
  // Moves `node` to its child for `byte`; false, and `node` untouched, when there is none.
  bool step(Node& node, uint8_t byte) const {
    const uint32_t index = (node.unit >> kBaseShift) ^ byte, unit = units_[index];
    if ((unit & kLabel) != byte) return false;
    node = {unit, index};
    return true;
  }
  Leaf leaf(Node node) const { return leaves_[node.index]; }
  // The node after all of `path`; a node without children when the path leaves the trie.
  Node find(std::string_view path) const;

 private:
  friend class TrieBuilder;
  static constexpr int kBaseShift = 10;
  static constexpr uint32_t kEnds = 1u << 9, kLabel = kEnds - 1;
  static constexpr uint32_t kNoNode = 256;

  Node root_ = {kNoNode, 0};  // at 0 lies no other node
  std::vector<uint32_t> units_;
  std::vector<Leaf> leaves_;  // by the unit's index
};

}  // namespace bankml
