// DLPack capsules of host memory, in and out.
#include "bindings/dlpack.h"

#include <pybind11/numpy.h>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

using dlpack::Managed;
using dlpack::ManagedVersioned;

// ---- out
// -----------------------------------------------------------------------------------------

dlpack::DataType type_of(DType t) {
  auto bits = static_cast<uint8_t>(8 * info(t).size);
  if (t == DType::bfloat16) return {dlpack::kBfloat, bits, 1};
  switch (info(t).kind) {
    case Kind::b:
      return {dlpack::kBool, bits, 1};
    case Kind::i:
      return {dlpack::kInt, bits, 1};
    case Kind::u:
      return {dlpack::kUInt, bits, 1};
    default:
      return {dlpack::kFloat, bits, 1};
  }
}

// A managed tensor with what it points to: the array that owns the memory, and its sizes.
template <class M>
struct Export {
  M managed{};
  PyObject* array = nullptr;
  int64_t shape[kMaxRank], strides[kMaxRank];
};

// The consumer calls it, on any thread.
template <class M>
void end_export(M* m) {
  auto* e = static_cast<Export<M>*>(m->context);
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(e->array);
    PyGILState_Release(state);
  }
  delete e;
}

template <class M>
constexpr const char* kName = "dltensor";
template <>
constexpr const char* kName<ManagedVersioned> = "dltensor_versioned";
template <class M>
constexpr const char* kUsedName = "used_dltensor";
template <>
constexpr const char* kUsedName<ManagedVersioned> = "used_dltensor_versioned";

// A capsule that nobody consumed.
template <class M>
void end_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName<M>)) return;
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, kName<M>));
  m->deleter(m);
}

template <class M>
py::object export_as(const py::array& a, DType t) {
  auto e = std::make_unique<Export<M>>();
  for (py::ssize_t d = 0; d < a.ndim(); ++d) {
    e->shape[d] = a.shape(d);
    e->strides[d] = a.strides(d) / a.itemsize();
  }
  e->managed.context = e.get();
  e->managed.deleter = &end_export<M>;
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    e->managed.major = dlpack::kMajor;
    e->managed.minor = dlpack::kMinor;
    e->managed.flags =
        dlpack::kCopied | (a.writeable() ? uint64_t{0} : uint64_t{dlpack::kReadOnly});
  }
  e->managed.view = {const_cast<void*>(a.data()),
                     {dlpack::kCpu, 0},
                     static_cast<int32_t>(a.ndim()),
                     type_of(t),
                     e->shape,
                     e->strides,
                     0};
  PyObject* capsule = PyCapsule_New(&e->managed, kName<M>, &end_capsule<M>);
  if (!capsule) throw py::error_already_set();
  e->array = a.inc_ref().ptr();
  e.release();
  return py::reinterpret_steal<py::object>(capsule);
}

py::object to_dlpack(const py::array& a, py::handle dtype, bool versioned) {
  DType t = to_dtype(dtype);
  if (a.itemsize() != info(t).size) internal_error("to_dlpack: item size");
  return versioned ? export_as<ManagedVersioned>(a, t) : export_as<Managed>(a, t);
}

// ---- in
// ------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& why) {
  throw py::buffer_error("DLPack: " + why);
}

DType dtype_of(const dlpack::DataType& d) {
  for (int i = 0; i < kDTypeCount && d.lanes == 1; ++i) {
    auto t = static_cast<DType>(i);
    dlpack::DataType own = type_of(t);
    if (own.code == d.code && own.bits == d.bits) return t;
  }
  raise(ErrorKind::dtype, "no dtype for DLPack's type code " + std::to_string(d.code) + " of " +
                              std::to_string(d.bits) + " bits and " + std::to_string(d.lanes) +
                              " lanes");
}

// NumPy's dtype of the items; of bfloat16, which is a package's, their bits.
py::dtype items_of(DType t) {
  return py::dtype(t == DType::bfloat16 ? "<u2" : info(t).numpy);
}

py::tuple array_of(const dlpack::View& v, bool read_only, const py::capsule& owner) {
  if (v.device.type != dlpack::kCpu)
    refuse("the memory is on a device of type " + std::to_string(v.device.type) +
           ", not the host's");
  if (v.ndim < 0 || v.ndim > kMaxRank)
    raise(ErrorKind::shape, std::to_string(v.ndim) + " dimensions: tensors have at most " +
                                std::to_string(kMaxRank) + " dimensions");
  DType t = dtype_of(v.dtype);
  std::vector<py::ssize_t> shape, strides;
  for (int32_t d = 0; d < v.ndim; ++d) shape.push_back(v.shape[d]);
  if (v.strides)
    for (int32_t d = 0; d < v.ndim; ++d) strides.push_back(v.strides[d] * info(t).size);
  py::dtype items = items_of(t);
  py::object dtype = dtype_object(t);
  bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (none || !v.data) return py::make_tuple(py::array(items, shape), dtype);
  py::array a(items, shape, strides, static_cast<const char*>(v.data) + v.byte_offset, owner);
  if (read_only) a.attr("flags").attr("writeable") = false;
  return py::make_tuple(a, dtype);
}

// Takes the capsule's tensor: the array's base ends it.
template <class M>
py::capsule owner_of(const py::capsule& capsule, M* m) {
  py::capsule owner(m, [](void* p) {
    auto* managed = static_cast<M*>(p);
    if (managed->deleter) managed->deleter(managed);
  });
  PyCapsule_SetName(capsule.ptr(), kUsedName<M>);
  return owner;
}

py::tuple from_dlpack(const py::capsule& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kName<ManagedVersioned>)) {
    auto* m = static_cast<ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), kName<ManagedVersioned>));
    py::capsule owner = owner_of(capsule, m);
    if (m->major > dlpack::kMajor)
      refuse("version " + std::to_string(m->major) + "." + std::to_string(m->minor) +
             " is newer than " + std::to_string(dlpack::kMajor));
    return array_of(m->view, m->flags & dlpack::kReadOnly, owner);
  }
  if (!PyCapsule_IsValid(capsule.ptr(), kName<Managed>))
    refuse("the capsule holds no tensor, or was used before");
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kName<Managed>));
  return array_of(m->view, false, owner_of(capsule, m));
}

}  // namespace

void init_dlpack(py::module_& m) {
  m.def("to_dlpack", &to_dlpack, py::arg("array"), py::arg("dtype"), py::arg("versioned"),
        "A DLPack capsule that keeps an array alive.");
  m.def("from_dlpack", &from_dlpack, py::arg("capsule"),
        "(array of the capsule's memory, dtype); bfloat16 comes as its bits.");
}

}  // namespace wgt::bind
