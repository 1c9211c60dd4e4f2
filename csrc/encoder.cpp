#include "encoder.h"

#include <algorithm>
#include <cmath>

#include "error.h"
#include "stage.h"

namespace bankml {

namespace {

constexpr int kRowBlock = 512;  // rows whose queries, attention and FFN exist at once: 512 · 4,096 · 4 B = 8 MB

}  // namespace

size_t Workspace::bytes() const {
  return sizeof(float) * (x.capacity() + k.capacity() + v.capacity() + q.capacity() + a.capacity() + f.capacity() +
                          picked.capacity() + scratch.capacity()) +
         packed.bytes();
}

// A span of rows of one text: rows [first, first + count) of `x` attend to the keys of text `text`.
struct Span {
  int first, count, text;
};

struct Pass::Rows {
  float* x;  // (count, hidden)
  int count;
  std::vector<Span> spans;  // ascending, together all rows
};

Pass::Pass(const Model& model, const Weights& weights, const Settings& settings, Batch batch, Workspace& workspace)
    : model_(model), weights_(weights), settings_(settings), batch_(std::move(batch)), ws_(workspace) {
  make_room();
}

void Pass::make_room() {
  const size_t tokens = batch_.tokens(), hidden = model_.hidden;
  const int blocks = (batch_.tokens() + kRowBlock - 1) / kRowBlock;
  block_ = (batch_.tokens() + blocks - 1) /
           blocks;  // even blocks: a last block of two rows would widen every weight for them alone
  const size_t block = block_, scratch = std::max(panel_scratch(), attention_scratch(model_.hidden / model_.heads));
  for (auto* whole : {&ws_.x, &ws_.k, &ws_.v}) whole->resize(tokens * hidden);
  for (auto* part : {&ws_.q, &ws_.a}) part->resize(block * hidden);
  ws_.f.resize(block * model_.ffn);
  ws_.picked.resize(batch_.texts() * hidden);
  ws_.scratch.resize(scratch * settings_.threads);
}

// Between layers x alone counts: its kept rows close up.
void Pass::keep(const std::vector<int>& kept) {
  const size_t hidden = model_.hidden;
  Batch left;
  for (const int text : kept) {
    const float* from = ws_.x.data() + batch_.starts[text] * hidden;
    std::copy_n(from, batch_.length(text) * hidden, ws_.x.data() + left.tokens() * hidden);  // never to a later row
    left.add(batch_.text(text));
  }
  batch_ = std::move(left);
  make_room();
}

Crew Pass::crew(Turn& turn) {
  return {settings_.backend, turn, settings_.threads, ws_.scratch.data(), ws_.scratch.size() / settings_.threads};
}

bool Pass::advance(Turn& turn) {
  const FlushDenormals flush;
  const Crew all = crew(turn);
  if (next_layer_ < 0) {
    embed(all);
    return ++next_layer_ < model_.layers;
  }
  const Layer& layer = weights_.layers[next_layer_];
  const bool last = next_layer_ + 1 == model_.layers;
  const bool picks = last && (settings_.pooling == Pooling::cls || settings_.pooling == Pooling::last);
  const bool queries = !picks && block_ == batch_.tokens();  // of all rows, beside their keys and values
  if (!layer.checked) check_finite(all, layer);
  keys_and_values(all, layer, queries);
  finish_rows(all, layer, picks ? picked_rows() : all_rows(), queries);
  weights_.file.check_intact();
  return ++next_layer_ < model_.layers;
}

void Pass::embed(const Crew& crew) {
  RowReader reader(weights_.file);
  for (int text = 0; text < batch_.texts(); ++text) {
    try {
      gather(reader, text);
    } catch (Error& error) {
      if (error.kind == ErrorKind::not_finite) error.text = text;
      throw;
    }
  }
  normalise(crew, weights_.embedding_norm, ws_.x.data(), batch_.tokens());
}

// Token, type and position rows of one text → its rows of x.
void Pass::gather(RowReader& reader, int text) {
  const Timed timed(Stage::gather);
  const int hidden = model_.hidden;
  for (int i = 0; i < batch_.length(text); ++i) {
    const int token = batch_.starts[text] + i;
    float* x = ws_.x.data() + static_cast<size_t>(token) * hidden;
    std::fill(x, x + hidden, 0.0f);
    reader.add(weights_.token_table, batch_.ids[token], x);
    for (int j = 0; j < hidden; ++j) x[j] += weights_.type_row[j];
    reader.add(weights_.position_table, i, x);
  }
}

void Pass::check_finite(const Crew& crew, const Layer& layer) const {
  constexpr int kRows = 64;
  for (const Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.up, &layer.down}) {
    const Matrix& w = linear->w;
    std::atomic<bool> finite{true};
    crew.share((w.n + kRows - 1) / kRows, [&](int64_t item, int) {
      const int rows = std::min<int>(kRows, w.n - static_cast<int>(item) * kRows);
      const uint8_t* from = w.data + w.row_bytes() * item * kRows;
      if (!info(w.type).finite(from, static_cast<size_t>(rows) * w.k)) finite = false;
    });
    if (finite) continue;
    throw Error(ErrorKind::not_finite, weights_.file.path() + ": tensor " + linear->name +
                                           " holds a value that is not finite; fetch the model again");
  }
  layer.checked = true;
}

void Pass::normalise(const Crew& crew, const Norm& norm, float* x, int rows) {
  constexpr int kRows = 8;
  const int hidden = model_.hidden;
  crew.share((rows + kRows - 1) / kRows, [&](int64_t item, int) {
    const Timed timed(Stage::norm);
    const int first = static_cast<int>(item) * kRows;
    for (int row = first; row < std::min(rows, first + kRows); ++row) {
      float* at = x + static_cast<size_t>(row) * hidden;
      crew.backend.layer_norm(at, hidden, norm.w.data(), norm.b.data(), model_.epsilon, at);
    }
  });
}

// K and V of every row, before any row of x changes; and Q, when there is room for all.
void Pass::keys_and_values(const Crew& crew, const Layer& layer, bool queries) {
  const size_t hidden = model_.hidden;
  for (int first = 0; first < batch_.tokens(); first += block_) {
    const int rows = std::min(block_, batch_.tokens() - first);
    const Product products[] = {
        {.w = layer.k.w, .bias = layer.k.b.data(), .y = ws_.k.data() + first * hidden, .ldy = hidden},
        {.w = layer.v.w, .bias = layer.v.b.data(), .y = ws_.v.data() + first * hidden, .ldy = hidden},
        {.w = layer.q.w, .bias = layer.q.b.data(), .y = ws_.q.data(), .ldy = hidden},
    };
    const std::span<const Product> wanted(products, queries ? 3 : 2);
    multiply(crew, {ws_.x.data() + first * hidden, hidden, rows, model_.hidden}, wanted, ws_.packed);
  }
}

Pass::Rows Pass::all_rows() {
  Rows rows{ws_.x.data(), batch_.tokens(), {}};
  for (int text = 0; text < batch_.texts(); ++text)
    rows.spans.push_back({batch_.starts[text], batch_.length(text), text});
  return rows;
}

// The one row a text that pooling will take; the others are needed no more.
Pass::Rows Pass::picked_rows() {
  const size_t hidden = model_.hidden;
  Rows rows{ws_.picked.data(), batch_.texts(), {}};
  for (int text = 0; text < batch_.texts(); ++text) {
    const int row = settings_.pooling == Pooling::cls ? batch_.starts[text] : batch_.starts[text + 1] - 1;
    std::copy_n(ws_.x.data() + row * hidden, hidden, ws_.picked.data() + text * hidden);
    rows.spans.push_back({text, 1, text});
  }
  return rows;
}

// The rest of the layer for some rows, block by block:
//   x ← LN(x + Wo·attention(Wq·x));  x ← LN(x + Wdown·gelu(Wup·x))
void Pass::finish_rows(const Crew& crew, const Layer& layer, const Rows& rows, bool queries) {
  const size_t hidden = model_.hidden;
  const Act act = settings_.gelu == Gelu::erf ? Act::gelu_erf : Act::gelu_tanh;
  for (int first = 0; first < rows.count; first += block_) {
    const int count = std::min(block_, rows.count - first);
    float* x = rows.x + first * hidden;  // (count, hidden)
    const auto product = [&](const float* from, const Linear& linear, Act act_of, const float* residual, float* to) {
      const Product p{linear.w, linear.b.data(), act_of, residual, hidden, to, static_cast<size_t>(linear.w.n)};
      multiply(crew, {from, static_cast<size_t>(linear.w.k), count, linear.w.k}, {&p, 1}, ws_.packed);
    };
    if (!queries) product(x, layer.q, Act::none, nullptr, ws_.q.data());
    attend(crew, rows, first, count);
    product(ws_.a.data(), layer.o, Act::none, x, ws_.q.data());
    normalise(crew, layer.attention_norm, ws_.q.data(), count);
    product(ws_.q.data(), layer.up, act, nullptr, ws_.f.data());
    product(ws_.f.data(), layer.down, Act::none, ws_.q.data(), x);
    normalise(crew, layer.output_norm, x, count);
  }
}

// q (count, hidden) of rows [first, first + count) against the keys of their texts → a (count, hidden).
void Pass::attend(const Crew& crew, const Rows& rows, int first, int count) {
  std::vector<Span> pieces;
  for (const Span& span : rows.spans) {
    const int end = std::min(span.first + span.count, first + count);
    for (int row = std::max(span.first, first); row < end; row += kMaxQueries) {
      pieces.push_back({row - first, std::min(kMaxQueries, end - row), span.text});
    }
  }
  const size_t hidden = model_.hidden;
  const int dim = model_.hidden / model_.heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  crew.share(static_cast<int64_t>(pieces.size()) * model_.heads, [&](int64_t item, int thread) {
    const Timed timed(Stage::attention);
    const Span& piece = pieces[item / model_.heads];
    const size_t column = item % model_.heads * dim;
    const size_t at = piece.first * hidden + column, key = batch_.starts[piece.text] * hidden + column;
    const Attention task{ws_.q.data() + at,
                         hidden,
                         piece.count,
                         ws_.k.data() + key,
                         ws_.v.data() + key,
                         hidden,
                         batch_.length(piece.text),
                         dim,
                         scale,
                         ws_.a.data() + at,
                         hidden};
    crew.backend.attend(task, crew.of(thread));
  });
}

void Pass::pool(float* out) const {
  const Timed timed(Stage::pooling);
  const size_t hidden = model_.hidden;
  if (settings_.pooling == Pooling::none) {
    std::copy(ws_.x.begin(), ws_.x.begin() + batch_.tokens() * hidden, out);
    return;
  }
  if (settings_.pooling != Pooling::mean) {
    std::copy_n(ws_.picked.begin(), batch_.texts() * hidden, out);
    return;
  }
  const FlushDenormals flush;
  std::fill_n(out, batch_.texts() * hidden, 0.0f);
  for (int text = 0; text < batch_.texts(); ++text, out += hidden) {
    for (int row = batch_.starts[text]; row < batch_.starts[text + 1]; ++row) {
      settings_.backend.accumulate(ws_.x.data() + row * hidden, model_.hidden, out);
    }
    const float share = 1.0f / static_cast<float>(batch_.length(text));
    for (size_t i = 0; i < hidden; ++i) out[i] *= share;
  }
}

}  // namespace bankml
