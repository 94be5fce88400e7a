// Reduction: a workgroup is TO outputs by TR lanes. Each lane folds its share of the reduced elements, then the
// lanes of an output are folded as a tree. ROW: lanes run along the reduced elements, else outputs run first.
// With several splits each one folds a chunk, and a second kernel folds what they give.
{{DECLARATIONS}}
fn rd_combine(a: {{T}}, b: {{T}}) -> {{T}} {
  return {{COMBINE}};
}
{{FUNCTIONS}}
var<workgroup> rd_part: array<{{T}}, {{TO * TR}}>;

@compute @workgroup_size({{TO * TR}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
//% if ROW
  let lane = lid.x % {{TR}}u;
  let local = lid.x / {{TR}}u;
//% else
  let lane = lid.x / {{TO}}u;
  let local = lid.x % {{TO}}u;
//% end
  let o = ((wid.z * nwg.x + wid.x) * {{TO}}u + local) * {{OW}}u;
  let split = wid.y;
  var acc = {{T}}(bitcast<{{S}}>({{INIT}}));
  if (o < {{OUTS}}) {
    let end = min((split + 1u) * {{CHUNK}}, {{COUNT}});
    var r = split * {{CHUNK}} + lane * {{RW}}u;
    // Four loads in flight; the order of additions is fixed.
    loop {
      if (r + {{3 * TR * RW}}u >= end) { break; }
      let v0 = load(o, r);
      let v1 = load(o, r + {{TR * RW}}u);
      let v2 = load(o, r + {{2 * TR * RW}}u);
      let v3 = load(o, r + {{3 * TR * RW}}u);
      acc = rd_combine(acc, rd_combine(rd_combine(v0, v1), rd_combine(v2, v3)));
      r += {{4 * TR * RW}}u;
    }
    loop {
      if (r >= end) { break; }
      acc = rd_combine(acc, load(o, r));
      r += {{TR * RW}}u;
    }
  }
//% if TR > 1
  rd_part[lid.x] = acc;
  workgroupBarrier();
  for (var half = {{TR / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) {
//% if ROW
      rd_part[lid.x] = rd_combine(rd_part[lid.x], rd_part[lid.x + half]);
//% else
      rd_part[lid.x] = rd_combine(rd_part[lid.x], rd_part[lid.x + half * {{TO}}u]);
//% end
    }
    workgroupBarrier();
  }
  acc = rd_part[lid.x];
//% end
  if (lane == 0u && o < {{OUTS}}) {
//% if RW == 4
    rd_finish(split, o, rd_fold(acc));
//% else
    rd_finish(split, o, acc);
//% end
  }
}
