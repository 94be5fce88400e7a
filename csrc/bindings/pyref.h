// Python objects that C++ objects of any thread hold: they die where the GIL is not held, too.
#pragma once
#include "bindings/bindings.h"

namespace wgt::bind {

class PyRef {
 public:
  explicit PyRef(py::object o) : p_(o.release().ptr()) {}  // with the GIL
  PyRef(const PyRef&) = delete;
  PyRef& operator=(const PyRef&) = delete;
  ~PyRef();
  py::handle get() const { return p_; }

 private:
  PyObject* p_;
};

}  // namespace wgt::bind
