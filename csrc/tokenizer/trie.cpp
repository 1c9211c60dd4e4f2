#include "trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <string>

#include "../error.h"
#include "../utf8.h"

namespace bankml {
namespace {

constexpr size_t kBlock = 256;  // units that one base can reach
// Blocks still searched for free units. With XLM-R 96 % of all units get used; 16 blocks make that 98 %, in half as
// much time again.
constexpr size_t kOpenBlocks = 2;
constexpr size_t kMaxUnits = size_t{1} << 22;

uint64_t prefix_of(std::string_view text) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; i++) prefix = prefix << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return prefix;
}

std::vector<Trie::Entry> sorted(const std::vector<Trie::Entry>& entries) {
  struct Key {
    uint64_t prefix;  // the first 8 bytes, big-endian: most comparisons end here, without touching the text
    size_t entry;
  };
  std::vector<Key> keys;
  keys.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); i++) keys.push_back({prefix_of(entries[i].text), i});
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = entries[a.entry].text.compare(entries[b.entry].text);
    return order != 0 ? order < 0 : a.entry < b.entry;
  });
  std::vector<Trie::Entry> result;
  result.reserve(entries.size());
  for (const Key& key : keys) result.push_back(entries[key.entry]);
  return result;
}

// Moves the texts next to each other in `bytes`: each level of the trie reads them all once more, in order.
void gather(std::vector<Trie::Entry>& entries, std::string& bytes) {
  size_t size = 0;
  for (const Trie::Entry& entry : entries) size += entry.text.size();
  bytes.reserve(size);  // the views below stay valid
  for (Trie::Entry& entry : entries) {
    const size_t start = bytes.size();
    bytes += entry.text;
    entry.text = {bytes.data() + start, entry.text.size()};
  }
}

// 256 bits, a unit or a base each.
struct Bits {
  std::array<uint64_t, 4> words{};
  bool get(size_t i) const { return words[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words[i / 64] |= uint64_t{1} << (i % 64); }
};

struct Block {
  Bits taken;  // units that hold a node
  Bits based;  // bases that some node has
  size_t free = kBlock;
};

}  // namespace

class TrieBuilder {
 public:
  TrieBuilder(Trie& trie, std::vector<Trie::Entry> entries, std::string path)
      : trie_(trie), path_(std::move(path)), entries_(std::move(entries)) {
    gather(entries_, bytes_);
    add_block();  // stays empty: base 0 is the base of nodes without children
  }

  void build() {
    if (entries_.empty()) return;
    std::deque<Range> queue = {{0, entries_.size(), 0, 0}};
    for (; !queue.empty(); queue.pop_front()) expand(queue.front(), queue);
    trie_.units_.shrink_to_fit();
    trie_.leaves_.shrink_to_fit();
  }

 private:
  // Entries [begin, end) share their first `depth` bytes, which lead to the unit `node`.
  struct Range {
    size_t begin, end, depth, node;  // the root is 0
  };

  uint32_t& unit(size_t node) { return node == 0 ? trie_.root_.unit : trie_.units_[node]; }

  void expand(Range range, std::deque<Range>& queue) {
    if (entries_[range.begin].text.size() == range.depth) {
      unit(range.node) |= Trie::kEnds;
      trie_.leaves_[range.node] = {entries_[range.begin].id, entries_[range.begin].score};
      if (++range.begin == range.end) return;
      if (entries_[range.begin].text.size() == range.depth)
        throw twice(entries_[range.begin - 1], entries_[range.begin]);
    }
    children_.clear();
    for (size_t i = range.begin; i < range.end; i++) {
      const auto label = static_cast<uint8_t>(entries_[i].text[range.depth]);
      if (children_.empty() || children_.back().label != label) children_.push_back({label, i});
    }
    const size_t base = place();
    unit(range.node) |= static_cast<uint32_t>(base) << Trie::kBaseShift;
    for (size_t i = 0; i < children_.size(); i++) {
      const size_t child = base ^ children_[i].label;
      const size_t end = i + 1 < children_.size() ? children_[i + 1].begin : range.end;
      trie_.units_[child] = children_[i].label;
      queue.push_back({children_[i].begin, end, range.depth + 1, child});
    }
  }

  // A base whose units for all of `children_` are free; marks them as taken.
  size_t place() {
    for (size_t b = first_open_; b < blocks_.size(); b++) {
      if (blocks_[b].free < children_.size()) continue;
      const size_t base = fit(blocks_[b]);
      if (base < kBlock) return take(b, base);
    }
    add_block();
    if (blocks_.size() - first_open_ > kOpenBlocks) first_open_++;
    if (blocks_.size() * kBlock > kMaxUnits)
      throw broken("the vocabulary is too large: its pieces need more than 2^22 trie nodes");
    return take(blocks_.size() - 1, 0);
  }

  void add_block() {
    blocks_.emplace_back();
    trie_.units_.resize(blocks_.size() * kBlock, Trie::kNoNode);
    trie_.leaves_.resize(blocks_.size() * kBlock, {-1, 0});
  }

  size_t fit(const Block& block) const {
    for (size_t word = 0; word < 4; word++) {
      for (uint64_t free = ~block.taken.words[word]; free != 0; free &= free - 1) {
        const size_t base = (word * 64 + static_cast<size_t>(std::countr_zero(free))) ^ children_[0].label;
        if (block.based.get(base)) continue;
        const auto is_free = [&](const Child& child) { return !block.taken.get(base ^ child.label); };
        if (std::all_of(children_.begin() + 1, children_.end(), is_free)) return base;
      }
    }
    return kBlock;
  }

  size_t take(size_t block, size_t base) {
    blocks_[block].based.set(base);
    for (const Child& child : children_) blocks_[block].taken.set(base ^ child.label);
    blocks_[block].free -= children_.size();
    return block * kBlock + base;
  }

  Error broken(const std::string& what) const {
    return model_error((path_.empty() ? "" : path_ + ": ") + what + "; convert the model again");
  }

  Error twice(const Trie::Entry& a, const Trie::Entry& b) const {
    return broken("tokenizer.ggml.tokens holds \"" + utf8::printable(a.text) + "\" twice, as tokens " +
                  std::to_string(a.id) + " and " + std::to_string(b.id));
  }

  struct Child {
    uint8_t label;
    size_t begin;
  };

  Trie& trie_;
  std::string path_;
  std::string bytes_;
  std::vector<Trie::Entry> entries_;
  std::vector<Block> blocks_;
  size_t first_open_ = 1;
  std::vector<Child> children_;
};

Trie::Trie(std::vector<Entry> entries, std::string path) {
  entries = sorted(entries);
  TrieBuilder(*this, std::move(entries), std::move(path)).build();
}

Trie::Node Trie::find(std::string_view path) const {
  Node node = root_;
  for (const char c : path) {
    if (!step(node, static_cast<uint8_t>(c))) return {kNoNode, 0};
  }
  return node;
}

}  // namespace bankml
