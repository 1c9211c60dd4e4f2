// Python's view of the engine: convert, release the GIL, translate errors; nothing else. The stub is
// bankml/_engine.pyi.

#include "bind.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu.h"
#include "engine.h"
#include "error.h"
#include "kernels/registry.h"
#include "utf8.h"

namespace py = pybind11;
using namespace py::literals;

namespace bankml {

namespace {

constexpr uint64_t kShownElements = 64;  // longer metadata arrays are given as None unless all are asked for
constexpr const char* kPoolingNames[] = {"none", "mean", "cls", "last"};

// Lone surrogates, written ED A0 80 to ED BF BF, → U+FFFD, which has three bytes too: the text that JSON would carry.
void replace_surrogates(char* utf8, Py_ssize_t size) {
  for (Py_ssize_t i = 0; i + 2 < size; ++i) {
    const auto* byte = reinterpret_cast<const uint8_t*>(utf8 + i);
    if (byte[0] == 0xED && byte[1] >= 0xA0) std::memcpy(utf8 + i, utf8::kReplacementBytes.data(), 3);
  }
}

// A str's UTF-8, valid while the object and `held` live.
std::string_view utf8_of(py::handle text, std::vector<py::object>& held) {
  if (!PyUnicode_Check(text.ptr()))
    throw py::type_error("texts must be str, not " + std::string(Py_TYPE(text.ptr())->tp_name));
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {bytes, static_cast<size_t>(size)};
  PyErr_Clear();
  PyObject* encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
  if (encoded == nullptr) throw py::error_already_set();
  held.push_back(py::reinterpret_steal<py::object>(encoded));
  replace_surrogates(PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded));
  return {PyBytes_AS_STRING(encoded), static_cast<size_t>(PyBytes_GET_SIZE(encoded))};
}

// A path as the operating system has it, of str, bytes or os.PathLike; a str may stand for bytes that are not UTF-8.
std::string path_of(const py::object& path) {
  return py::module_::import("os").attr("fsencode")(path).cast<std::string>();
}

template <class T>
T number(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// One element at `data`, which moves behind it. A string's length is read from the file anew and may not be believed:
// `end` bounds it.
py::object element(gguf::ValueType type, const uint8_t*& data, const uint8_t* end) {
  using gguf::ValueType;
  const uint8_t* at = data;
  switch (type) {
    case ValueType::u8:
      return data += 1, py::int_(number<uint8_t>(at));
    case ValueType::i8:
      return data += 1, py::int_(number<int8_t>(at));
    case ValueType::u16:
      return data += 2, py::int_(number<uint16_t>(at));
    case ValueType::i16:
      return data += 2, py::int_(number<int16_t>(at));
    case ValueType::u32:
      return data += 4, py::int_(number<uint32_t>(at));
    case ValueType::i32:
      return data += 4, py::int_(number<int32_t>(at));
    case ValueType::f32:
      return data += 4, py::float_(number<float>(at));
    case ValueType::boolean:
      return data += 1, py::bool_(*at != 0);
    case ValueType::u64:
      return data += 8, py::int_(number<uint64_t>(at));
    case ValueType::i64:
      return data += 8, py::int_(number<int64_t>(at));
    case ValueType::f64:
      return data += 8, py::float_(number<double>(at));
    case ValueType::array:
      break;
    case ValueType::string: {
      const auto room = static_cast<uint64_t>(end - at - 8);
      const auto length = static_cast<Py_ssize_t>(std::min(number<uint64_t>(at), room));
      data += 8 + length;
      PyObject* text = PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(at) + 8, length, "replace");
      if (text == nullptr) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(text);
    }
  }
  return py::none();
}

py::object python_value(const gguf::Value& value, uint64_t most) {
  const uint8_t* data = value.data;
  const bool lone_string = !value.is_array && value.type == gguf::ValueType::string;
  const uint8_t* end = data + value.bytes + (lone_string ? 8 : 0);
  if (!value.is_array) return element(value.type, data, end);
  if (value.count > most) return py::none();
  py::list out;
  const py::ssize_t least = value.type == gguf::ValueType::string ? 8 : 1;
  for (uint64_t i = 0; i < value.count && end - data >= least; ++i) out.append(element(value.type, data, end));
  return out;
}

py::dict metadata(const gguf::File& file, uint64_t most = kShownElements) {
  file.check_intact();
  py::dict out;
  for (const std::string& key : file.keys()) {
    const py::object name = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(key.data(), static_cast<Py_ssize_t>(key.size()), "replace"));
    out[name] = python_value(*file.find(key), most);
  }
  return out;
}

py::list tensors(const gguf::File& file) {
  py::list out;
  for (const gguf::Tensor& t : file.tensors()) {
    const py::str name = py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(t.name.data(), static_cast<Py_ssize_t>(t.name.size()), "replace"));
    out.append(py::dict("name"_a = name, "type"_a = info(t.type).name,
                        "shape"_a = std::vector<int64_t>(t.ne, t.ne + t.n_dims), "bytes"_a = t.bytes));
  }
  return out;
}

Options options_of(int threads, const std::string& backend, const std::string& gelu, const std::string& pooling,
                   int pass_tokens) {
  Options options;
  options.threads = threads;
  options.backend = backend;
  options.pass_tokens = pass_tokens;
  if (gelu != "erf" && gelu != "tanh") throw input_error("gelu is '" + gelu + "', 'erf' or 'tanh' is possible");
  options.gelu = gelu == "erf" ? Gelu::erf : Gelu::tanh;
  if (pooling.empty()) return options;
  for (int i = 0; i < 4; ++i) {
    if (pooling == kPoolingNames[i]) options.pooling = static_cast<Pooling>(i);
  }
  if (!options.pooling) throw input_error("pooling is '" + pooling + "', 'none', 'mean', 'cls' or 'last' is possible");
  return options;
}

// A vector's memory as a numpy array, without a copy: 100,000 texts of bge-m3 are 400 MB.
py::array_t<float> adopt(std::vector<float> values, py::ssize_t rows, py::ssize_t columns) {
  auto owned = std::make_unique<std::vector<float>>(std::move(values));
  const float* data = owned->data();
  const py::capsule owner(owned.release(), [](void* pointer) { delete static_cast<std::vector<float>*>(pointer); });
  return py::array_t<float>({rows, columns}, data, owner);
}

py::tuple arrays(Embeddings e) {
  const auto dims = static_cast<py::ssize_t>(e.dims), texts = static_cast<py::ssize_t>(e.tokens.size());
  const auto rows = static_cast<py::ssize_t>(e.vectors.size()) / dims;
  py::array_t<int32_t> tokens(texts);
  py::array_t<bool> truncated(texts);
  std::copy(e.tokens.begin(), e.tokens.end(), tokens.mutable_data());
  std::copy(e.truncated.begin(), e.truncated.end(), truncated.mutable_data());
  return py::make_tuple(adopt(std::move(e.vectors), rows, dims), tokens, truncated);
}

// The engine with the right to let go of it: calls in flight keep it alive.
class Handle {
 public:
  Handle(const std::string& path, const Options& options) {
    const py::gil_scoped_release release;
    engine_ = std::make_shared<Engine>(path, options);
  }
  std::shared_ptr<Engine> get() const {
    if (!engine_) throw input_error("this encoder was closed; load the model again");
    return engine_;
  }
  void close() { engine_.reset(); }

 private:
  std::shared_ptr<Engine> engine_;
};

// Asks Python, between layers, whether Ctrl-C was pressed or the caller gave up. What Python raised there is raised
// again by `rethrow`.
class Interrupt {
 public:
  explicit Interrupt(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}
  bool operator()() {
    const py::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return cancelled_ && cancelled_();
    } catch (...) {
      raised_ = std::current_exception();
      return true;
    }
  }
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  std::function<bool()> cancelled_;
  std::exception_ptr raised_;
};

// The result of `work`, which runs without the GIL and asks `options.cancelled`.
template <class Work>
auto interruptible(std::function<bool()> cancelled, EncodeOptions& options, const Work& work) {
  Interrupt interrupt(std::move(cancelled));
  options.cancelled = std::ref(interrupt);
  try {
    const py::gil_scoped_release release;
    return work();
  } catch (const Error&) {
    interrupt.rethrow();
    throw;
  }
}

// The UTF-8 of several str, valid while they and this live.
struct Texts {
  explicit Texts(const py::sequence& texts) {
    for (const py::handle text : texts) {
      held.push_back(py::reinterpret_borrow<py::object>(text));
      views.push_back(utf8_of(text, held));
    }
  }
  std::vector<py::object> held;
  std::vector<std::string_view> views;
};

py::tuple encode(const Handle& handle, const py::sequence& sequence, bool normalize, bool truncate, int dimensions,
                 int max_tokens, bool parse_special, bool urgent, std::function<bool()> cancelled) {
  const auto engine = handle.get();
  const Texts texts(sequence);
  EncodeOptions options{normalize, truncate, dimensions, max_tokens, parse_special, urgent, {}};
  return arrays(interruptible(std::move(cancelled), options, [&] { return engine->encode(texts.views, options); }));
}

py::tuple encode_ids(const Handle& handle, const std::vector<std::vector<int32_t>>& ids, bool normalize, bool truncate,
                     int dimensions) {
  const auto engine = handle.get();
  EncodeOptions options{normalize, truncate, dimensions, 0, false, false, {}};
  return arrays(interruptible({}, options, [&] { return engine->encode_ids(ids, options); }));
}

py::tuple tokenize_all(const Handle& handle, const py::sequence& sequence, bool truncate, int max_tokens, bool whole,
                       std::function<bool()> cancelled) {
  const auto engine = handle.get();
  const Texts texts(sequence);
  EncodeOptions options{true, truncate, 0, max_tokens, false, false, {}};
  const Tokenized tokenized = interruptible(std::move(cancelled), options, [&] {
    return whole ? engine->tokenize_whole(texts.views, options) : engine->tokenize(texts.views, options);
  });
  const Batch& batch = tokenized.batch;
  py::array_t<bool> truncated(batch.texts());
  std::copy(tokenized.truncated.begin(), tokenized.truncated.end(), truncated.mutable_data());
  return py::make_tuple(py::array_t<int32_t>(batch.tokens(), batch.ids.data()),
                        py::array_t<int32_t>(batch.texts() + 1, batch.starts.data()), truncated);
}

using Ids = py::array_t<int32_t, py::array::c_style | py::array::forcecast>;

// Checks what makes arrays a batch; that the ids are the vocabulary's, the engine checks.
Batch batch_of(const Ids& ids, const Ids& starts) {
  const auto* first = starts.data();
  const auto* end = first + starts.size();
  if (ids.ndim() != 1 || starts.ndim() != 1 || first == end || *first != 0 || end[-1] != ids.size() ||
      !std::is_sorted(first, end)) {
    throw input_error("starts must ascend from 0 to the number of ids, " + std::to_string(ids.size()));
  }
  return {{ids.data(), ids.data() + ids.size()}, {first, end}};
}

py::array_t<float> encode_pass(const Handle& handle, const Ids& ids, const Ids& starts, bool urgent,
                               const std::function<std::vector<int>()>& unwanted) {
  const auto engine = handle.get();
  const Batch batch = batch_of(ids, starts);
  PassOptions options{urgent, {}};
  if (unwanted) {
    options.unwanted = [&] {
      const py::gil_scoped_acquire acquire;
      return unwanted();
    };
  }
  std::vector<float> rows;
  {
    const py::gil_scoped_release release;
    rows = engine->encode_pass(batch, options);
  }
  return adopt(std::move(rows), batch.texts(), engine->model().hidden);
}

// The first `dims` components of each row, of unit length when `normalize`.
py::array_t<float> shorten(const py::array_t<float, py::array::c_style | py::array::forcecast>& rows, int dims,
                           bool normalize) {
  if (rows.ndim() != 2 || dims < 1 || dims > rows.shape(1)) {
    throw input_error("dims is " + std::to_string(dims) + ", 1 to the length of a row is possible");
  }
  const auto count = rows.shape(0), hidden = rows.shape(1);
  const float* data = rows.data();
  std::vector<float> out;
  {
    const py::gil_scoped_release release;
    out = shortened(data, count, static_cast<int>(hidden), dims, normalize);
  }
  return adopt(std::move(out), count, dims);
}

py::tuple tokenize(const Handle& handle, const py::str& text, bool parse_special, size_t limit) {
  const auto engine = handle.get();
  std::vector<py::object> held;
  const std::string_view utf8 = utf8_of(text, held);
  Tokens tokens;
  {
    const py::gil_scoped_release release;
    TokenizeOptions options;
    if (limit > 0) options.limit = limit;
    options.parse_special = parse_special;
    tokens = engine->tokenizer().tokenize(utf8, options);
  }
  return py::make_tuple(tokens.ids, tokens.truncated);
}

void verify_finite(const Handle& handle, const py::object& progress) {
  const auto engine = handle.get();
  const auto report = [&](uint64_t done, uint64_t total) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(done, total);
  };
  const py::gil_scoped_release release;
  engine->verify_finite(report);
}

// Error kinds → the exceptions of bankml/errors.py.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const Error& error) {
    constexpr const char* kNames[] = {"ModelError",     "InputError",       "TooLongError", "CancelledError",
                                      "NotFiniteError", "FileChangedError", "StoreError"};
    const py::object type = py::module_::import("bankml.errors").attr(kNames[static_cast<int>(error.kind)]);
    // The message may quote bytes of a path or a file that are not UTF-8.
    const char* what = error.what();
    const py::object text = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(std::strlen(what)), "replace"));
    PyErr_SetObject(type.ptr(), type(text, "index"_a = error.text).ptr());
  }
}

// Blocks of a tensor type, whole ones, → floats.
py::array_t<float> dequantize(int type_id, const py::bytes& blocks) {
  const DTypeInfo* type = dtype_info(type_id);
  if (type == nullptr)
    throw input_error("tensor type " + std::to_string(type_id) + " does not exist; see the GGUF format for the ids");
  if (type->widen == nullptr)
    throw input_error(std::string("tensor type ") + type->name + " is not run, these are: " + runnable_types());
  const std::string_view bytes = blocks;
  if (bytes.size() % type->block_bytes != 0) {
    throw input_error(std::to_string(bytes.size()) + " bytes are not whole blocks of " + type->name + " (" +
                      std::to_string(type->block_bytes) + " bytes each)");
  }
  const size_t count = bytes.size() / type->block_bytes * type->block;
  py::array_t<float> out(static_cast<py::ssize_t>(count));
  type->widen(reinterpret_cast<const uint8_t*>(bytes.data()), out.mutable_data(), count);
  return out;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> out;
  for (const Backend* backend : available_backends()) out.emplace_back(backend->name);
  return out;
}

}  // namespace

PYBIND11_MODULE(_engine, m) {
  m.doc() = "The native engine of bankml.";
  py::register_exception_translator(translate);
  m.attr("NUMERICS") = kNumerics;
  m.def("backends", backend_names);
  m.def("default_threads", usable_cores);
  m.def("dequantize", dequantize, "type"_a, "blocks"_a);
  m.def("shorten", shorten, "rows"_a, "dims"_a, "normalize"_a = true);
  bind_nearest(m);

  py::class_<gguf::File>(m, "GGUF")
      .def(py::init([](const py::object& path) { return std::make_unique<gguf::File>(path_of(path)); }), "path"_a)
      .def_property_readonly("metadata", [](const gguf::File& file) { return metadata(file); })
      .def_property_readonly("whole_metadata", [](const gguf::File& file) { return metadata(file, UINT64_MAX); })
      .def_property_readonly("tensors", tensors);

  py::class_<Handle>(m, "Engine")
      .def(py::init([](const py::object& path, int threads, const std::string& backend, const std::string& gelu,
                       const std::string& pooling, int pass_tokens) {
             return std::make_unique<Handle>(path_of(path), options_of(threads, backend, gelu, pooling, pass_tokens));
           }),
           "path"_a, "threads"_a = 0, "backend"_a = "", "gelu"_a = "erf", "pooling"_a = "", "pass_tokens"_a = 1024)
      .def_property_readonly("arch", [](const Handle& h) { return h.get()->model().arch; })
      .def_property_readonly("name",
                             [](const Handle& h) {
                               const std::string name = h.get()->model().name;
                               return py::reinterpret_steal<py::object>(
                                   PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
                             })
      .def_property_readonly("dims", [](const Handle& h) { return h.get()->model().hidden; })
      .def_property_readonly("layers", [](const Handle& h) { return h.get()->model().layers; })
      .def_property_readonly("heads", [](const Handle& h) { return h.get()->model().heads; })
      .def_property_readonly("ffn", [](const Handle& h) { return h.get()->model().ffn; })
      .def_property_readonly("vocabulary_size", [](const Handle& h) { return h.get()->tokenizer().vocabulary_size(); })
      .def_property_readonly("context_length", [](const Handle& h) { return h.get()->model().context_length; })
      .def_property_readonly("pooling",
                             [](const Handle& h) { return kPoolingNames[static_cast<int>(h.get()->pooling())]; })
      .def_property_readonly("backend", [](const Handle& h) { return h.get()->backend(); })
      .def_property_readonly("threads", [](const Handle& h) { return h.get()->threads(); })
      .def_property_readonly("warnings", [](const Handle& h) { return h.get()->warnings(); })
      .def_property_readonly("metadata", [](const Handle& h) { return metadata(h.get()->file()); })
      .def_property_readonly("tensors", [](const Handle& h) { return tensors(h.get()->file()); })
      .def("tokenize", tokenize, "text"_a, "parse_special"_a = false, "limit"_a = 0)
      .def(
          "piece", [](const Handle& h, int32_t id) { return py::bytes(h.get()->tokenizer().piece(id)); }, "id"_a)
      .def("tokenize_all", tokenize_all, "texts"_a, "truncate"_a = true, "max_tokens"_a = 0, "whole"_a = false,
           "cancelled"_a = nullptr)
      .def("encode_pass", encode_pass, "ids"_a, "starts"_a, "urgent"_a = false, "unwanted"_a = nullptr)
      .def("encode", encode, "texts"_a, "normalize"_a = true, "truncate"_a = true, "dimensions"_a = 0,
           "max_tokens"_a = 0, "parse_special"_a = false, "urgent"_a = false, "cancelled"_a = nullptr)
      .def("encode_ids", encode_ids, "ids"_a, "normalize"_a = true, "truncate"_a = true, "dimensions"_a = 0)
      .def("verify_finite", verify_finite, "progress"_a = py::none())
      .def("close", &Handle::close);
}

}  // namespace bankml
