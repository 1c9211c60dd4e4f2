// The bert graph: a pass over a batch that advances layer by layer, and the buffers it works in.
#pragma once

#include <vector>

#include "batch.h"
#include "engine.h"
#include "linear.h"
#include "weights.h"

namespace bankml {

// Buffers of one pass, reused by the next one.
struct Workspace {
  std::vector<float> x, k, v;  // (tokens, hidden), whole
  std::vector<float> q, a;     // (block, hidden)
  std::vector<float> f;        // (block, ffn)
  Packed packed;               // (block up to a tile, max(hidden, ffn))
  std::vector<float> picked;   // (texts, hidden): the rows that pooling needs, in the last layer
  std::vector<float> scratch;  // (threads, panels or attention tiles)
  size_t bytes() const;
};

// What all passes of an encoder share.
struct Settings {
  const Backend& backend;
  int threads;
  Gelu gelu;
  Pooling pooling;
};

class Pass {
 public:
  Pass(const Model& model, const Weights& weights, const Settings& settings, Batch batch, Workspace& workspace);

  // Runs the embedding or the next layer; false when all are done. Needs the pool. An error's text counts in the batch.
  bool advance(Turn& turn);
  // Between layers: forgets the texts that are not in `kept` (ascending), whose numbers become 0, 1, ….
  void keep(const std::vector<int>& kept);
  // After the last layer: the pooled rows, (texts, hidden), or (tokens, hidden) for Pooling::none; not normalised.
  void pool(float* out) const;

 private:
  struct Rows;  // rows that a step works on, and which keys each attends to

  void make_room();
  void embed(const Crew& crew);
  void gather(RowReader& reader, int text);
  void check_finite(const Crew& crew, const Layer& layer) const;
  void keys_and_values(const Crew& crew, const Layer& layer, bool queries);
  void finish_rows(const Crew& crew, const Layer& layer, const Rows& rows, bool queries);  // whether Q is there already
  void attend(const Crew& crew, const Rows& rows, int first, int count);
  void normalise(const Crew& crew, const Norm& norm, float* x, int rows);
  Rows all_rows();
  Rows picked_rows();
  Crew crew(Turn& turn);

  const Model& model_;
  const Weights& weights_;
  const Settings& settings_;
  Batch batch_;
  Workspace& ws_;
  int block_;            // rows a block
  int next_layer_ = -1;  // −1: the embedding
};

}  // namespace bankml
