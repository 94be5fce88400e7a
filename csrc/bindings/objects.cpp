// Python objects that hold tensors, made and freed here: pybind11 would look up the type by its
// name and keep a list of all objects by address, which takes longer than to make the node of a
// tensor.
#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

using Instance = py::detail::instance;

PyTypeObject* tensor_type = nullptr;
destructor usual_dealloc = nullptr;

static_assert(sizeof(std::unique_ptr<Tensor>) == sizeof(void*));

// Only of what new_object() made can be sure that pybind11 has no notes.
void free_object(PyObject* self) {
  auto* instance = reinterpret_cast<Instance*>(self);
  if (Py_TYPE(self) != tensor_type || instance->simple_instance_registered ||
      instance->has_patients)
    return usual_dealloc(self);
  py::error_scope kept;  // what dies with the tensor may run Python
  if (instance->weakrefs) PyObject_ClearWeakRefs(self);
  delete static_cast<Tensor*>(instance->simple_value_holder[0]);
  tensor_type->tp_free(self);
  Py_DECREF(tensor_type);
}

}  // namespace

void init_objects(py::class_<Tensor>& t) {
  tensor_type = reinterpret_cast<PyTypeObject*>(t.ptr());
  usual_dealloc = std::exchange(tensor_type->tp_dealloc, free_object);
}

Tensor* as_tensor(py::handle o) {
  PyTypeObject* type = Py_TYPE(o.ptr());
  if (type != tensor_type && !PyType_IsSubtype(type, tensor_type)) return nullptr;
  auto* instance = reinterpret_cast<Instance*>(o.ptr());
  if (!instance->simple_layout) [[unlikely]]
    raise(ErrorKind::type, "a class cannot be a tensor and another class of the core");
  // Empty in subclasses whose __init__ has not called Parameter's.
  auto* tensor = static_cast<Tensor*>(instance->simple_value_holder[0]);
  if (recording && tensor) [[unlikely]]
    meet(o, *tensor);
  return tensor;
}

py::object new_object(Tensor t) {
  auto held = std::make_unique<Tensor>(std::move(t));
  PyObject* self = tensor_type->tp_alloc(tensor_type, 0);
  if (!self) throw py::error_already_set();
  auto* instance = reinterpret_cast<Instance*>(self);
  instance->simple_layout = instance->owned = instance->simple_holder_constructed = true;
  instance->simple_value_holder[0] = instance->simple_value_holder[1] = held.release();
  return py::reinterpret_steal<py::object>(self);
}

}  // namespace wgt::bind
