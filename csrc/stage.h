// Marks of where the time of a pass goes: `const Timed timed(Stage::norm);` is the stage until its scope ends. They are
// nothing at all but in the build of `make profile` (BANKML_PROFILE), whose clocks stand in bench/stages.cpp.
#pragma once

namespace bankml {

// Inside a stage another one may begin; time counts for the innermost. `other` is what has no mark.
enum class Stage { other, tokenizer, gather, norm, rows, panels, tiles, finish, attention, pooling, wait };

class Timed {
 public:
#ifdef BANKML_PROFILE
  explicit Timed(Stage stage);
  ~Timed();
#else
  explicit Timed(Stage) {}
#endif
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

#ifdef BANKML_PROFILE
 private:
  Stage outer_;
#endif
};

}  // namespace bankml
