// The engine's one error type. A message is one sentence that names the value and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace bankml {

enum class ErrorKind {
  model,       // a file that cannot be used
  input,       // a request that cannot be served as asked
  too_long,    // a text above the limit that may not be cut
  cancelled,   // the caller gave up
  not_finite,  // a text without a vector: a weight on its way, or the vector itself, is NaN or infinite
  changed,     // a file that was truncated or written to while it was in use
  store,       // something stored that cannot be read
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind of_kind, const std::string& message, std::optional<size_t> of_text = {})
      : std::runtime_error(message), kind(of_kind), text(of_text) {}
  const ErrorKind kind;
  std::optional<size_t> text;  // which text of the call it is about, where it is about one
};

// "1 row", "2 rows".
inline std::string counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

inline Error model_error(const std::string& message) { return {ErrorKind::model, message}; }
inline Error input_error(const std::string& message) { return {ErrorKind::input, message}; }

}  // namespace bankml
