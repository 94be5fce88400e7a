// Keys: integers, slices, ellipsis, newaxis, and arrays of integers and bools.
#include <pybind11/numpy.h>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

std::vector<py::handle> flat_key(py::handle key) {
  std::vector<py::handle> items;
  if (PyTuple_Check(key.ptr()))
    for (py::handle i : py::reinterpret_borrow<py::tuple>(key)) items.push_back(i);
  else
    items.push_back(key);
  return items;
}

IndexItem integer_item(const std::string& op, py::handle o, int64_t size, int axis) {
  int64_t i = to_int64(op.substr(1, op.find(']') - 1), o, ErrorKind::index);
  int64_t at = i < 0 ? i + size : i;
  if (at < 0 || at >= size)
    raise(ErrorKind::index, op + "index " + std::to_string(i) + " is out of bounds for axis " +
                                std::to_string(axis) + " with size " + std::to_string(size));
  return {IndexItem::integer, at, 1, 0};
}

// A slice with a step of 0 or bounds that are no integers is an error of the function's.
[[noreturn]] void raise_slice(const std::string& op, py::handle slice) {
  py::error_already_set error;
  bool type = error.matches(PyExc_TypeError);
  if (!type && !error.matches(PyExc_ValueError)) throw error;
  std::string text = py::cast<std::string>(py::repr(slice));
  if (!type) raise(ErrorKind::value, op + "the step of " + text + " must not be 0");
  raise(ErrorKind::type, op + "a slice has integers and None, not " + text);
}

IndexItem slice_item(const std::string& op, py::handle o, int64_t size) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(o.ptr(), &start, &stop, &step) < 0) raise_slice(op, o);
  Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
  return {IndexItem::slice, start, step, length};
}

KeyItem whole(IndexItem item) {
  return {KeyItem::basic, item, Tensor(), IndexMode::raise};
}

std::string type_name(py::handle o) {
  return py::cast<std::string>(py::type::of(o).attr("__name__"));
}

// Arrays and what NumPy makes one of; a Tensor as it is.
bool is_array(py::handle o) {
  return as_tensor(o) || PyBool_Check(o.ptr()) || py::isinstance<py::array>(o) ||
         (PySequence_Check(o.ptr()) && !PyUnicode_Check(o.ptr()) && !PyBytes_Check(o.ptr())) ||
         py::hasattr(o, "__array__");
}

// Turns a key into items, one after the other along the axes of a tensor.
class Parser {
 public:
  Parser(const std::string& op, Tensor t, bool assigns)
      : op_(op), t_(std::move(t)), assigns_(assigns) {}

  std::vector<KeyItem> run(py::handle key) {
    std::vector<py::object> items;
    int used = 0;
    bool ellipsis = false;
    for (py::handle i : flat_key(key)) {
      items.push_back(converted(i));
      none_ = none_ || selects_none(items.back());
      unread_ = unread_ || (as_tensor(items.back()) && is_mask(items.back()));
      if (i.is_none()) continue;
      if (i.ptr() != Py_Ellipsis) {
        used += axes_of(items.back());
        continue;
      }
      if (ellipsis)
        raise(ErrorKind::index, op_ + "an index can only have a single ellipsis ('...')");
      ellipsis = true;
    }
    if (used > t_.rank())
      raise(ErrorKind::index, op_ + std::to_string(used) + " indices for a tensor with " +
                                  std::to_string(t_.rank()) + " dimensions, shape " +
                                  to_string(t_.shape()));
    for (const py::object& i : items) add(i, t_.rank() - used);
    fill(t_.rank() - axis_);
    return std::move(out_);
  }

 private:
  // Sequences and scalars of arrays as arrays, once.
  py::object converted(py::handle i) const {
    bool plain = i.is_none() || i.ptr() == Py_Ellipsis || PySlice_Check(i.ptr()) || as_tensor(i) ||
                 (is_integer(i) && !py::isinstance<py::array>(i));
    if (plain) return py::reinterpret_borrow<py::object>(i);
    if (!is_array(i))
      raise(ErrorKind::index, op_ +
                                  "only integers, slices, '...', None, and arrays of integers or "
                                  "bools index a tensor, not " +
                                  type_name(i));
    auto a = py::array::ensure(i);
    if (!a)
      raise(ErrorKind::value, op_ + "NumPy makes no array of indices of this " + type_name(i));
    if (a.size() == 0 && !py::isinstance<py::array>(i)) return a.attr("astype")("int64");
    char kind = a.dtype().kind();
    if (a.ndim() == 0 && (kind == 'i' || kind == 'u')) return a.attr("item")();
    if (kind != 'i' && kind != 'u' && kind != 'b')
      raise(ErrorKind::index, op_ + "arrays of integers or bools index a tensor, not of " +
                                  py::cast<std::string>(py::str(a.dtype())));
    return a;
  }

  static bool is_mask(const py::object& i) {
    if (Tensor* t = as_tensor(i)) return is_bool(t->dtype());
    return py::isinstance<py::array>(i) && py::cast<py::array>(i).dtype().kind() == 'b';
  }

  // Whether the dimensions that indices broadcast to have no elements: NumPy then checks none.
  static bool selects_none(const py::object& i) {
    if (Tensor* t = as_tensor(i)) return !is_bool(t->dtype()) && t->size() == 0;
    if (!py::isinstance<py::array>(i)) return false;
    return is_mask(i) ? !py::cast<bool>(i.attr("any")()) : py::cast<py::array>(i).size() == 0;
  }

  static int axes_of(const py::object& i) { return is_mask(i) ? py::cast<int>(i.attr("ndim")) : 1; }

  void fill(int n) {
    for (; n > 0; --n, ++axis_) out_.push_back(whole({IndexItem::slice, 0, 1, size()}));
  }

  int64_t size() const { return t_.shape()[axis_]; }

  void add(const py::object& i, int rest) {
    if (i.is_none()) {
      out_.push_back(whole({IndexItem::newaxis, 0, 1, 1}));
    } else if (i.ptr() == Py_Ellipsis) {
      if (rest == 0) out_.push_back({KeyItem::gap, {}, Tensor(), IndexMode::raise});
      fill(rest);
    } else if (is_mask(i)) {
      add_mask(i);
    } else if (as_tensor(i) || py::isinstance<py::array>(i)) {
      add_indices(i);
    } else {
      out_.push_back(whole(PySlice_Check(i.ptr()) ? slice_item(op_, i, size())
                                                  : integer_item(op_, i, size(), axis_)));
      ++axis_;
    }
  }

  void add_indices(const py::object& i) {
    KeyItem item{KeyItem::indices, {IndexItem::slice, 0, 1, size()}, Tensor(), IndexMode::raise};
    if (Tensor* t = as_tensor(i)) {
      if (!::wgt::is_integer(t->dtype()))
        raise(ErrorKind::index,
              op_ + "tensors of integers or bools index a tensor, not of " + info(t->dtype()).name);
      item.tensor = *t;
    } else {
      item.tensor = checked(py::cast<py::array>(i));
      // Signed: beside a mask on the device, which may select nothing; then none is out of range.
      item.mode = item.tensor.dtype() == DType::int32 ? IndexMode::raise : IndexMode::trusted;
    }
    out_.push_back(item);
    ++axis_;
  }

  // Indices on the host are checked here.
  Tensor checked(const py::array& a) const {
    bool huge = a.dtype().kind() == 'u' && a.itemsize() == 8;  // above int64: negative below
    py::array_t<int64_t, py::array::c_style | py::array::forcecast> wide(a);
    std::vector<int32_t> kept(static_cast<size_t>(wide.size()));
    int64_t n = size();
    bool far = false;
    for (size_t k = 0; k < kept.size(); ++k) {
      int64_t i = wide.data()[k], at = i < 0 && !huge ? i + n : i;
      bool outside = (at < 0 || at >= n) && !none_;
      if (outside && unread_ && !huge && i == static_cast<int32_t>(i)) {
        far = true;
        at = i;
      } else if (outside)
        raise(ErrorKind::index,
              op_ + "index " +
                  (huge ? std::to_string(static_cast<uint64_t>(i)) : std::to_string(i)) +
                  " is out of bounds for axis " + std::to_string(axis_) + " with size " +
                  std::to_string(n));
      kept[k] = static_cast<int32_t>(static_cast<uint32_t>(at));
    }
    return upload(far ? DType::int32 : DType::uint32, wide, kept.data());
  }

  template <class Array>
  Tensor upload(DType dtype, const Array& like, const void* data) const {
    Dims shape, strides;
    for (py::ssize_t d = 0; d < like.ndim(); ++d) shape.push_back(like.shape(d));
    for (int64_t s : contiguous_strides(shape)) strides.push_back(s * info(dtype).size);
    return unlocked([&] { return from_host(t_.engine(), dtype, shape, strides, data); });
  }

  void add_mask(const py::object& i) {
    auto shape = py::cast<py::tuple>(i.attr("shape"));
    for (size_t d = 0; d < shape.size(); ++d) {
      int axis = axis_ + static_cast<int>(d);
      if (py::cast<int64_t>(shape[d]) != t_.shape()[axis])
        raise(ErrorKind::index, op_ + "a mask of shape " + py::cast<std::string>(py::str(shape)) +
                                    " does not match the tensor of shape " + to_string(t_.shape()) +
                                    ": its axis " + std::to_string(d) + " indexes axis " +
                                    std::to_string(axis) + " with size " +
                                    std::to_string(t_.shape()[axis]));
    }
    Tensor* t = as_tensor(i);
    if (t || assigns_) {
      KeyItem item{
          KeyItem::mask, {}, t ? *t : uploaded_mask(py::cast<py::array>(i)), IndexMode::trusted};
      out_.push_back(item);
    } else if (shape.empty()) {  // a new axis, once or not at all
      int32_t zero = 0;
      bool once = py::cast<bool>(i.attr("item")());
      KeyItem item{KeyItem::indices, {IndexItem::newaxis, 0, 1, 1}, Tensor(), IndexMode::trusted};
      item.tensor = unlocked(
          [&] { return from_host(t_.engine(), DType::int32, Dims{once ? 1 : 0}, Dims{4}, &zero); });
      out_.push_back(item);
    } else {
      for (py::handle along : py::cast<py::tuple>(i.attr("nonzero")())) {
        out_.push_back({KeyItem::indices,
                        {IndexItem::slice, 0, 1, size()},
                        checked(py::cast<py::array>(along)),
                        IndexMode::trusted});
        ++axis_;
      }
      return;
    }
    axis_ += static_cast<int>(shape.size());
  }

  Tensor uploaded_mask(const py::array& a) const {
    py::array_t<bool, py::array::c_style | py::array::forcecast> dense(a);
    return upload(DType::bool_, dense, dense.data());
  }

  const std::string& op_;
  Tensor t_;
  bool assigns_, none_ = false, unread_ = false;  // unread: a mask on the device
  int axis_ = 0;
  std::vector<KeyItem> out_;
};

}  // namespace

std::vector<KeyItem> to_key(const std::string& op, const Tensor& t, py::handle key, bool assigns) {
  return Parser(op, t, assigns).run(key);
}

Operand to_value(const std::string& op, py::handle value, const Tensor& target) {
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()))
    return py::cast<Tensor&>(hooks().as_values(op, value, target));
  auto v = to_operand(op.c_str(), value, &target);
  if (!v) raise(ErrorKind::type, "[" + op + "] cannot use a value of type " + type_name(value));
  return *v;
}

void init_indexing(py::class_<Tensor>& t) {
  t.def("__getitem__", [](Tensor self, py::handle key) {
    auto items = to_key("[getitem] ", self, key, false);
    return made(unlocked([&] {
      return is_basic(items) ? index(self, basic_items(items))
                             : advanced_index(self, items, "getitem");
    }));
  });
  t.def("__setitem__", [](Tensor& self, py::handle key, py::handle value) {
    auto items = to_key("[setitem] ", self, key, true);
    Operand v = to_value("setitem", value, self);
    move_handle("setitem", self, [&](const Tensor& before) {
      return made(unlocked([&] {
        return is_basic(items) ? index_assign(before, basic_items(items), v)
                               : advanced_assign(before, items, v, "setitem");
      }));
    });
  });
  t.def("__len__", [](const Tensor& self) {
    if (self.rank() == 0) raise(ErrorKind::type, "[len] a 0-d tensor has no length");
    return self.shape()[0];
  });
}

}  // namespace wgt::bind
