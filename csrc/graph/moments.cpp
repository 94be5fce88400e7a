// Engine: moments in the device's stream, to be asked and waited for.
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

}  // namespace wgt::graph
