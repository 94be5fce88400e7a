// Softmax over rows: TR lanes to a row, TO rows to a workgroup. CACHE > 0: a lane keeps its CACHE values in
// registers and the row is read once; else a running maximum and sum, and a second read.
// A row of nothing but -inf gives zeros. LOG: the logarithm of all that, x - peak - log(sum); such a row keeps its -inf.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include row_sum.wgsl

fn row_max(at: u32, lane: u32, v: {{T}}) -> {{T}} {
  row_part[at] = v;
  workgroupBarrier();
  for (var half = {{TR / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) {
      row_part[at] = {{MAX}}(row_part[at], row_part[at + half]);
    }
    workgroupBarrier();
  }
  let r = row_part[at - lane];
  workgroupBarrier();
  return r;
}

@compute @workgroup_size({{TO * TR}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = lid.x % {{TR}}u;
  let o = (wid.z * nwg.x + wid.x) * {{TO}}u + lid.x / {{TR}}u;
  let live = o < {{ROWS}};
  let count = {{COUNT}};
  let low = {{V}}({{LOW}});
  var top = low;
//% if CACHE > 0
//% for i in 0..CACHE
  let r{{i}} = (lane + {{i * TR}}u) * {{RW}}u;
  var v{{i}} = low;
  if (live && r{{i}} < count) { v{{i}} = load(o, r{{i}}); }
  top = {{MAXV}}(top, v{{i}});
//% end
//% else
  var total = {{V}}(0.0);
  if (live) {
    // Eight steps a turn: llvmpipe ends the loops of an invocation after 65,535 turns in all.
    for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
      if (turn + {{i * TR * RW}}u < count) {
        let v = load(o, turn + {{i * TR * RW}}u);
        let next = {{MAXV}}(top, v);
        let base = select(next, {{V}}(0.0), next == low);
        total = total * {{EXPV}}(top - base) + {{EXPV}}(v - base);
        top = next;
      }
//% end
    }
  }
//% end
//% if RW == 4
  let peak = row_max(lid.x, lane, {{MAX}}({{MAX}}(top.x, top.y), {{MAX}}(top.z, top.w)));
//% else
  let peak = row_max(lid.x, lane, top);
//% end
  let shift = select(peak, {{T}}(0.0), peak == {{LOW}});
//% if CACHE > 0
  var total = {{V}}(0.0);
//% for i in 0..CACHE
//% if LOG
  v{{i}} = v{{i}} - {{V}}(shift);
  total = total + {{EXPV}}(v{{i}});
//% else
  v{{i}} = {{EXPV}}(v{{i}} - {{V}}(shift));
  total = total + v{{i}};
//% end
//% end
//% else
  total = total * {{EXPV}}(top - {{V}}(shift));
//% end
//% if RW == 4
  let sum = row_sum(lid.x, lane, (total.x + total.y) + (total.z + total.w));
//% else
  let sum = row_sum(lid.x, lane, total);
//% end
//% if LOG
  let scale = {{V}}(select({{LOGARITHM}}(sum), {{T}}(0.0), sum == {{T}}(0.0)));
//% else
  let scale = select({{T}}(1.0) / sum, {{T}}(0.0), sum == {{T}}(0.0));
//% end
  if (!live) { return; }
//% if CACHE > 0
//% for i in 0..CACHE
//% if LOG
  if (r{{i}} < count) { emit(o, r{{i}}, v{{i}} - scale); }
//% else
  if (r{{i}} < count) { emit(o, r{{i}}, v{{i}} * scale); }
//% end
//% end
//% else
  for (var turn = lane * {{RW}}u; turn < count; turn += {{8 * TR * RW}}u) {
//% for i in 0..8
    if (turn + {{i * TR * RW}}u < count) {
      let v = load(o, turn + {{i * TR * RW}}u) - {{V}}(shift);
//% if LOG
      emit(o, turn + {{i * TR * RW}}u, v - scale);
//% else
      emit(o, turn + {{i * TR * RW}}u, {{EXPV}}(v) * scale);
//% end
    }
//% end
  }
//% end
}
