// Reduction: a workgroup is TO outputs by TR lanes. Each lane folds its share of the reduced elements, then the
// lanes of an output are folded as a tree. ROW: lanes run along the reduced elements, else outputs run first.
// With several splits each one folds a chunk; what they give is folded by the last of their workgroups (MEET), or
// by a second kernel.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if TR > 1
var<workgroup> rd_part: array<{{TREE}}, {{TO * TR}}>;
//% end
//% if BOOLS > 0
var<workgroup> rd_flags: array<u32, {{TO}}>;
//% end
//% if MEET
var<workgroup> rd_before: u32;
//% end

@compute @workgroup_size({{TO * TR}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
//% if SUBGROUPS
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place: u32,
//% end
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
  let first = split * {{CHUNK}};
  let mine = select(0u, min({{COUNT}} - first, {{CHUNK}}), o < {{OUTS}});
  var total = {{IDENTITY}};
  var at = lane * {{RW}}u;
  // Four loads in flight, and blocks of 64 turns: the error of a sum grows with the root of the
  // number of a lane's turns. The order of operations is fixed.
  loop {
    if (at + {{3 * TR * RW}}u >= mine) { break; }
    var block = {{IDENTITY}};
    for (var turn = 0u; turn < 64u; turn += 1u) {
      if (at + {{3 * TR * RW}}u >= mine) { break; }
      let r = first + at;
      let v0 = load(o, r);
      let v1 = load(o, r + {{TR * RW}}u);
      let v2 = load(o, r + {{2 * TR * RW}}u);
      let v3 = load(o, r + {{3 * TR * RW}}u);
      block = {{COMBINE}}(block, {{COMBINE}}({{COMBINE}}(v0, v1), {{COMBINE}}(v2, v3)));
      at += {{4 * TR * RW}}u;
    }
    total = {{COMBINE}}(total, block);
  }
  loop {
    if (at >= mine) { break; }
    total = {{COMBINE}}(total, load(o, first + at));
    at += {{TR * RW}}u;
  }
//% if RW == 4
  var acc = rd_fold(total);
//% else
  var acc = total;
//% end
//% include reduce_tree.wgsl
//% if MEET
  // Each split leaves what it has, then counts up; who comes last folds all of them, in order.
  let group = wid.z * nwg.x + wid.x;
  let left = {{ZEROS}}u + group * {{SPLITS}} * {{LEAVES}}u + local;
  if (lane == 0u) { rd_leave(left + split * {{LEAVES}}u, acc); }
  storageBarrier();
  if (lid.x == 0u) { rd_before = atomicAdd(&{{WORKSPACE}}[group], 1u); }
  if (workgroupUniformLoad(&rd_before) + 1u < {{SPLITS}}) { return; }
  storageBarrier();
  if (lid.x == 0u) { atomicStore(&{{WORKSPACE}}[group], 0u); }
  acc = {{FOLD_IDENTITY}};
  var next = lane;
  // As above, in blocks of 16 turns: there are at most 4096 splits.
  loop {
    if (next + {{3 * TR}}u >= {{SPLITS}}) { break; }
    var block = {{FOLD_IDENTITY}};
    for (var turn = 0u; turn < 16u; turn += 1u) {
      if (next + {{3 * TR}}u >= {{SPLITS}}) { break; }
      let at = left + next * {{LEAVES}}u;
      let a0 = rd_found(at);
      let a1 = rd_found(at + {{TR * LEAVES}}u);
      let a2 = rd_found(at + {{2 * TR * LEAVES}}u);
      let a3 = rd_found(at + {{3 * TR * LEAVES}}u);
      block = {{FOLD}}(block, {{FOLD}}({{FOLD}}(a0, a1), {{FOLD}}(a2, a3)));
      next += {{4 * TR}}u;
    }
    acc = {{FOLD}}(acc, block);
  }
  loop {
    if (next >= {{SPLITS}}) { break; }
    acc = {{FOLD}}(acc, rd_found(left + next * {{LEAVES}}u));
    next += {{TR}}u;
  }
  {
//% include reduce_tree.wgsl
  }
//% end
//% if BOOLS > 0
  // Packed results share words: one lane writes those of four.
  if (lane == 0u) {
    rd_flags[local] = 0u;
    if (o < {{OUTS}}) { rd_flags[local] = rd_finish(split, o, acc); }
  }
  workgroupBarrier();
  if (lane == 0u && local % 4u == 0u && o < {{OUTS}}) {
    let f0 = rd_flags[local];
//% if TO > 1
    let f1 = rd_flags[local + 1u];
    let f2 = rd_flags[local + 2u];
    let f3 = rd_flags[local + 3u];
//% else
    let f1 = 0u;
    let f2 = 0u;
    let f3 = 0u;
//% end
{{WORDS}}
  }
//% else
  if (lane == 0u && o < {{OUTS}}) { rd_finish(split, o, acc); }
//% end
}
