#include <algorithm>

#include "bindings/jit_recording.h"

namespace wgt::bind {

namespace {

Ref<autograd::Slot> slot_of_owner(py::handle owner, bool make) {
  autograd::Variable* v = as_tensor(owner)->variable();
  return v ? autograd::slot_of(*v, make) : Ref<autograd::Slot>();
}

}  // namespace

void meet_gradient(std::vector<MetGradient>& met, const Ref<autograd::Slot>& slot, bool reads) {
  for (const MetGradient& m : met)
    if (m.slot == slot) return;
  met.push_back({slot, gradient_in(*slot), reads});
}

py::object gradient_object(py::handle owner) {
  Ref<autograd::Slot> slot = slot_of_owner(owner, false);
  return slot ? gradient_in(*slot) : py::object(py::none());
}

bool GradientEffect::holds() const {
  return !read || gradient_object(owner).is_none() != was_there;
}

void GradientEffect::begin() const {
  if (read || what == keeps || what == known) return;
  if (auto slot = slot_of_owner(owner, false)) slot->grad.reset();
}

void GradientEffect::end(py::object made, const py::list& outputs,
                         const py::list& arguments) const {
  if (what == keeps) return;
  Ref<autograd::Slot> slot = slot_of_owner(owner, true);
  if (!slot) return;
  switch (what) {
    case clears:
      return slot->grad.reset();
    case output:
      return put_gradient(*slot, outputs[place]);
    case argument:
      return put_gradient(*slot, arguments[place]);
    default:
      return put_gradient(*slot, what == known ? object : std::move(made));
  }
}

int place_of(const py::list& list, py::handle o) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].ptr() == o.ptr()) return static_cast<int>(i);
  return -1;
}

bool is_met(const Recording& r, py::handle o) {
  return std::any_of(r.met.begin(), r.met.end(),
                     [&](const Met& m) { return m.object.ptr() == o.ptr(); });
}

namespace {

// The tensor that the function knows and whose gradient is in a slot; none: nobody else sees it.
py::object owner_of(const Recording& r, const Ref<autograd::Slot>& slot, const py::list& aliases) {
  for (const Met& m : r.met) {
    autograd::Variable* v = m.before.variable();
    if (v && autograd::slot_of(*v, false) == slot && place_of(aliases, m.object) < 0)
      return m.object;
  }
  return py::none();
}

}  // namespace

std::vector<GradientEffect> gradient_effects(const Recording& r, const py::list& outputs,
                                             const py::list& aliases,
                                             std::vector<graph::NodeRef>& results) {
  std::vector<GradientEffect> effects;
  for (const MetGradient& g : r.gradients) {
    GradientEffect e;
    e.owner = owner_of(r, g.slot, aliases);
    if (e.owner.is_none()) continue;
    e.read = g.read;
    e.was_there = !g.before.is_none();
    py::object now = gradient_in(*g.slot);
    int alias = place_of(aliases, now), output = place_of(outputs, now);
    if (now.is_none()) {
      e.what = GradientEffect::clears;
    } else if (alias >= 0 || (output >= 0 && !is_met(r, now))) {
      e.what = alias >= 0 ? GradientEffect::argument : GradientEffect::output;
      e.place = static_cast<size_t>(alias >= 0 ? alias : output);
    } else if (!now.is(g.before) && is_met(r, now)) {
      e.what = GradientEffect::known;
      e.object = now;
    } else if (!now.is(g.before)) {
      e.what = GradientEffect::fresh;
      results.push_back(as_tensor(now)->node());
    }
    effects.push_back(std::move(e));
  }
  return effects;
}

std::pair<py::object, bool> way_to(const Recording& r, const py::object& o,
                                   const py::list& aliases) {
  for (const MetGradient& g : r.gradients)
    if (g.before.is(o)) {
      py::object owner = owner_of(r, g.slot, aliases);
      if (!owner.is_none()) return {owner, true};
    }
  return {o, false};
}

}  // namespace wgt::bind
