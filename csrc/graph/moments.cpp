// Engine: moments in the device's stream, to be asked and waited for; what went with a device.
#include "graph/engine.h"

namespace wgt::graph {

Engine::Moment Engine::record() {
  rt::Lock l = lock();
  flush({});
  device().submit();
  return {&device(), device().submitted()};
}

// A device that is lost stays for as long as its engine: a moment of it raises.
bool Engine::passed(const Moment& m) {
  if (m.device != &device()) m.device->check();
  rt::Lock l = lock();
  return m.device->done(m.submission);
}

bool Engine::wait(const Moment& m, std::optional<double> seconds) {
  if (m.device != &device()) m.device->check();
  rt::Lock l(m.device->mutex());
  if (rt::must_stop()) [[unlikely]]
    rt::stop(l);
  return m.device->wait(m.submission, seconds, l);
}

bool Engine::is_lost(Node& n) {
  resolve(n);
  if (device().lost()) return true;
  if (n.kind == NodeKind::failed) return n.error->kind == ErrorKind::device_lost;
  return n.kind == NodeKind::leaf && n.buffer && n.buffer->device != &device();
}

}  // namespace wgt::graph
