#include "lattice.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "../utf8.h"

namespace bankml {
namespace {

constexpr size_t kStretch = 4096;  // bytes normalised at a time
constexpr size_t kWindow = 512;    // least bytes between two looks for a meeting
constexpr double kUnreached = std::numeric_limits<double>::lowest();

}  // namespace

Lattice::Lattice(const UnigramPieces& pieces) : pieces_(pieces) {
  scores_.resize(std::bit_ceil(std::max<size_t>(pieces.vocabulary->longest_piece(), 4) + 1));
  mask_ = scores_.size() - 1;
}

void Lattice::segment(Normalizer& text, TokenSink& sink) {
  restart(sink);
  while (!sink.full() && prepare(text)) {
    if (node_ == furthest_) {
      commit(node_);
      score(node_) = 0;  // only differences matter: sums stay small, so exact, however long the text
    } else if (node_ >= next_check_) {
      commit(meeting());
      next_check_ = node_ + std::max(kWindow, node_ - first_);
    }
    extend();
  }
  if (!sink.full()) commit(node_);
}

void Lattice::restart(TokenSink& sink) {
  sink_ = &sink;
  text_.clear();
  text_start_ = node_ = furthest_ = first_ = 0;
  next_check_ = kWindow;
  std::fill(scores_.begin(), scores_.end(), kUnreached);
  last_.assign(kWindow, 0);
  after_unknown_ = false;
}

// Makes sure that the text holds every piece that can start at the walk's node; false at the end of the text.
bool Lattice::prepare(Normalizer& text) {
  const size_t longest = scores_.size();
  if (text_start_ + text_.size() - node_ < longest && !text.done()) {
    text_.erase(0, node_ - text_start_);
    text_start_ = node_;
    text.fill(text_, kStretch + longest);
  }
  if (last_.size() < node_ - first_ + longest) last_.resize(last_.size() + last_.size() / 2 + longest);
  return node_ < text_start_ + text_.size();
}

// Offers the walk's node as a start to every piece that begins there, shorter pieces first.
void Lattice::extend() {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text_.data()) + (node_ - text_start_);
  const size_t size = text_.size() - (node_ - text_start_);
  const size_t character = utf8::length(bytes[0]);
  const Trie& trie = pieces_.trie;
  const double here = score(node_);
  Trie::Node node = trie.root();
  size_t longest = 0;
  bool known = false;
  for (size_t i = 0; i < size && trie.step(node, bytes[i]);) {
    i++;
    if (!node.ends()) continue;
    const Trie::Leaf piece = trie.leaf(node);
    relax(node_ + i, here + static_cast<double>(piece.score), piece.id);
    longest = i;
    known |= i == character;
  }
  if (!known) {
    relax(node_ + character, here + static_cast<double>(pieces_.unknown_score), -static_cast<int32_t>(character));
    longest = std::max(longest, character);
  }
  furthest_ = std::max(furthest_, node_ + longest);
  score(node_) = kUnreached;  // the ring's place is free
  node_ += character;
}

// Of equal scores the earlier start, so the longer last piece, stays. Both are written whoever wins: which it is, no
// branch predictor knows.
inline void Lattice::relax(size_t end, double challenger, int32_t last_piece) {
  double& best = score(end);
  int32_t& best_piece = last(end);
  const int32_t wins = challenger > best ? -1 : 0;
  best = std::max(best, challenger);
  best_piece ^= (best_piece ^ last_piece) & wins;
}

size_t Lattice::before(size_t node) const {
  const int32_t id = last(node);
  return node - (id < 0 ? static_cast<size_t>(-id) : pieces_.vocabulary->piece_bytes(id));
}

// Emits the best path from the last committed node to `node` and forgets it.
void Lattice::commit(size_t node) {
  path_.clear();
  for (size_t at = node; at > first_; at = before(at)) path_.push_back(last(at) < 0 ? pieces_.unknown : last(at));
  for (size_t i = path_.size(); i-- > 0 && !sink_->full();) {
    const bool unknown = path_[i] == pieces_.unknown;
    if (!(unknown && after_unknown_)) sink_->add(path_[i]);
    after_unknown_ = unknown;
  }
  const size_t live = furthest_ - node;  // nodes ahead keep their last piece
  std::copy_n(last_.begin() + static_cast<ptrdiff_t>(node - first_), live + 1, last_.begin());
  first_ = node;
}

// The last node that is on the best path to every node still in play; the last committed one if there is no other.
size_t Lattice::meeting() {
  alive_.assign(furthest_ - first_ + 1, false);
  size_t paths = 0;
  const auto join = [&](size_t node) {
    if (!alive_[node - first_]) paths++;
    alive_[node - first_] = true;
  };
  for (size_t node = node_; node <= furthest_; node++) {
    if (score(node) != kUnreached) join(node);
  }
  for (size_t node = furthest_; node > first_; node--) {
    if (!alive_[node - first_]) continue;
    if (paths == 1) return node;
    paths--;
    join(before(node));
  }
  return first_;
}

}  // namespace bankml
