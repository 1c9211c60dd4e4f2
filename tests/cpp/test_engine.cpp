// The whole engine on a model made here: invariance, sharing between threads, cancellation, a file that changes. What
// the sanitizers see of a pass, they see here (csrc/engine, encoder, weights, linear, mapping).
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "check.h"
#include "cpu.h"
#include "engine.h"
#include "error.h"
#include "gguf_writer.h"
#include "kernels/registry.h"
#include "tiny_model.h"

using namespace bankml;
using namespace bankml::testing;
using check::GgufWriter;
using check::TemporaryFile;

namespace {

Options with(int threads, const char* backend = "") {
  Options options;
  options.threads = threads;
  options.backend = backend;
  return options;
}

std::vector<std::string> texts() {
  std::vector<std::string> out = {"", "why", "why is the sky blue", "unknown words here"};
  for (int words = 5; words < 100; words += 23) {
    std::string text;
    for (int i = 0; i < words; ++i) text += i % 3 ? " sky" : " blues";
    out.push_back(text);
  }
  return out;
}

std::vector<float> vectors(const Engine& engine, const std::vector<std::string>& of) {
  return engine.encode({of.begin(), of.end()}, {}).vectors;
}

std::vector<float> one_by_one(const Engine& engine, const std::vector<std::string>& of) {
  std::vector<float> out;
  for (const std::string& text : of) {
    const std::vector<float> rows = vectors(engine, {text});
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace

TEST(engine_same_bits_alone_in_a_batch_and_on_any_threads) {
  for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::cls, Pooling::last}) {
    const TemporaryFile file(model(pooling));
    for (const Backend* backend : available_backends()) {
      const std::vector<float> alone = one_by_one(Engine(file.path(), with(1, backend->name)), texts());
      for (const int threads : {1, 2, 4})
        CHECK(vectors(Engine(file.path(), with(threads, backend->name)), texts()) == alone);
    }
  }
}

TEST(engine_many_callers_share_the_pool) {
  const TemporaryFile file(model(Pooling::mean)), other(model(Pooling::cls));
  const Engine first(file.path(), with(4)), second(other.path(), with(3));
  const std::vector<float> mean = vectors(first, texts()), cls = vectors(second, texts());
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 4; ++i)
        wrong += caller % 2 ? vectors(first, texts()) != mean : vectors(second, texts()) != cls;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST(engine_last_layer_of_picked_rows_equals_the_whole) {
  const TemporaryFile cls(model(Pooling::cls)), none(model(Pooling::none));
  const Engine picked(cls.path(), with(2)), whole(none.path(), with(2));
  for (const std::string& text : texts()) {
    const std::vector<float> row = vectors(picked, {text}), rows = vectors(whole, {text});
    CHECK(std::equal(row.begin(), row.end(), rows.begin()));  // the first row of all is what cls takes
  }
}

TEST(engine_fused_qkv_and_the_shapes_it_refuses) {
  const TemporaryFile fused(model(Pooling::mean, true));
  CHECK(vectors(Engine(fused.path(), with(2)), texts()).size() == texts().size() * kHidden);
  GgufWriter headless = keys(1);
  const TemporaryFile nothing(headless.bytes());
  CHECK_THROWS(Engine(nothing.path(), {}), "position_embd.weight is missing");
  std::string wrong = model(Pooling::mean);
  wrong.replace(wrong.find("attn_q.weight"), 13, "attn_x.weight");
  const TemporaryFile absent(wrong);
  CHECK_THROWS(Engine(absent.path(), {}), "blk.0.attn_q.weight is missing");
}

TEST(engine_truncates_by_the_tables_rows_and_says_so) {
  const TemporaryFile file(model(Pooling::mean));
  const Engine engine(file.path(), with(2));
  CHECK(engine.model().context_length == kPositions);  // the file claims 512
  std::string text;
  for (int i = 0; i < 500; ++i) text += " sky";
  const Embeddings cut = engine.encode({text}, {});
  CHECK(cut.tokens[0] == kPositions && cut.truncated[0]);
  EncodeOptions whole;
  whole.truncate = false;
  CHECK_THROWS(engine.encode({text}, whole), "more than 80 tokens");
  std::vector<int32_t> ids = engine.tokenizer().tokenize(text, {}).ids;
  CHECK(engine.encode_ids({ids}, {}).vectors == cut.vectors);  // the closing token is kept
  CHECK_THROWS(engine.encode_ids({ids}, whole), "more than 80 tokens");
  CHECK_THROWS(engine.encode_ids({{2, 10, 3}}, {}), "token id 10");
  CHECK_THROWS(engine.encode_ids({{-1}}, {}), "token id -1");
  CHECK_THROWS(engine.encode_ids({{}}, {}), "no token ids");
}

TEST(engine_an_error_says_which_text) {
  const TemporaryFile file(model(Pooling::mean));
  const Engine engine(file.path(), with(2));
  std::string text;
  for (int i = 0; i < 500; ++i) text += " sky";
  std::vector<std::string_view> many(600, "why is the sky blue");  // several passes
  many[577] = text;
  EncodeOptions whole;
  whole.truncate = false;
  const auto blamed = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.text;
    }
    return std::optional<size_t>();
  };
  CHECK(blamed([&] { engine.encode(many, whole); }) == 577);
  CHECK(blamed([&] { engine.encode_ids({{2, 3}, {2, 10, 3}}, {}); }) == 1);
  CHECK(blamed([&] { engine.encode_ids({{2, 3}, {2, 3}, {}}, {}); }) == 2);
  EncodeOptions given_up;
  given_up.cancelled = [] { return true; };
  const std::vector<std::string_view> more(20'000, "why is the sky blue");
  CHECK(!blamed([&] { engine.encode(more, given_up); }));
}

TEST(engine_a_caller_that_gives_up) {
  const TemporaryFile file(model(Pooling::mean));
  const Engine engine(file.path(), with(2));
  EncodeOptions options;
  options.cancelled = [] { return true; };
  const std::vector<std::string_view> many(20'000, "why is the sky blue");
  CHECK_THROWS(engine.encode(many, options), "cancelled");
  CHECK(!vectors(engine, {"why"}).empty());
}

TEST(engine_a_pass_of_texts_tokenized_before_is_the_same) {
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    const TemporaryFile file(model(pooling));
    const Engine engine(file.path(), with(2));
    const std::vector<std::string> of = texts();
    const Tokenized tokens = engine.tokenize({of.begin(), of.end()}, {});
    const std::vector<float> rows = engine.encode_pass(tokens.batch, {});
    CHECK(shortened(rows.data(), of.size(), kHidden, kHidden, true) == vectors(engine, of));
    EncodeOptions raw;
    raw.normalize = false;
    raw.dimensions = 3;
    CHECK(shortened(rows.data(), of.size(), kHidden, 3, false) == engine.encode({of.begin(), of.end()}, raw).vectors);
    CHECK(engine.encode_pass({}, {}).empty());
  }
}

TEST(engine_a_pass_refuses_ids_that_are_not_the_vocabularys) {
  const TemporaryFile file(model(Pooling::mean)), none(model(Pooling::none));
  const Engine engine(file.path(), with(1));
  CHECK_THROWS(engine.encode_pass({{1, -1}, {0, 2}}, {}), "text 0 has the token id -1");
  CHECK_THROWS(engine.encode_pass({{1}, {0, 1, 1}}, {}), "text 1 has no token ids");
  CHECK_THROWS(engine.encode_pass({std::vector<int32_t>(5000, 1), {0, 5000}}, {}), "text 0 has more than");
  CHECK_THROWS(Engine(none.path(), {}).encode_pass({{1}, {0, 1}}, {}), "a vector per token");
}

// Texts that nobody waits for any more leave between layers; the others' bits stay.
TEST(engine_a_pass_drops_unwanted_texts) {
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    const TemporaryFile file(model(pooling));
    const Engine engine(file.path(), with(2));
    const std::vector<std::string> of = texts();
    const Batch once = engine.tokenize({of.begin(), of.end()}, {}).batch;
    Batch batch;
    for (int text = 0; text < 800 * once.texts(); ++text) batch.add(once.text(text % once.texts()));  // layers of 50 ms
    std::vector<float> expected = engine.encode_pass(batch, {});
    std::vector<int> unwanted;
    for (int text = 0; text < batch.texts(); ++text) {
      if (text % 3 == 1 || text > batch.texts() / 2) unwanted.push_back(text);
    }
    int asked = 0;
    const auto all_but_some = [&] { return asked++, unwanted; };
    const std::vector<float> rows = engine.encode_pass(batch, {true, all_but_some});
    CHECK(asked >= 1);
    for (const int text : unwanted) std::fill_n(expected.begin() + int64_t{text} * kHidden, kHidden, 0.0f);
    CHECK(rows == expected);
    unwanted.resize(batch.texts());
    std::iota(unwanted.begin(), unwanted.end(), 0);
    CHECK(engine.encode_pass(batch, {false, all_but_some}) == std::vector<float>(rows.size()));
  }
}

TEST(engine_a_file_that_changes_is_an_error) {
  const std::string bytes = model(Pooling::mean);
  const TemporaryFile file(bytes);
  const Engine engine(file.path(), with(2));
  CHECK(!vectors(engine, {"why"}).empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a file's time has the grain of the kernel's tick
  std::ofstream(file.path(), std::ios::binary) << bytes;       // the same bytes, but who could know
  CHECK_THROWS(vectors(engine, {"why"}), "written to");
  const Engine again(file.path(), with(2));
  CHECK(truncate(file.path().c_str(), static_cast<off_t>(bytes.size() / 2)) == 0);
  CHECK_THROWS(vectors(again, {"why"}), "truncated");
  try {
    vectors(again, {"why"});
  } catch (const Error& error) {
    CHECK(error.kind == ErrorKind::changed);
  }
}

TEST(engine_options_out_of_range) {
  const TemporaryFile file(model(Pooling::mean));
  CHECK_THROWS(Engine(file.path(), with(-1)), "threads is -1");
  CHECK_THROWS(Engine(file.path(), with(1025)), "threads is 1025");
  CHECK_THROWS(Engine(file.path(), with(1, "sse9")), "choose one of");
}

TEST(engine_a_unit_vector_does_not_depend_on_the_callers_denormals) {
  std::string bytes = model(Pooling::mean);  // whose last norm is made so wide that 1e-25 of 1e15 is a denormal
  const auto replace = [&](const std::string& old, const std::vector<float>& values) {
    const size_t at = bytes.find(old);
    CHECK(at != std::string::npos);
    bytes.replace(at, old.size(), reinterpret_cast<const char*>(values.data()), old.size());
  };
  std::vector<float> wide(kHidden, 1e15f);
  wide[0] = 1e-25f;
  replace(floats(kHidden, 0.1f, 1, 212), wide);
  replace(floats(kHidden, 0.1f, 0, 213), std::vector<float>(kHidden));
  const TemporaryFile file(bytes);
  const Engine engine(file.path(), with(2));
  const std::vector<float> usual = vectors(engine, {"why is the sky blue"});
  const FlushDenormals flush;
  const std::vector<float> flushed = vectors(engine, {"why is the sky blue"});
  CHECK(std::memcmp(usual.data(), flushed.data(), usual.size() * sizeof(float)) == 0);
}
