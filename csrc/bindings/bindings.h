// What the binding files share.
#pragma once
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "tensor/advanced.h"
#include "tensor/autograd.h"

namespace wgt::bind {

namespace py = pybind11;

// module.cpp calls these; each registers one part of _core.
void init_errors(py::module_& m);
void init_device(py::module_& m);
void init_memory(py::module_& m);
void init_event(py::module_& m);
void init_objects(py::class_<Tensor>& t);
void init_tensor(py::module_& m, py::class_<Tensor>& t);
void init_manipulation(py::module_& m);
void init_random(py::module_& m);
void init_losses(py::module_& m);
void init_normalize(py::module_& m);
void init_sorting(py::module_& m);
void init_gather(py::module_& m);
/// `usual_new` makes objects of a class, as tensors' own does not.
void init_parameter(py::module_& m, newfunc usual_new);
void init_operators(py::module_& m, py::class_<Tensor>& t);
void init_indexing(py::class_<Tensor>& t);
void init_dlpack(py::module_& m);
void init_autograd(py::module_& m, py::class_<Tensor>& t);
void init_jit(py::module_& m);
void init_updates(py::module_& m);
void init_tuning(py::module_& m);
void init_host(py::module_& m, py::class_<Tensor>& t);
/// Last of all: rewords what pybind11 says of arguments that the functions do not take.
void init_arguments(py::module_& m);

/// A device as Python sees it: an adapter whose logical device is made at first use.
struct PyDevice {
  const rt::AdapterInfo* adapter;
  graph::Engine* engine_ = nullptr;
  bool own = false;  // made by Device(...), not the adapter's shared one
  graph::Engine& engine();
  std::string name() const;
};
/// The device that `o` names: a Device, a selector, or None for the default one.
std::shared_ptr<PyDevice> to_device(py::handle o);
std::shared_ptr<PyDevice> device_of(graph::Engine& e);

/// Python callables that the facade registers once.
struct Hooks {
  py::object dtypes;      // tuple of DType objects, by code
  py::object as_operand;  // (operation, object, device, dtype beside) -> Tensor or NotImplemented
  py::object as_values;   // (operation, sequence, tensor that it goes into) -> Tensor
};
Hooks& hooks();

py::object dtype_object(DType t);
DType to_dtype(py::handle o);  // a DType object; raises DTypeError
/// An int or what counts as one; no bool and, though they offer __index__, no array with
/// dimensions.
bool is_integer(py::handle o);
Dims to_dims(const char* op, py::handle o);  // an int or a sequence of ints
/// A Python integer; one that no int64_t holds raises an error of `kind`.
int64_t to_int64(const std::string& op, py::handle o, ErrorKind kind);
/// Whether a flag is set: by what counts as a bool or an integer. Raises TypeError.
bool to_flag(const std::string& op, const char* parameter, py::handle o);
/// A number in double precision. Raises TypeError.
double to_real(const std::string& op, const char* parameter, py::handle o);
std::optional<std::vector<int64_t>> to_axes(const char* op, py::handle o);
py::tuple to_tuple(const Dims& d);

/// An operand of `op`; nothing where the object is none.
std::optional<Operand> to_operand(const char* op, py::handle o, const Tensor* beside);
std::optional<Scalar> to_scalar(py::handle o);
Scalar scalar_of(const char* op, py::handle o);  // raises TypeError
/// The items of a Python key; `op` begins errors, with brackets. Indices on the host are checked.
std::vector<KeyItem> to_key(const std::string& op, const Tensor& t, py::handle key, bool assigns);
/// An operand of an assignment; raises TypeError.
Operand to_value(const std::string& op, py::handle value, const Tensor& target);
/// A shape without negative sizes and with fewer than 2^32 elements.
Dims checked_shape(const std::string& op, py::handle o);

/// The tensor in a Python object, or null.
Tensor* as_tensor(py::handle o);
/// A Python object that holds a tensor. [GIL]
py::object new_object(Tensor t);

/// .grad of a tensor: None where there is none (autograd.cpp).
py::object gradient_of(const Tensor& t);

/// The recording of this thread, if there is one (jit.cpp).
extern thread_local void* recording;
/// The recording meets a tensor: from now on an input stands for it, if it was there before.
void meet(py::handle o, Tensor& t);

/// The recording looks at or sets a gradient (jit.cpp).
void meet_gradient(const Ref<autograd::Slot>& slot, bool reads);
/// Where the gradient of a tensor is (autograd.cpp); while something is recorded, which meets it, a
/// leaf has one, as nothing else names its gradient.
Ref<autograd::Slot> gradient_slot(const Tensor& t, bool reads);
/// What is in a slot, or None; and what shall be there (autograd.cpp).
py::object gradient_in(const autograd::Slot& slot);
void put_gradient(autograd::Slot& slot, py::object tensor_or_none);

/// A result on its way to Python; in debug mode it remembers the Python line.
Tensor made(Tensor t);

/// Where the interpreter ends meanwhile, a thread that is not to see the end sleeps for ever.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { take_gil(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  static void take_gil(PyThreadState* state) noexcept;
  PyThreadState* state_;
};

/// Runs f without the GIL. Tensors that f uses are copies: another thread may move the handle of a
/// Python object meanwhile.
template <class F>
decltype(auto) unlocked(F&& f) {
  WithoutGil released;
  return f();
}

/// Moves a handle to what f makes of its value: as one step, also where other threads move it too.
/// Raises, naming `op`, for a leaf whose changes gradients would miss.
template <class F>
void move_handle(const char* op, Tensor& handle, F&& f) {
  for (;;) {
    Tensor before = handle, after = autograd::moved(op, before, f(before));
    if (handle.node() != before.node()) continue;
    handle = std::move(after);
    return;
  }
}

/// What a table of choices among kernels is kept by: all that could change which is the fastest.
std::string tuning_key(const rt::AdapterInfo& adapter, const rt::DeviceOptions& options);
/// The table for a new device, loaded from its file by the first one; needs the GIL.
graph::Tuning tuning_of(const rt::AdapterInfo& adapter, const rt::DeviceOptions& options);

/// Forwards wgpu's messages to logging, if there are any.
void forward_log();

}  // namespace wgt::bind

/// Every tensor that Python hands over, or gets, passes here.
template <>
struct pybind11::detail::type_caster<wgt::Tensor> : pybind11::detail::type_caster_generic {
  static constexpr auto name = const_name<wgt::Tensor>();
  type_caster() : type_caster_generic(static_cast<const type_info*>(nullptr)) {}
  bool load(handle source, bool) {
    value = wgt::bind::as_tensor(source);
    return value != nullptr;
  }
  static handle cast(wgt::Tensor t, return_value_policy, handle) {
    return wgt::bind::new_object(std::move(t)).release();
  }
  template <class T>
  using cast_op_type = detail::cast_op_type<T>;
  operator wgt::Tensor*() { return static_cast<wgt::Tensor*>(value); }
  operator wgt::Tensor&() { return *static_cast<wgt::Tensor*>(value); }
};
