// Basic indexing: integers, slices, ellipsis and newaxis.
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
  int64_t i = to_int64("index", o, ErrorKind::index);
  int64_t at = i < 0 ? i + size : i;
  if (at < 0 || at >= size)
    raise(ErrorKind::index, op + "index " + std::to_string(i) + " is out of bounds for axis " +
                                std::to_string(axis) + " with size " + std::to_string(size));
  return {IndexItem::integer, at, 1, 0};
}

IndexItem slice_item(py::handle o, int64_t size) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(o.ptr(), &start, &stop, &step) < 0) throw py::error_already_set();
  Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
  return {IndexItem::slice, start, step, length};
}

std::vector<IndexItem> parse(const std::string& op, const Tensor& t, py::handle key) {
  std::vector<py::handle> items = flat_key(key);
  int used = 0;
  bool ellipsis = false;
  for (py::handle i : items) {
    if (i.is_none()) continue;
    if (i.ptr() == Py_Ellipsis) {
      if (ellipsis)
        raise(ErrorKind::index, op + "an index can only have a single ellipsis ('...')");
      ellipsis = true;
      continue;
    }
    ++used;
  }
  if (used > t.rank())
    raise(ErrorKind::index, op + std::to_string(used) + " indices for a tensor with " +
                                std::to_string(t.rank()) + " dimensions, shape " +
                                to_string(t.shape()));
  std::vector<IndexItem> out;
  int axis = 0;
  auto fill = [&](int n) {
    for (; n > 0; --n, ++axis) out.push_back({IndexItem::slice, 0, 1, t.shape()[axis]});
  };
  for (py::handle i : items) {
    if (i.is_none()) {
      out.push_back({IndexItem::newaxis, 0, 1, 1});
    } else if (i.ptr() == Py_Ellipsis) {
      fill(t.rank() - used);
    } else if (PySlice_Check(i.ptr())) {
      out.push_back(slice_item(i, t.shape()[axis]));
      ++axis;
    } else if (is_integer(i) && !py::isinstance<Tensor>(i)) {
      out.push_back(integer_item(op, i, t.shape()[axis], axis));
      ++axis;
    } else if (PyBool_Check(i.ptr()) || py::isinstance<Tensor>(i) ||
               (PySequence_Check(i.ptr()) && !PyUnicode_Check(i.ptr()))) {
      raise(ErrorKind::unsupported, op + "indexing by " +
                                        py::cast<std::string>(py::type::of(i).attr("__name__")) +
                                        " is not there yet; integers, slices, '...' and None are");
    } else {
      raise(ErrorKind::index, op + "only integers, slices, '...' and None index a tensor, not " +
                                  py::cast<std::string>(py::type::of(i).attr("__name__")));
    }
  }
  fill(t.rank() - axis);
  return out;
}

}  // namespace

void init_indexing(py::class_<Tensor>& t) {
  t.def("__getitem__", [](Tensor self, py::handle key) {
    auto items = parse("[getitem] ", self, key);
    return made(unlocked([&] { return index(self, items); }));
  });
  t.def("__setitem__", [](Tensor& self, py::handle key, py::handle value) {
    auto items = parse("[setitem] ", self, key);
    auto v = to_operand("setitem", value, &self.engine());
    if (!v)
      raise(ErrorKind::type, "[setitem] cannot use a value of type " +
                                 py::cast<std::string>(py::type::of(value).attr("__name__")));
    move_handle(self, [&](const Tensor& before) {
      return made(unlocked([&] { return index_assign(before, items, *v); }));
    });
  });
  t.def("__len__", [](const Tensor& self) {
    if (self.rank() == 0) raise(ErrorKind::type, "[len] a 0-d tensor has no length");
    return self.shape()[0];
  });
}

}  // namespace wgt::bind
