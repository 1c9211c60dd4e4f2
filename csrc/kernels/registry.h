// Which backends were built, which of them run here, and which one to use.
#pragma once

#include <string>
#include <vector>

#include "backend.h"

namespace bankml {

// Backends that this CPU and OS allow, best first; scalar is always the last.
std::vector<const Backend*> available_backends();

// The backend of that name, or the best one for "". An unknown or unsupported name is an input_error that lists what
// there is. The best one is compared with scalar on a small case first; if it differs the next one is taken and
// `warning` says so.
const Backend& choose_backend(const std::string& name, std::string& warning);

}  // namespace bankml
