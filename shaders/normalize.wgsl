// Rows less their mean, over their deviation, or over their root mean square: TR lanes to a row, TO rows to a workgroup.
// BACK: instead the gradient g of such rows y by what was normalized, (g - mean(g) - y mean(g y)) / deviation; without
// MEAN that of g y alone. CACHE > 0: a lane keeps its CACHE values in registers, and rows are read once; else once for
// each sum.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include row_sum.wgsl

fn nz_lanes(v: {{V}}) -> {{T}} {
//% if RW == 4
  return (v.x + v.y) + (v.z + v.w);
//% else
  return v;
//% end
}

@compute @workgroup_size({{TO * TR}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = lid.x % {{TR}}u;
  let o = (wid.z * nwg.x + wid.x) * {{TO}}u + lid.x / {{TR}}u;
  let live = o < {{ROWS}};
  let count = {{COUNT}};
  let number = {{T}}(count);
  let none = {{V}}(0.0);
//% if CACHE > 0
//% for i in 0..CACHE
  let r{{i}} = (lane + {{i * TR}}u) * {{RW}}u;
  let in{{i}}_row = live && r{{i}} < count;
  var x{{i}} = none;
  if (in{{i}}_row) { x{{i}} = load(o, r{{i}}); }
//% if BACK
  var g{{i}} = none;
  if (in{{i}}_row) { g{{i}} = load_gradient(o, r{{i}}); }
//% end
//% end
//% end
  var sum = none;
//% if MEAN
//% if CACHE > 0
//% for i in 0..CACHE
  sum = sum + x{{i}};
//% end
//% else
  if (live) {
    for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
      if (turn + {{i * TR * RW}}u < count) { sum = sum + load(o, turn + {{i * TR * RW}}u); }
//% end
    }
  }
//% end
  let mean = {{V}}({{DIV}}(row_sum(lid.x, lane, nz_lanes(sum)), number));
  sum = none;
//% end
//% if CACHE > 0
//% for i in 0..CACHE
//% if MEAN
  x{{i}} = select(none, x{{i}} - mean, in{{i}}_row);
//% end
  sum = sum + x{{i}} * x{{i}};
//% end
//% else
  if (live) {
    for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
      if (turn + {{i * TR * RW}}u < count) {
//% if MEAN
        let d = load(o, turn + {{i * TR * RW}}u) - mean;
//% else
        let d = load(o, turn + {{i * TR * RW}}u);
//% end
        sum = sum + d * d;
      }
//% end
    }
  }
//% end
  let variance = {{DIV}}(row_sum(lid.x, lane, nz_lanes(sum)), number);
  let scale = {{V}}({{RSQRT}}(variance + {{EPS}}));
//% if BACK
  var product = none;
//% if MEAN
  var total = none;
//% end
//% if CACHE > 0
//% for i in 0..CACHE
  x{{i}} = x{{i}} * scale;
  product = product + g{{i}} * x{{i}};
//% if MEAN
  total = total + g{{i}};
//% end
//% end
//% else
  if (live) {
    for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
      if (turn + {{i * TR * RW}}u < count) {
        let g = load_gradient(o, turn + {{i * TR * RW}}u);
//% if MEAN
        product = product + g * ((load(o, turn + {{i * TR * RW}}u) - mean) * scale);
        total = total + g;
//% else
        product = product + g * (load(o, turn + {{i * TR * RW}}u) * scale);
//% end
      }
//% end
    }
  }
//% end
  let share = {{V}}({{DIV}}(row_sum(lid.x, lane, nz_lanes(product)), number));
//% if MEAN
  let offset = {{V}}({{DIV}}(row_sum(lid.x, lane, nz_lanes(total)), number));
//% end
//% end
  if (!live) { return; }
//% if CACHE > 0
//% for i in 0..CACHE
//% if BACK
//% if MEAN
  if (r{{i}} < count) { emit(o, r{{i}}, (g{{i}} - offset - x{{i}} * share) * scale); }
//% else
  if (r{{i}} < count) { emit(o, r{{i}}, (g{{i}} - x{{i}} * share) * scale); }
//% end
//% else
  if (r{{i}} < count) { emit(o, r{{i}}, x{{i}} * scale); }
//% end
//% end
//% else
  for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
    if (turn + {{i * TR * RW}}u < count) {
//% if MEAN
      let y = (load(o, turn + {{i * TR * RW}}u) - mean) * scale;
//% else
      let y = load(o, turn + {{i * TR * RW}}u) * scale;
//% end
//% if BACK
      let g = load_gradient(o, turn + {{i * TR * RW}}u);
//% if MEAN
      emit(o, turn + {{i * TR * RW}}u, (g - offset - y * share) * scale);
//% else
      emit(o, turn + {{i * TR * RW}}u, (g - y * share) * scale);
//% end
//% else
      emit(o, turn + {{i * TR * RW}}u, y);
//% end
    }
//% end
  }
//% end
}
