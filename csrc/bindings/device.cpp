#include <map>
#include <mutex>
#include <utility>

#include "base/settings.h"
#include "bindings/bindings.h"
#include "bindings/jit_keys.h"
#include "tensor/products.h"

namespace wgt::bind {

namespace {

rt::DeviceOptions options_from_settings() {
  check_kernels(settings().kernels, "WGTENSOR_KERNELS");
  return {settings().limits == "default", settings().debug,
          static_cast<uint64_t>(settings().max_binding), settings().kernels,
          static_cast<uint64_t>(settings().memory_limit_mb) << 20};
}

// Once in a process, before its first device.
void warn_of_unknown_variables() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  for (const std::string& text : unknown_variables())
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw py::error_already_set();
}

// One shared device per adapter. The mutex is taken without the GIL.
std::mutex& shared_mutex() {
  static std::mutex m;
  return m;
}
std::map<int, graph::Engine*>& shared_engines() {
  static auto* m = new std::map<int, graph::Engine*>();
  return *m;
}

// What `with device:` sets, in this thread and what runs in its context: (device, what was before).
PyObject* block_devices() {
  static PyObject* variable =
      nullptr;  // no initialiser that Python runs in, as for NumPy's generic
  if (!variable) variable = PyContextVar_New("wgtensor.device", Py_None);
  if (!variable) throw py::error_already_set();
  return variable;
}

py::object block_device() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(block_devices(), nullptr, &value) < 0) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(value);
}

void set_block_device(const py::object& value) {
  PyObject* token = PyContextVar_Set(block_devices(), value.ptr());
  if (!token) throw py::error_already_set();
  Py_DECREF(token);
}

std::shared_ptr<PyDevice>& default_device() {
  static auto* d = new std::shared_ptr<PyDevice>();
  return *d;
}

std::shared_ptr<PyDevice> select(const std::string& selector) {
  const rt::AdapterInfo& a =
      unlocked([&]() -> const rt::AdapterInfo& { return rt::choose_adapter(selector); });
  return std::make_shared<PyDevice>(PyDevice{&a, nullptr, false});
}

// The setting comes from the environment more often than not: the message names it.
std::shared_ptr<PyDevice> select_from_settings() {
  try {
    return select(settings().device);
  } catch (const Error& e) {
    if (e.kind != ErrorKind::device_not_found || settings().device.empty()) throw;
    raise(e.kind,
          std::string(e.what()) + " (WGTENSOR_DEVICE asks for '" + settings().device + "')");
  }
}

// A selector: a string, or an adapter's index.
std::optional<std::string> selector_text(py::handle o) {
  if (py::isinstance<py::str>(o)) return py::cast<std::string>(o);
  if (is_integer(o) && !py::isinstance<Tensor>(o))
    return py::cast<std::string>(py::str(py::int_(py::reinterpret_borrow<py::object>(o))));
  return std::nullopt;
}

[[noreturn]] void raise_no_device(py::handle o) {
  raise(ErrorKind::type, "[device] expected a Device, a selector string, an index or None, not " +
                             py::cast<std::string>(py::repr(o)));
}

py::dict limits_dict(const rt::Limits& l) {
  py::dict d;
  d["max_buffer"] = l.max_buffer;
  d["max_binding"] = l.max_binding;
  d["max_storage_buffers"] = l.max_storage_buffers;
  d["max_workgroup_memory"] = l.max_workgroup_memory;
  d["max_invocations"] = l.max_invocations;
  d["max_workgroup_x"] = l.max_workgroup_x;
  d["max_workgroup_y"] = l.max_workgroup_y;
  d["max_workgroup_z"] = l.max_workgroup_z;
  d["max_groups"] = l.max_groups;
  d["max_immediates"] = l.max_immediates;
  return d;
}

py::list features_list(const rt::Features& f) {
  py::list l;
  for (const std::string& name : rt::feature_names(f)) l.append(name);
  return l;
}

py::dict stats_dict(PyDevice& d) {
  graph::Engine& e = d.engine();
  rt::Stats s = unlocked([&] { return e.stats(); });
  py::dict out;
#define STAT(name) out[#name] = s.name;
  WGT_STATS(STAT)
#undef STAT
  return out;
}

}  // namespace

graph::Engine& PyDevice::engine() {
  if (engine_) return *engine_;
  warn_of_unknown_variables();
  const rt::DeviceOptions options = options_from_settings();
  const graph::Tuning tuning = tuning_of(*adapter, options);
  engine_ = unlocked([&] {
    std::lock_guard<std::mutex> l(shared_mutex());
    graph::Engine*& shared = shared_engines()[adapter->index];
    if (!shared) shared = graph::Engine::create(*adapter, options, tuning, true);
    return shared;
  });
  forward_log();
  return *engine_;
}

std::string PyDevice::name() const {
  return engine_ ? engine_->name() : "gpu:" + std::to_string(adapter->index);
}

std::shared_ptr<PyDevice> device_of(graph::Engine& e) {
  const rt::AdapterInfo& a = rt::adapters().at(static_cast<size_t>(e.adapter().index));
  return std::make_shared<PyDevice>(PyDevice{&a, &e, false});
}

std::shared_ptr<PyDevice> to_device(py::handle o) {
  if (o.is_none()) {
    if (py::object block = block_device(); !block.is_none())
      return py::cast<std::shared_ptr<PyDevice>>(py::tuple(block)[0]);
    if (!default_device()) default_device() = select_from_settings();
    return default_device();
  }
  if (auto text = selector_text(o)) {
    const std::string& s = *text;
    for (graph::Engine* e : graph::engines())
      if (e->name() == s) return device_of(*e);
    return select(s);
  }
  if (py::isinstance<PyDevice>(o)) return py::cast<std::shared_ptr<PyDevice>>(o);
  raise_no_device(o);
}

std::string chosen_device_name() {
  if (py::object block = block_device(); !block.is_none()) return to_device(py::none())->name();
  return default_device() ? default_device()->name() : "";
}

void forward_log() {
  auto messages = rt::take_log();
  if (messages.empty()) return;
  py::object logger = py::module_::import("logging").attr("getLogger")("wgtensor.wgpu");
  constexpr const char* methods[] = {"error", "error", "warning", "info", "debug", "debug"};
  for (const auto& [level, text] : messages)
    logger.attr(methods[level >= 0 && level <= 5 ? level : 0])("%s", text);
}

void init_device(py::module_& m) {
  py::class_<PyDevice, std::shared_ptr<PyDevice>> d(m, "Device",
                                                    "An adapter, and the logical device on it.");
  d.def(py::init([](py::object selector) {
          std::shared_ptr<PyDevice> dev;
          if (selector.is_none()) {
            dev = select_from_settings();
          } else if (auto text = selector_text(selector)) {
            dev = select(*text);
          } else {
            raise_no_device(selector);
          }
          dev->own = true;
          warn_of_unknown_variables();
          const rt::DeviceOptions options = options_from_settings();
          const graph::Tuning tuning = tuning_of(*dev->adapter, options);
          dev->engine_ =
              unlocked([&] { return graph::Engine::create(*dev->adapter, options, tuning); });
          forward_log();
          return dev;
        }),
        py::arg("selector") = py::none(),
        "A new logical device on the adapter that `selector` names (index, 'gpu:0', backend, "
        "'cpu', part of a name).\n\n"
        "Raises DeviceNotFoundError.");
  d.def_property_readonly(
      "name", [](PyDevice& s) { return s.adapter->name; }, "The adapter's name.");
  d.def_property_readonly("backend", [](PyDevice& s) { return s.adapter->backend; });
  d.def_property_readonly(
      "type", [](PyDevice& s) { return s.adapter->type; },
      "'discrete', 'integrated', 'virtual', 'cpu' or 'unknown'.");
  d.def_property_readonly("vendor", [](PyDevice& s) { return s.adapter->vendor; });
  d.def_property_readonly("driver", [](PyDevice& s) { return s.adapter->driver; });
  d.def_property_readonly("index", [](PyDevice& s) { return s.adapter->index; });
  d.def_property_readonly(
      "memory", [](PyDevice&) { return py::none(); }, "Bytes of device memory; None: unknown.");
  d.def_property_readonly(
      "limits",
      [](PyDevice& s) {
        return limits_dict(s.engine_ ? s.engine_->device().limits() : s.adapter->limits);
      },
      "The device's limits once it is made, else the adapter's.");
  d.def_property_readonly("features", [](PyDevice& s) {
    return features_list(s.engine_ ? s.engine_->device().features() : s.adapter->features);
  });
  d.def_property_readonly("lost",
                          [](PyDevice& s) { return s.engine_ && s.engine_->device().lost(); });
  d.def(
      "destroy",
      [](PyDevice& s) {
        graph::Engine& e = s.engine();
        unlocked([&] { e.destroy(); });
      },
      "Loses the device on purpose.");
  d.def(
      "recover",
      [](PyDevice& s) {
        graph::Engine& e = s.engine();
        unlocked([&] { e.recover(); });
      },
      "Makes a lost device anew; its tensors raise DeviceLostError. Does nothing for one that is "
      "well.");
  d.def(
      "synchronize",
      [](PyDevice& s) {
        graph::Engine& e = s.engine();
        unlocked([&] {
          rt::Lock l = e.lock();
          e.synchronize(l);
        });
        forward_log();
      },
      "Waits until all work is done.");
  d.def(
      "empty_cache",
      [](PyDevice& s) {
        graph::Engine& e = s.engine();
        unlocked([&] { e.empty_cache(); });
      },
      "Gives what nothing uses back to the driver and the system.");
  d.def(
      "__enter__",
      [](py::object self) {
        set_block_device(py::make_tuple(self, block_device()));
        return self;
      },
      "Until the end of the block it is the default device, of this thread or asyncio task.");
  d.def("__exit__", [](PyDevice&, const py::args&) {
    py::object block = block_device();
    if (block.is_none()) raise(ErrorKind::runtime, "[device] no block of a device is open here");
    set_block_device(py::tuple(block)[1]);
  });
  d.def("stats", &stats_dict, "Counters since the device was made, and bytes in use.");
  d.def("__str__", &PyDevice::name);
  d.def("__repr__", [](PyDevice& s) {
    return "Device('" + s.name() + "', name='" + s.adapter->name + "', backend='" +
           s.adapter->backend + "', type='" + s.adapter->type + "')";
  });
  d.def("__eq__", [](PyDevice& s, py::object o) {
    if (py::isinstance<py::str>(o)) return s.name() == py::cast<std::string>(o);
    if (!py::isinstance<PyDevice>(o)) return false;
    return s.name() == py::cast<PyDevice&>(o).name();
  });
  d.def("__hash__", [](PyDevice& s) { return py::hash(py::str(s.name())); });

  m.def(
      "devices",
      [] {
        py::list l;
        for (const rt::AdapterInfo& a :
             unlocked([]() -> const std::vector<rt::AdapterInfo>& { return rt::adapters(); }))
          l.append(std::make_shared<PyDevice>(PyDevice{&a, nullptr, false}));
        return l;
      },
      "Every adapter, best first.");
  m.def(
      "get_device", [](py::object o) { return to_device(o); }, py::arg("device"),
      "The shared device that a Device, a selector or None (the default) names.");
  m.def("default_device", [] { return to_device(py::none()); });
  m.def(
      "set_default_device",
      [](py::object o) { default_device() = o.is_none() ? nullptr : to_device(o); },
      py::arg("device"));
  m.def(
      "matmul_kernels",
      [](py::object o) {
        py::list names;
        for (const std::string& name : matmul_kernels(to_device(o)->engine())) names.append(name);
        return names;
      },
      py::arg("device") = py::none(),
      "The kernels of matrix products that the setting `kernels` may name.");
  m.def("wgpu_version", &rt::wgpu_version);
  m.def("set_log_level", &rt::set_log_level, py::arg("level"));
}

}  // namespace wgt::bind
