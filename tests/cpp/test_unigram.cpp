#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "../../csrc/error.h"
#include "../../csrc/tokenizer/tokenizer.h"
#include "allocations.h"
#include "charsmap_writer.h"
#include "check.h"
#include "gguf_writer.h"

using bankml::TokenizeOptions;
using bankml::Tokenizer;
using bankml::Tokens;
using check::GgufWriter;
using Ids = std::vector<int32_t>;

namespace {

struct Piece {
  std::string text;
  float score;
  int32_t type = 1;
};

// <s> 0, <pad> 1, </s> 2, <unk> 3, then `pieces` from 4 on.
GgufWriter vocabulary(const std::vector<Piece>& pieces) {
  std::vector<Piece> all = {{"<s>", 0, 3}, {"<pad>", 0, 3}, {"</s>", 0, 3}, {"<unk>", 0, 2}};
  all.insert(all.end(), pieces.begin(), pieces.end());
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (const Piece& piece : all) {
    texts.push_back(piece.text);
    scores.push_back(piece.score);
    types.push_back(piece.type);
  }
  GgufWriter file;
  file.string("tokenizer.ggml.model", "t5").strings("tokenizer.ggml.tokens", texts);
  file.floats("tokenizer.ggml.scores", scores).i32s("tokenizer.ggml.token_type", types);
  return file;
}

GgufWriter xlmr_keys(GgufWriter file) {
  file.boolean("tokenizer.ggml.add_space_prefix", true).boolean("tokenizer.ggml.remove_extra_whitespaces", true);
  file.u32("tokenizer.ggml.bos_token_id", 0)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.unknown_token_id", 3);
  file.boolean("tokenizer.ggml.add_bos_token", true).boolean("tokenizer.ggml.add_eos_token", true);
  return file;
}

std::unique_ptr<Tokenizer> load(const GgufWriter& writer) {
  const check::TemporaryFile file(writer.bytes());
  return bankml::make_tokenizer(bankml::gguf::File(file.path()));
}

std::unique_ptr<Tokenizer> xlmr(const std::vector<Piece>& pieces) { return load(xlmr_keys(vocabulary(pieces))); }

const std::vector<Piece> kWords = {{"\u2581", -4}, {"\u2581ab", -5},  {"a", -6}, {"b", -6}, {"c", -6},
                                   {"bc", -7},     {"\u2581a", -5.5}, {"é", -8}, {"<", -9}, {"/s>", -9}};
enum : int32_t { kSpace = 4, kSpaceAb, kA, kB, kC, kBc, kSpaceA, kE, kLess, kClose };

Ids cut(const Ids& ids, size_t limit) {
  if (ids.size() <= limit) return ids;
  Ids result(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(limit) - 1);
  result.push_back(ids.back());
  return result;
}

// What the lattice must give, the plain way: all nodes kept, one pass, exact sums.
Ids whole_viterbi(const std::vector<Piece>& pieces, const std::string& text, float unknown_score) {
  struct Node {
    double score = -std::numeric_limits<double>::max();
    size_t from = 0;
    int32_t id = 3;
  };
  std::vector<Node> nodes(text.size() + 1);
  nodes[0].score = 0;
  const auto relax = [&](size_t from, size_t to, double score, int32_t id) {
    if (nodes[from].score + score > nodes[to].score) nodes[to] = {nodes[from].score + score, from, id};
  };
  for (size_t i = 0; i < text.size(); i++) {
    if (nodes[i].score == -std::numeric_limits<double>::max()) continue;
    bool known = false;
    for (size_t n = 1; n <= text.size() - i; n++) {
      for (size_t p = 0; p < pieces.size() && n <= 64; p++) {
        if (text.compare(i, n, pieces[p].text) != 0) continue;
        relax(i, i + n, pieces[p].score, static_cast<int32_t>(p) + 4);
        known |= n == 1;
      }
      if (n > 64) break;
    }
    if (!known) relax(i, i + 1, unknown_score, 3);
  }
  Ids ids;
  for (size_t at = text.size(); at > 0; at = nodes[at].from) {
    if (ids.empty() || nodes[at].id != 3 || ids.back() != 3) ids.push_back(nodes[at].id);
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

void check_limits(const Tokenizer& tokenizer, const std::string& text) {
  const Ids whole = tokenizer.tokenize(text).ids;
  for (size_t limit = 1; limit <= 600; limit++) {
    const Tokens tokens = tokenizer.tokenize(text, {.limit = limit});
    CHECK(tokens.ids == cut(whole, limit));
    CHECK(tokens.truncated == (whole.size() > limit));
  }
}

}  // namespace

TEST(unigram_takes_the_best_path) {
  const auto tokenizer = xlmr(kWords);
  CHECK((tokenizer->tokenize("ab").ids == Ids{0, kSpaceAb, 2}));
  CHECK((tokenizer->tokenize("abc").ids == Ids{0, kSpaceAb, kC, 2}));
  CHECK((tokenizer->tokenize("bc").ids == Ids{0, kSpace, kBc, 2}));
  CHECK((tokenizer->tokenize("aé").ids == Ids{0, kSpaceA, kE, 2}));
  CHECK(!tokenizer->tokenize("ab").truncated);
}

TEST(unigram_of_equal_scores_takes_the_longer_last_piece) {
  // a+bc = ab+c = -12: the path whose last piece starts earlier.
  const auto tokenizer = xlmr({{"\u2581", -1}, {"a", -5}, {"bc", -7}, {"ab", -7}, {"c", -5}, {"b", -9}});
  CHECK((tokenizer->tokenize("abc").ids == Ids{0, 4, 5, 6, 2}));
}

TEST(unigram_merges_spaces) {
  const auto tokenizer = xlmr(kWords);
  CHECK(tokenizer->tokenize("  ab   ab ").ids == tokenizer->tokenize("ab ab").ids);
  CHECK((tokenizer->tokenize("").ids == Ids{0, 2}));
  CHECK((tokenizer->tokenize("   ").ids == Ids{0, 2}));
}

TEST(unigram_keeps_spaces_if_the_file_says_so) {
  GgufWriter file = vocabulary(kWords);
  file.boolean("tokenizer.ggml.add_space_prefix", true).boolean("tokenizer.ggml.remove_extra_whitespaces", false);
  file.u32("tokenizer.ggml.eos_token_id", 2).u32("tokenizer.ggml.unknown_token_id", 3);
  const auto tokenizer = load(file);
  CHECK((tokenizer->tokenize(" a").ids == Ids{0, kSpace, kSpaceA, 2}));
  CHECK((tokenizer->tokenize("a  a ").ids == Ids{0, kSpaceA, kSpace, kSpaceA, kSpace, 2}));
}

TEST(unigram_makes_one_token_of_unknown_characters_in_a_row) {
  const auto tokenizer = xlmr(kWords);
  CHECK((tokenizer->tokenize("zz\U0001F600z").ids == Ids{0, kSpace, 3, 2}));
  CHECK((tokenizer->tokenize("zaz z").ids == Ids{0, kSpace, 3, kA, 3, kSpace, 3, 2}));
}

TEST(unigram_reads_invalid_bytes_as_replacement_characters) {
  const auto tokenizer = xlmr({{"\u2581", -1}, {"\uFFFD", -2}, {"a", -3}});
  CHECK((tokenizer->tokenize("a\x80z").ids == Ids{0, 4, 6, 5, 3, 2}));
  CHECK((tokenizer->tokenize("\xED\xA0\x80").ids == Ids{0, 4, 5, 2}));        // a surrogate is one
  CHECK((tokenizer->tokenize("\xE2\x82").ids == Ids{0, 4, 5, 5, 2}));         // a character cut short
  CHECK((tokenizer->tokenize("\xC0\xAF\xF5").ids == Ids{0, 4, 5, 5, 5, 2}));  // overlong, beyond U+10FFFF
  CHECK((tokenizer->tokenize(std::string_view("a\0a", 3)).ids == Ids{0, 4, 6, 3, 6, 2}));
}

TEST(unigram_maps_characters) {
  GgufWriter file = xlmr_keys(vocabulary(kWords));
  file.octets("tokenizer.ggml.precompiled_charsmap",
              check::charsmap_blob({{"A", "a"}, {"\t", " "}, {"e\u0301", "é"}, {"\u200B", ""}, {"Ω", "ab ab"}}));
  const auto tokenizer = load(file);
  CHECK(tokenizer->tokenize("\tAb\te\u0301").ids == tokenizer->tokenize("ab é").ids);
  CHECK(tokenizer->tokenize("a\u200Bb").ids == tokenizer->tokenize("ab").ids);
  CHECK(tokenizer->tokenize("Ω").ids == tokenizer->tokenize("ab ab").ids);
}

TEST(unigram_reads_a_charsmap_in_base64_characters) {
  GgufWriter file = xlmr_keys(vocabulary(kWords));
  const std::string blob = check::charsmap_blob({{"A", "a"}});
  std::vector<std::string> characters;
  uint32_t bits = 0;
  int count = 0;
  const auto put = [&](uint32_t six) {
    characters.emplace_back(1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six & 63]);
  };
  for (const char c : blob) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (count += 8; count >= 6; count -= 6) put(bits >> (count - 6));
  }
  if (count > 0) put(bits << (6 - count));
  while (characters.size() % 4 != 0) characters.emplace_back("=");
  file.strings("tokenizer.ggml.precompiled_charsmap", characters);
  const auto tokenizer = load(file);
  CHECK(tokenizer->tokenize("Ab").ids == tokenizer->tokenize("ab").ids);
  GgufWriter broken = xlmr_keys(vocabulary(kWords));
  CHECK_THROWS(load(broken.strings("tokenizer.ggml.precompiled_charsmap", {"!"})), "not base64");
}

TEST(unigram_takes_special_text_as_text_unless_told) {
  const auto tokenizer = xlmr(kWords);
  CHECK((tokenizer->tokenize("a</s>").ids == Ids{0, kSpaceA, kLess, kClose, 2}));
  CHECK((tokenizer->tokenize("a</s>ab", {.parse_special = true}).ids == Ids{0, kSpaceA, 2, kSpaceAb, 2}));
  CHECK(
      (tokenizer->tokenize("<s><unk> <pad", {.parse_special = true}).ids == Ids{0, 0, 3, kSpace, kLess, 3, kA, 3, 2}));
}

TEST(unigram_splits_user_defined_tokens_always) {
  std::vector<Piece> pieces = kWords;
  pieces.push_back({"[ab]", -1000, 4});
  const auto tokenizer = xlmr(pieces);
  CHECK((tokenizer->tokenize("a[ab]ab").ids == Ids{0, kSpaceA, 14, kSpaceAb, 2}));
  GgufWriter mapping = xlmr_keys(vocabulary(pieces));
  mapping.octets("tokenizer.ggml.precompiled_charsmap", check::charsmap_blob({{"Ω", "[ab]"}}));
  CHECK((load(mapping)->tokenize("aΩ").ids == Ids{0, kSpaceA, 14, 2}));  // one that only the map makes scores 0
}

TEST(unigram_takes_the_longest_of_special_tokens) {
  std::vector<Piece> pieces = kWords;
  pieces.insert(pieces.end(), {{"[a", 0, 4}, {"[ab]", 0, 4}});
  const auto tokenizer = xlmr(pieces);
  CHECK((tokenizer->tokenize("[ab][a").ids == Ids{0, 15, 14, 2}));
}

TEST(unigram_treats_each_side_of_a_special_token_alone) {
  GgufWriter file = vocabulary({{"a", -1}});
  file.u32("tokenizer.ggml.eos_token_id", 2).u32("tokenizer.ggml.unknown_token_id", 3);
  file.boolean("tokenizer.ggml.add_space_prefix", false).boolean("tokenizer.ggml.remove_extra_whitespaces", false);
  CHECK((load(file)->tokenize("az<s>za", {.parse_special = true}).ids == Ids{0, 4, 3, 0, 3, 4, 2}));
}

TEST(unigram_cuts_at_limits) {
  const auto tokenizer = xlmr(kWords);
  std::string text;
  for (int i = 0; i < 300; i++) text += i % 7 == 0 ? "zz " : i % 3 == 0 ? "abc" : "bcab ";
  check_limits(*tokenizer, text);
  check_limits(*tokenizer, std::string(3000, 'z'));
  CHECK((tokenizer->tokenize("ab", {.limit = 1}).ids == Ids{2}));
  CHECK(tokenizer->tokenize("", {.limit = 0}).ids.empty() && tokenizer->tokenize("", {.limit = 0}).truncated);
}

// Two segmentations of x…x stay alive to the end: in threes from the start, or in threes after one or two single ones.
TEST(unigram_is_exact_where_paths_never_meet) {
  const std::vector<Piece> pieces = {{"\u2581", -1}, {"xxx", -3.1f}, {"x", -2.3f}, {"y", -2}};
  const auto tokenizer = xlmr(pieces);
  for (size_t size : {1u, 2u, 511u, 512u, 513u, 5000u, 5001u, 5002u, 40000u}) {
    for (const char* end : {"", "y"}) {
      const std::string text = std::string(size, 'x') + end;
      Ids expected = whole_viterbi(pieces, text, -13.1f);
      expected.insert(expected.begin(), {0, 4});
      expected.push_back(2);
      CHECK(tokenizer->tokenize(text).ids == expected);
    }
  }
  check_limits(*tokenizer, std::string(1700, 'x'));
}

// Seeded texts over three letters and a vocabulary with inner overlaps: the committed parts equal the whole lattice.
TEST(unigram_commits_only_what_is_certain) {
  uint64_t state = 7;
  const auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  for (int round = 0; round < 60; round++) {
    std::set<std::string> texts = {"a", "b"};
    while (texts.size() < 14) {
      std::string text;
      for (size_t n = 2 + next() % 7; n > 0; n--) text.push_back(static_cast<char>('a' + next() % 3));
      texts.insert(text);
    }
    std::vector<Piece> pieces;
    for (const std::string& text : texts) pieces.push_back({text, -1.0f - static_cast<float>(next() % 64) / 16});
    GgufWriter file = vocabulary(pieces);
    file.boolean("tokenizer.ggml.add_space_prefix", false).boolean("tokenizer.ggml.remove_extra_whitespaces", false);
    file.boolean("tokenizer.ggml.add_bos_token", false).boolean("tokenizer.ggml.add_eos_token", false);
    file.u32("tokenizer.ggml.unknown_token_id", 3);
    const auto tokenizer = load(file);
    std::string text;
    const size_t letters = 2 + next() % 2;
    for (size_t n = 3000; n > 0; n--) text.push_back(static_cast<char>('a' + next() % letters));
    float least = 0;
    for (const Piece& piece : pieces) least = std::min(least, piece.score);
    CHECK(tokenizer->tokenize(text).ids == whole_viterbi(pieces, text, least - 10));
  }
}

TEST(unigram_allocates_nothing_for_a_token) {
  const auto tokenizer = xlmr(kWords);
  CHECK(check::allocations_of(*tokenizer, "ab abc é zz ", 8000) ==
        check::allocations_of(*tokenizer, "ab abc é zz ", 1000) + 3);
  CHECK(check::allocations_of(*tokenizer, "ab", 1) <= 8);
}

TEST(unigram_says_what_it_assumed) {
  const auto tokenizer = load(vocabulary(kWords));  // as XLM-R: <s> 0, </s> 2, <unk> 3, spaces as SentencePiece's
  CHECK((tokenizer->tokenize(" ab ").ids == xlmr(kWords)->tokenize(" ab ").ids));
  CHECK((tokenizer->tokenize("z").ids == Ids{0, kSpace, 3, 2}));
  CHECK(tokenizer->warnings().size() == 8);  // two flags of spaces, the map, two flags and three ids of special tokens
  CHECK(xlmr(kWords)->warnings().size() == 1);
  const auto mapped = load(
      xlmr_keys(vocabulary(kWords)).octets("tokenizer.ggml.precompiled_charsmap", check::charsmap_blob({{"A", "a"}})));
  CHECK(mapped->warnings().empty());
}

TEST(unigram_of_t5_opens_nothing) {
  GgufWriter file = GgufWriter().string("tokenizer.ggml.model", "t5");
  file.strings("tokenizer.ggml.tokens", {"<pad>", "</s>", "<unk>", "\u2581", "a"});
  file.floats("tokenizer.ggml.scores", {0, 0, 0, -2, -3}).i32s("tokenizer.ggml.token_type", {3, 3, 2, 1, 1});
  CHECK((load(file)->tokenize("a b").ids == Ids{3, 4, 3, 2, 1}));
}

TEST(unigram_refuses_wrong_files) {
  const auto with = [](const auto& change) {
    GgufWriter file = vocabulary(kWords);
    change(file);
    return file;
  };
  const auto wrong = [&](const auto& change, const char* part) { CHECK_THROWS(load(with(change)), part); };
  wrong([](GgufWriter& f) { f.u32("tokenizer.ggml.eos_token_id", 14); },
        "eos_token_id is 14, outside of the vocabulary of 14");
  wrong([](GgufWriter& f) { f.u32("tokenizer.ggml.unknown_token_id", 4000000000u); }, "unknown_token_id is 4000000000");
  GgufWriter t5 = GgufWriter().string("tokenizer.ggml.model", "t5").strings("tokenizer.ggml.tokens", {"</s>", "<unk>"});
  t5.floats("tokenizer.ggml.scores", {0, 0}).boolean("tokenizer.ggml.add_bos_token", true);
  CHECK_THROWS(load(t5), "bos_token_id is absent and the vocabulary has no <s>");
  wrong([](GgufWriter& f) { f.boolean("tokenizer.ggml.add_bos_token", true).u32("tokenizer.ggml.bos_token_id", 99); },
        "bos_token_id is 99");
  wrong([](GgufWriter& f) { f.u32("tokenizer.ggml.precompiled_charsmap", 1); }, "precompiled_charsmap");
  wrong([](GgufWriter& f) { f.octets("tokenizer.ggml.precompiled_charsmap", "abc"); }, "precompiled_charsmap");
  const auto ignored = load(with([](GgufWriter& f) { f.u32("tokenizer.ggml.padding_token_id", 4000000000u); }));
  CHECK(ignored->warnings().back().find("padding_token_id is 4000000000") != std::string::npos);
  wrong([](GgufWriter& f) { f.octets("tokenizer.ggml.precompiled_charsmap", ""); }, "is 0 bytes long");
}

TEST(unigram_refuses_wrong_arrays) {
  const auto file = [] { return GgufWriter().string("tokenizer.ggml.model", "t5"); };
  const std::vector<std::string> tokens = {"a", "b", "c"};
  CHECK_THROWS(load(file()), "tokenizer.ggml.tokens");
  CHECK_THROWS(load(file().u32s("tokenizer.ggml.tokens", {1, 2})), "tokenizer.ggml.tokens");
  CHECK_THROWS(load(file().strings("tokenizer.ggml.tokens", tokens)), "scores has 0 entries for 3");
  CHECK_THROWS(load(file().strings("tokenizer.ggml.tokens", tokens).octets("tokenizer.ggml.scores", "abc")),
               "tokenizer.ggml.scores");
  CHECK_THROWS(load(file().strings("tokenizer.ggml.tokens", tokens).floats("tokenizer.ggml.scores", {0, 0, NAN})),
               "scores[2]");
  CHECK_THROWS(load(file()
                        .strings("tokenizer.ggml.tokens", tokens)
                        .floats("tokenizer.ggml.scores", {0, 0, 0})
                        .i32s("tokenizer.ggml.token_type", {1})),
               "token_type has 1");
  CHECK_THROWS(
      load(file().strings("tokenizer.ggml.tokens", {"a", "b", "a"}).floats("tokenizer.ggml.scores", {0, 0, 0})),
      "\"a\" twice");
  CHECK_THROWS(load(file().strings("tokenizer.ggml.tokens", {std::string(70000, 'a')})), "70000 bytes");
  GgufWriter odd = file().strings("tokenizer.ggml.tokens", {"", "\xFF", "a", ""});
  odd.floats("tokenizer.ggml.scores", {0, 0, -1, 0}).u32("tokenizer.ggml.unknown_token_id", 0);
  odd.u32("tokenizer.ggml.eos_token_id", 1).boolean("tokenizer.ggml.add_space_prefix", false);
  odd.boolean("tokenizer.ggml.remove_extra_whitespaces", false);
  CHECK((load(odd)->tokenize("aa").ids == Ids{2, 2, 1}));
}

TEST(tokenizers_that_do_not_run_are_named) {
  CHECK_THROWS(load(GgufWriter().string("tokenizer.ggml.model", "gpt2\xFF")),
               "\"gpt2\uFFFD\", which bankml does not run");
  CHECK_THROWS(load(GgufWriter().string("general.name", "x")), "tokenizer.ggml.model is absent");
}

TEST(unigram_gives_pieces_as_stored) {
  const auto tokenizer = xlmr(kWords);
  CHECK(tokenizer->vocabulary_size() == 14);
  CHECK(tokenizer->piece(kSpaceAb) == "\u2581ab" && tokenizer->piece(2) == "</s>");
  CHECK(tokenizer->piece(-1).empty() && tokenizer->piece(14).empty());
}
