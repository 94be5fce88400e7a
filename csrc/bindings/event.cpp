// Events, as Python sees them.
#include <pybind11/stl.h>

#include <cmath>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

struct Event {
  graph::Engine* engine = nullptr;
  std::optional<graph::Engine::Moment> moment;
};

std::optional<double> seconds_of(py::handle timeout) {
  if (timeout.is_none()) return std::nullopt;
  double seconds = to_real("wait", "timeout", timeout);
  if (std::isnan(seconds)) raise(ErrorKind::value, "[wait] a timeout is no number: nan");
  return seconds;
}

}  // namespace

void init_event(py::module_& m) {
  py::class_<Event>(
      m, "Event",
      "A moment in a device's work: behind all that was asked for before record().\n\n"
      "An event that was never recorded has passed.")
      .def(py::init([](py::handle device) {
             return Event{&to_device(device)->engine(), std::nullopt};
           }),
           py::arg("device") = py::none(), "Raises DeviceNotFoundError.")
      .def(
          "record",
          [](py::object self) {
            Event& e = py::cast<Event&>(self);
            graph::Engine& engine = *e.engine;
            e.moment = unlocked([&] { return engine.record(); });
            forward_log();
            return self;
          },
          "Starts the work that waits, and marks its end. Does not wait; returns the event.")
      .def(
          "query",
          [](Event& e) {
            if (!e.moment) return true;
            Event copy = e;
            return unlocked([&] { return copy.engine->passed(*copy.moment); });
          },
          "Whether the work before the event is done. Raises DeviceLostError.")
      .def(
          "wait",
          [](Event& e, py::handle timeout) {
            std::optional<double> seconds = seconds_of(timeout);
            if (!e.moment) return true;
            Event copy = e;
            bool passed = unlocked([&] { return copy.engine->wait(*copy.moment, seconds); });
            forward_log();
            return passed;
          },
          py::arg("timeout") = py::none(),
          "Waits until the work before the event is done: True; or for `timeout` seconds: "
          "False.\n\n"
          "Raises DeviceLostError.")
      .def_property_readonly(
          "device", [](Event& e) { return device_of(*e.engine); }, "The device that it is of.");
}

}  // namespace wgt::bind
