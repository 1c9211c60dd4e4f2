// What Python sees of each part of the engine is bound in a file of its own; bind.cpp puts them into the module.
#pragma once

#include <pybind11/pybind11.h>

namespace bankml {

void bind_nearest(pybind11::module_& module);

}  // namespace bankml
