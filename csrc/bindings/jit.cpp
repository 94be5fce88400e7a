// wgtensor.jit: which Python objects a recording meets, and what each run does with them.
#include <pybind11/stl.h>

#include "bindings/jit_keys.h"
#include "bindings/jit_recording.h"
#include "tensor/hooks.h"

namespace wgt::bind {

namespace {

thread_local Recording* paused = nullptr;

Tensor& tensor_in(py::handle o) {
  return *as_tensor(o);
}

// What runs again, and where its inputs and results belong.
class Replay {
 public:
  Replay(graph::Engine& e, graph::Program p) : engine_(e), program_(std::move(p)) {}
  // Where the value of an input comes from: an argument, or an object that the function knows.
  struct Source {
    py::object object;      // none: the argument
    bool gradient = false;  // of the object
    size_t argument = 0;
    bool moves = false;
    bool detaches = false;  // its new value has no place on the tape
    bool requires_grad = false;
    Dims shape;
    DType dtype = DType::float32;
    uint64_t hooks = 0;  // of a leaf
  };
  // What a call gives: a new tensor, or an object that was there before.
  struct Output {
    py::object object;      // none: the argument, or the next result
    bool gradient = false;  // of the object
    int argument = -1;
    bool fresh = false;
  };
  std::vector<GradientEffect> gradients;
  std::vector<Source> sources;
  std::vector<Output> outputs;
  std::vector<Varying> varying;  // without nodes
  std::vector<size_t> varying_counts;

  bool holds() const {
    return std::all_of(gradients.begin(), gradients.end(), [](const auto& g) { return g.holds(); });
  }

  // Nothing where a tensor that the function knows has another shape or dtype than it had, or the
  // device is another one.
  py::object operator()(const py::list& arguments) {
    if (&engine_.device() != program_.device) return py::none();
    for (const Source& s : sources) {
      py::object o = object_of(s, arguments);
      if (o.is_none()) return o;
      const Tensor& t = tensor_in(o);
      if (!(t.shape() == s.shape) || t.dtype() != s.dtype || &t.engine() != &engine_ ||
          t.requires_grad() != s.requires_grad || autograd::hooks_version(t) != s.hooks)
        return py::none();
    }
    set_varying();
    return run(arguments);
  }

  // Moves tensors to the results; returns the outputs.
  py::object run(const py::list& arguments) {
    std::vector<graph::NodeRef> given, results;
    std::vector<bool> take;
    for (const Source& s : sources) {
      given.push_back(tensor_in(object_of(s, arguments)).node());
      take.push_back(s.moves);
    }
    for (const GradientEffect& g : gradients) g.begin();
    unlocked([&] {
      rt::Lock l = engine_.lock();
      results = engine_.run(program_, std::move(given), std::move(take));
    });
    size_t next = 0;
    for (const Source& s : sources) {
      if (!s.moves) continue;
      py::object o = object_of(s, arguments);
      Tensor& t = tensor_in(o);
      t.move_to(results[next++]);
      if (s.detaches) t = t.detached();
    }
    py::list out;
    for (const Output& o : outputs) {
      if (o.fresh)
        out.append(py::cast(Tensor(results[next++])));
      else if (o.argument >= 0)
        out.append(arguments[static_cast<size_t>(o.argument)]);
      else
        out.append(o.gradient ? gradient_object(o.object) : o.object);
    }
    for (const GradientEffect& g : gradients) {
      py::object made;
      if (g.what == GradientEffect::fresh) made = py::cast(Tensor(results[next++]));
      g.end(std::move(made), out, arguments);
    }
    return out;
  }

 private:
  // None: the gradient is not there.
  static py::object object_of(const Source& s, const py::list& arguments) {
    if (s.object.is_none()) return arguments[s.argument];
    return s.gradient ? gradient_object(s.object) : s.object;
  }

  void set_varying() {
    size_t at = 0;
    for (size_t i = 0; i < varying.size(); ++i) {
      const Varying& v = varying[i];
      py::object value = v.function();
      size_t end = at + varying_counts[i];
      for (size_t k = 0; at < end; ++at, ++k) {
        graph::Node* n = program_.varying[at].get();
        if (!n) continue;
        if (v.random) {
          auto pair = py::cast<std::pair<uint64_t, uint64_t>>(value);
          n->bits = pair.first;
          n->step = pair.second + v.behind[k];
        } else {
          n->bits = scalar_as_bits("jit", n->dtype, scalar_of("jit", value));
        }
      }
    }
  }

  graph::Engine& engine_;
  graph::Program program_;
};

Recording& current() {
  if (!recording) raise(ErrorKind::runtime, "[jit] nothing is recorded here");
  return *static_cast<Recording*>(recording);
}

void begin(py::handle device) {
  graph::Engine& e = to_device(device)->engine();
  unlocked([&] {
    rt::Lock l = e.lock();
    e.begin_trace();
  });
  recording = new Recording{&e, {}, {}, {}};
}

// Objects get back what they were before.
std::unique_ptr<Recording> end() {
  std::unique_ptr<Recording> r(&current());
  recording = nullptr;
  for (Met& m : r->met) tensor_in(m.object) = m.before;
  for (MetGradient& g : r->gradients) put_gradient(*g.slot, std::move(g.before));
  unlocked([&] {
    rt::Lock l = r->engine->lock();
    r->engine->end_trace();
  });
  return r;
}

void set_paused(bool value) {
  graph::Engine& e = *paused->engine;
  unlocked([&] {
    rt::Lock l = e.lock();
    e.pause_trace(value);
  });
}

// Whatever happens until resume() is as if nothing were recorded.
void pause() {
  if (!paused) {
    if (!recording) return;
    paused = &current();
    recording = nullptr;
    set_paused(true);
  }
  ++paused->pauses;
}

void resume() {
  if (!paused || --paused->pauses) return;
  set_paused(false);
  recording = std::exchange(paused, nullptr);
}

// A tensor that the function knows and is given, too, must not change: which of both is meant?
void check_known_arguments(const Recording& r, const std::vector<Replay::Source>& sources,
                           const py::list& arguments) {
  for (size_t i = 0; i < sources.size(); ++i) {
    int place = sources[i].object.is_none() ? -1 : place_of(arguments, r.met[i].object);
    for (const Replay::Source& s : sources)
      if (place >= 0 && s.object.is_none() && s.argument == static_cast<size_t>(place) &&
          (s.moves || sources[i].moves))
        raise(ErrorKind::runtime,
              "[jit] a tensor that changes in place is an argument and known to "
              "the function otherwise, too: give it one way");
  }
}

// Ends the recording. `aliases` stood for the arguments. Outputs are tensors.
std::shared_ptr<Replay> finish(const py::list& outputs, const py::list& aliases,
                               const py::list& arguments) {
  Recording& r = current();
  graph::Engine& e = *r.engine;
  std::vector<graph::NodeRef> results, inputs, varying;
  std::vector<Replay::Source> sources;
  std::vector<Replay::Output> outs;
  for (py::handle o : outputs) tensor_in(o);  // what is given back is met, if nothing else is
  for (const MetGradient& g : r.gradients)
    if (py::object now = gradient_in(*g.slot); !now.is_none()) tensor_in(now);
  for (Met& m : r.met) {
    Tensor& t = tensor_in(m.object);
    Replay::Source s;
    int argument = place_of(aliases, m.object);
    if (argument < 0)
      std::tie(s.object, s.gradient) = way_to(r, m.object, aliases);
    else
      s.object = py::none();
    s.argument = static_cast<size_t>(std::max(argument, 0));
    s.moves = t.node() != m.placeholder;
    s.detaches = t.variable() != m.before.variable();
    s.requires_grad = m.before.requires_grad();
    s.hooks = autograd::hooks_version(m.before);
    s.shape = m.placeholder->shape;
    s.dtype = m.placeholder->dtype;
    if (s.moves && (!(t.shape() == s.shape) || t.dtype() != s.dtype))
      raise(ErrorKind::runtime, "[jit] a tensor of shape " + to_string(s.shape) +
                                    " became one of " + to_string(t.shape()) + " in place");
    if (s.moves) results.push_back(t.node());
    inputs.push_back(m.placeholder);
    sources.push_back(std::move(s));
  }
  check_known_arguments(r, sources, arguments);
  for (py::handle o : outputs) {
    Replay::Output out;
    out.object = py::none();
    out.argument = place_of(aliases, o);
    if (out.argument < 0 && is_met(r, o))
      std::tie(out.object, out.gradient) =
          way_to(r, py::reinterpret_borrow<py::object>(o), aliases);
    out.fresh = out.argument < 0 && out.object.is_none();
    if (out.fresh) results.push_back(tensor_in(o).node());
    outs.push_back(std::move(out));
  }
  std::vector<GradientEffect> gradients = gradient_effects(r, outputs, aliases, results);
  std::vector<size_t> counts;
  for (Varying& v : r.varying) {
    varying.insert(varying.end(), v.nodes.begin(), v.nodes.end());
    counts.push_back(v.nodes.size());
    v.nodes.clear();
  }
  graph::Program program;
  unlocked([&] {
    rt::Lock l = e.lock();
    program = e.recorded(results, inputs, varying);
  });
  auto replay = std::make_shared<Replay>(e, std::move(program));
  replay->sources = std::move(sources);
  replay->outputs = std::move(outs);
  replay->gradients = std::move(gradients);
  replay->varying = std::move(r.varying);
  replay->varying_counts = std::move(counts);
  results.clear();
  end();
  return replay;
}

// Random numbers of this recording since `first`.
void collect_random(Recording& r) {
  if (r.varying.empty() || !r.varying.back().random) return;
  Varying& v = r.varying.back();
  unlocked([&] {
    rt::Lock l = r.engine->lock();
    const auto& all = r.engine->traced_random();
    for (size_t i = v.first_random + v.nodes.size(); i < all.size(); ++i) {
      v.nodes.push_back(all[i]);
      v.behind.push_back(all[i]->step - v.offset);
    }
  });
}

}  // namespace

thread_local void* recording = nullptr;

void meet_gradient(const Ref<autograd::Slot>& slot, bool reads) {
  meet_gradient(current().gradients, slot, reads);
}

void meet(py::handle o, Tensor& t) {
  Recording& r = current();
  if (t.node()->traced) return;
  if (&t.engine() != r.engine)
    raise(ErrorKind::device_mismatch, "[jit] the function runs on " + r.engine->name() +
                                          ", a tensor that it uses is on " + t.engine().name());
  Tensor before = t;
  graph::NodeRef placeholder;
  unlocked([&] {
    rt::Lock l = r.engine->lock();
    placeholder = r.engine->trace_input(before.node());
  });
  t.move_to(placeholder);
  r.met.push_back({py::reinterpret_borrow<py::object>(o), std::move(before), placeholder});
}

void init_jit(py::module_& m) {
  init_jit_keys(m);
  py::class_<Replay, std::shared_ptr<Replay>>(m, "Replay", "A recorded function.")
      .def("__call__", &Replay::operator(), py::arg("arguments"),
           "Runs it for other arguments of the same shapes and dtypes; None where a tensor that it "
           "knows has another shape now, or the device is a new one.")
      .def("holds", &Replay::holds, "Whether gradients are where they were while it was recorded.")
      .def("first", &Replay::run, py::arg("arguments"),
           "The same with numbers as they were while it was recorded.");
  m.def("trace_known", [] {
    py::list known;
    for (const Met& met : current().met) known.append(met.object);
    return known;
  });
  m.def("trace_begin", &begin, py::arg("device"), "Records what this thread does.");
  m.def(
      "trace_end",
      [](const py::list& outputs, const py::list& aliases, const py::list& arguments) {
        if (recording) collect_random(current());
        return finish(outputs, aliases, arguments);
      },
      py::arg("outputs"), py::arg("aliases"), py::arg("arguments"),
      "Ends the recording, in which aliases stood for arguments; gives what runs it again.");
  m.def(
      "trace_cancel", [] { end(); }, "Ends the recording; nothing has happened.");
  m.def("tracing", [] { return recording != nullptr; });
  m.def("trace_pause", &pause, "What follows is no part of this thread's recording.");
  m.def("trace_resume", &resume, "Ends what trace_pause() began.");
  m.def(
      "trace_number",
      [](py::object function, py::handle dtype) {
        Recording& r = current();
        collect_random(r);
        DType d = to_dtype(dtype);
        Scalar s = scalar_of("jit", function());
        Tensor t = unlocked([&] { return full(*r.engine, Dims(), s, d, "jit"); });
        r.varying.push_back({std::move(function), {t.node()}, {}, 0, 0, false});
        return made(std::move(t));
      },
      py::arg("function"), py::arg("dtype"),
      "A 0-d tensor of what `function` gives, now and for each run.");
  m.def(
      "trace_random",
      [](py::object function, uint64_t offset) {
        Recording& r = current();
        collect_random(r);
        size_t first = unlocked([&] {
          rt::Lock l = r.engine->lock();
          return r.engine->traced_random().size();
        });
        r.varying.push_back({std::move(function), {}, {}, first, offset, true});
      },
      py::arg("function"), py::arg("offset"),
      "Random numbers made until the next call begin at (seed, offset) as `function` gives them.");
}

}  // namespace wgt::bind
