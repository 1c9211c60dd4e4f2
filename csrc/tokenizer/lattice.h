// The best segmentation of a text into Unigram pieces (Viterbi), committed where all live paths meet.
//
// Nodes are byte positions of the normalised text. A node keeps its best score only until the walk has passed it and
// its last piece (4 bytes) only until it is committed, so memory does not grow with the text, unless the paths never
// meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "normalizer.h"
#include "sink.h"
#include "trie.h"
#include "vocabulary.h"

namespace bankml {

// What a Unigram vocabulary is to the lattice.
struct UnigramPieces {
  const Vocabulary* vocabulary;
  Trie trie;  // with the pieces' scores
  float unknown_score;
  int32_t unknown;
};

class Lattice {
 public:
  explicit Lattice(const UnigramPieces& pieces);

  // Adds the text's ids to the sink and stops soon after it is full.
  void segment(Normalizer& text, TokenSink& sink);

 private:
  void restart(TokenSink& sink);
  bool prepare(Normalizer& text);
  void extend();
  void relax(size_t end, double challenger, int32_t last_piece);
  void commit(size_t node);
  size_t meeting();
  size_t before(size_t node) const;
  double& score(size_t node) { return scores_[node & mask_]; }
  int32_t& last(size_t node) { return last_[node - first_]; }
  int32_t last(size_t node) const { return last_[node - first_]; }

  const UnigramPieces& pieces_;
  TokenSink* sink_ = nullptr;
  std::string text_;  // normalised bytes from text_start_ on
  size_t text_start_ = 0;
  size_t node_ = 0;             // the walk: all nodes before it are settled
  size_t furthest_ = 0;         // the last node that an edge reaches
  size_t first_ = 0;            // the last committed node
  size_t next_check_ = 0;       // where to look again for a meeting
  std::vector<double> scores_;  // ring: (longest piece, rounded up to a power of two)
  size_t mask_ = 0;
  std::vector<int32_t> last_;  // from first_ on: id of the best path's last piece; -n: an unknown character of n bytes
  std::vector<int32_t> path_;
  std::vector<bool> alive_;
  bool after_unknown_ = false;  // unknown characters in a row make one token
};

}  // namespace bankml
