// What a device's memory is used for, as Python sees it.
#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

py::dict stats_of(py::handle device) {
  graph::Engine& e = to_device(device)->engine();
  rt::MemoryReport r = unlocked([&] { return e.memory(); });
  py::dict out;
  out["live"] = r.live;
  out["pooled"] = r.pooled;
  out["peak"] = r.peak;
  out["staging"] = r.staging_upload + r.staging_read;
  out["staging_upload"] = r.staging_upload;
  out["staging_read"] = r.staging_read;
  out["live_buffers"] = r.live_buffers;
  out["pooled_buffers"] = r.pooled_buffers;
  out["limit"] = r.limit ? py::object(py::int_(*r.limit)) : py::none();
  py::dict classes;
  for (const auto& [bytes, c] : r.classes) {
    py::dict row;
    row["live"] = c.live;
    row["pooled"] = c.pooled;
    classes[py::int_(bytes)] = row;
  }
  out["classes"] = classes;
  return out;
}

py::list buffers_of(py::handle device) {
  graph::Engine& e = to_device(device)->engine();
  py::list out;
  for (const rt::BufferReport& b : unlocked([&] { return e.buffers(); }))
    out.append(py::make_tuple(b.bytes, b.references, b.note ? py::cast(b.note->what) : py::none(),
                              b.note ? py::cast(b.note->line) : py::none()));
  return out;
}

}  // namespace

void init_memory(py::module_& m) {
  m.def("memory_stats", &stats_of, py::arg("device"));
  m.def("memory_buffers", &buffers_of, py::arg("device"),
        "Buffers in use: (bytes, references, what it was made for, line).");
  m.def(
      "set_memory_limit",
      [](uint64_t bytes, py::handle device) {
        graph::Engine& e = to_device(device)->engine();
        unlocked([&] { e.set_memory_limit(bytes); });
      },
      py::arg("bytes"), py::arg("device"), "0: no limit.");
  m.def(
      "reset_peak_memory",
      [](py::handle device) {
        graph::Engine& e = to_device(device)->engine();
        unlocked([&] { e.reset_peak(); });
      },
      py::arg("device"));
}

}  // namespace wgt::bind
