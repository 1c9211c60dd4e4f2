// Python's view of csrc/nearest: numpy arrays are checked, never copied or converted.

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <string>

#include "bind.h"
#include "cpu.h"
#include "error.h"
#include "kernels/registry.h"
#include "nearest.h"

namespace py = pybind11;
using namespace py::literals;

namespace bankml {

namespace {

constexpr py::ssize_t kMostDims = 1'000'000;  // far above every model

std::string shape_of(const py::array& array) { return py::str(array.attr("shape")); }

bool is(const py::array& array, char kind, py::ssize_t bytes) {
  const py::dtype type = array.dtype();
  return type.kind() == kind && type.itemsize() == bytes && type.byteorder() != '>' && type.byteorder() != '<';
}

// The object as an array that lies in memory row after row.
py::array contiguous(const py::handle& object, const std::string& name) {
  if (!py::isinstance<py::array>(object)) {
    throw input_error(name + " is of type " + Py_TYPE(object.ptr())->tp_name + "; give a numpy array");
  }
  const auto array = py::reinterpret_borrow<py::array>(object);
  if (!(array.flags() & py::array::c_style)) {
    throw input_error(name + " is not C-contiguous; give np.ascontiguousarray(" + name + ")");
  }
  return array;
}

// The same of one dimension, of `size` values of a type.
py::array vector(const py::handle& object, const std::string& name, char kind, py::ssize_t bytes, const char* type,
                 py::ssize_t size) {
  py::array array = contiguous(object, name);
  if (!is(array, kind, bytes)) {
    throw input_error(name + " is " + std::string(py::str(array.dtype())) + "; give " + type);
  }
  if (array.ndim() != 1 || array.shape(0) != size) {
    throw input_error(name + " has the shape " + shape_of(array) + "; the matrix asks for (" + std::to_string(size) +
                      ",)");
  }
  return array;
}

const uint8_t* bytes_of(const py::array& array) { return static_cast<const uint8_t*>(array.data()); }

// The arrays of a call, held while it runs, and what the engine makes of them.
struct Arguments {
  Arguments(const py::handle& of_rows, const py::handle& of_query, const py::object& of_scales)
      : rows(contiguous(of_rows, "matrix")) {
    if (rows.ndim() != 2 || rows.shape(1) > kMostDims || (rows.shape(1) == 0 && rows.shape(0) > 0)) {
      throw input_error("matrix has the shape " + shape_of(rows) + "; give (n, dims), with dims from 1 to " +
                        std::to_string(kMostDims));
    }
    matrix = {type(), bytes_of(rows), rows.shape(0), static_cast<int>(rows.shape(1)), nullptr};
    values = vector(of_query, "query", 'f', 4, "float32", rows.shape(1));
    query.resize(static_cast<size_t>(values.size()));
    std::memcpy(query.data(), values.data(), query.size() * sizeof(float));  // from any address
    take_scales(of_scales);
  }

  Matrix::Type type() const {
    if (is(rows, 'f', 4)) return Matrix::Type::f32;
    if (is(rows, 'f', 2)) return Matrix::Type::f16;
    if (is(rows, 'i', 1)) return Matrix::Type::i8;
    throw input_error("matrix is " + std::string(py::str(rows.dtype())) +
                      "; give float32, float16, or int8 and scales");
  }

  void take_scales(const py::object& given) {
    if (given.is_none() != (matrix.type != Matrix::Type::i8)) {
      throw input_error(given.is_none() ? "matrix is int8 and has no scales; give scales, float32, one a row"
                                        : "scales are given; only an int8 matrix has them");
    }
    if (given.is_none()) return;
    scales = vector(given, "scales", 'f', 4, "float32", rows.shape(0));
    matrix.scales = bytes_of(scales);
  }

  py::array rows, values, scales;
  Matrix matrix;
  std::vector<float> query;
};

const Backend& backend_of(const std::string& name) {
  std::string warning;
  return choose_backend(name, warning);
}

int64_t count_of(const py::handle& k) {
  if (!PyIndex_Check(k.ptr())) {
    throw input_error(std::string("k is of type ") + Py_TYPE(k.ptr())->tp_name + "; give a whole number, 0 or more");
  }
  const Py_ssize_t count = PyNumber_AsSsize_t(k.ptr(), nullptr);  // what is beyond its ends becomes an end
  if (count == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (count < 0) throw input_error("k is " + std::string(py::str(k)) + "; give a whole number, 0 or more");
  return count;
}

int threads_of(int threads) {
  static const int cores = usable_cores();  // reads a dozen files: 0.2 ms
  return threads > 0 ? threads : cores;
}

py::tuple nearest_of(const py::object& matrix, const py::object& query, const py::object& k, const py::object& scales,
                     const py::object& allowed, const std::string& backend, int threads) {
  const Arguments given(matrix, query, scales);
  const int64_t most = count_of(k);
  py::array mask;
  if (!allowed.is_none()) mask = vector(allowed, "allowed", 'b', 1, "bool", given.rows.shape(0));
  std::vector<Near> found;
  {
    const uint8_t* allows = allowed.is_none() ? nullptr : bytes_of(mask);
    const py::gil_scoped_release release;
    found = nearest(backend_of(backend), threads_of(threads), given.matrix, given.query.data(), most, allows);
  }
  const auto size = static_cast<py::ssize_t>(found.size());
  py::array_t<int64_t> rows(size);
  py::array_t<float> values(size);
  for (py::ssize_t i = 0; i < size; ++i) {
    rows.mutable_data()[i] = found[i].row;
    values.mutable_data()[i] = found[i].cosine;
  }
  return py::make_tuple(rows, values);
}

std::vector<int64_t> rows_of(const py::object& object, int64_t n) {
  const py::array array = py::array::ensure(object);
  if (!array || array.ndim() != 1 || (array.size() > 0 && array.dtype().kind() != 'i' && array.dtype().kind() != 'u')) {
    PyErr_Clear();
    throw input_error("rows must be whole numbers in one dimension, the numbers of rows of the matrix");
  }
  const auto numbers = py::array_t < int64_t, py::array::c_style | py::array::forcecast > (array);
  std::vector<int64_t> out(numbers.data(), numbers.data() + numbers.size());
  for (const int64_t row : out) {
    if (row < 0 || row >= n) {
      throw input_error("row " + std::to_string(row) + " was asked for; the matrix has " + counted(n, "row") +
                        ", counted from 0");
    }
  }
  return out;
}

py::array_t<float> cosines_of(const py::object& matrix, const py::object& rows, const py::object& query,
                              const py::object& scales, const std::string& backend) {
  const Arguments given(matrix, query, scales);
  const std::vector<int64_t> wanted = rows_of(rows, given.matrix.n);
  std::vector<float> found;
  {
    const py::gil_scoped_release release;
    found = cosines(backend_of(backend), given.matrix, given.query.data(), wanted.data(), wanted.size());
  }
  return py::array_t<float>(static_cast<py::ssize_t>(found.size()), found.data());
}

}  // namespace

void bind_nearest(py::module_& module) {
  module.def("nearest", nearest_of, "matrix"_a, "query"_a, "k"_a, "scales"_a = py::none(), "allowed"_a = py::none(),
             "backend"_a = "", "threads"_a = 0);
  module.def("cosines", cosines_of, "matrix"_a, "rows"_a, "query"_a, "scales"_a = py::none(), "backend"_a = "");
}

}  // namespace bankml
