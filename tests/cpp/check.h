// The smallest test harness that does: TEST(name) { CHECK(...); CHECK_THROWS(expr, "part of the message"); }
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace check {

struct Case {
  const char* name;
  std::function<void()> run;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, std::function<void()> run) { cases().push_back({name, std::move(run)}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  failures()++;
}

}  // namespace check

#define TEST(name)                                            \
  static void test_##name();                                  \
  static check::Register register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) check::fail(__FILE__, __LINE__, "CHECK(" #condition ") is false"); \
  } while (0)

#define CHECK_THROWS(expression, part)                                                       \
  do {                                                                                       \
    try {                                                                                    \
      (void)(expression);                                                                    \
      check::fail(__FILE__, __LINE__, #expression " did not throw");                         \
    } catch (const std::exception& error) {                                                  \
      if (std::string(error.what()).find(part) == std::string::npos)                         \
        check::fail(__FILE__, __LINE__, std::string("unexpected message: ") + error.what()); \
    }                                                                                        \
  } while (0)
