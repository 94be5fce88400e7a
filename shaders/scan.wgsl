// Inclusive scan along rows: TR lanes to a row, TO rows to a workgroup. A tile is TR times 4 steps of RW elements: each
// lane scans its own, then the lanes' totals are scanned (Kogge and Stone), then what came before is added. STRIPS: by
// subgroups, where a workgroup has one row.
// Long rows take three kernels. STAGE 1: the total of each chunk. STAGE 0 then scans the totals, and STAGE 2 scans
// the chunks from there; for other rows STAGE 0 is all there is.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% let LANES = TO * TR
//% if TR > 1
var<workgroup> sc_part: array<{{S}}, {{2 * LANES}}>;
//% end

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
//% if STRIPS
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place: u32,
//% end
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = lid.x % {{TR}}u;
  let o = (wid.z * nwg.x + wid.x) * {{TO}}u + lid.x / {{TR}}u;
  let live = o < {{ROWS}};
  let first = wid.y * {{CHUNK}};
  let mine = min({{COUNT}} - first, {{CHUNK}});
  var far = {{IDENTITY}};
//% if STAGE == 2
  if (live) { far = before_chunk(o, wid.y); }
//% end
  var base = 0u;
//% if STRIPS
  var half = 0u;
//% end
  // Blocks of 64 tiles: errors of sums grow with the root of the number of tiles.
  loop {
    if (base >= mine) { break; }
    let stop = min(mine, base + {{64 * TR * 4 * RW}}u);
    var near = {{IDENTITY}};
    for (; base < stop; base += {{TR * 4 * RW}}u) {
//% if STRIPS
//% include scan_strips.wgsl
//% else
//% if STAGE == 1
      // Order does not count for a total: neighbours read neighbours.
      let r = base + lane * {{RW}}u;
//% let STRIDE = TR * RW
//% else
      let r = base + lane * {{4 * RW}}u;
//% let STRIDE = RW
//% end
//% for j in 0..4
      var v{{j}} = {{IDENTITYV}};
      if (live && r + {{j * STRIDE}}u < mine) { v{{j}} = load(o, first + r + {{j * STRIDE}}u); }
//% end
//% for j in 0..4
//% if RW == 4
//% if j == 0
      let p0 = v0.x;
//% else
      let p{{4 * j}} = {{COMBINE}}(p{{4 * j - 1}}, v{{j}}.x);
//% end
      let p{{4 * j + 1}} = {{COMBINE}}(p{{4 * j}}, v{{j}}.y);
      let p{{4 * j + 2}} = {{COMBINE}}(p{{4 * j + 1}}, v{{j}}.z);
      let p{{4 * j + 3}} = {{COMBINE}}(p{{4 * j + 2}}, v{{j}}.w);
//% elif j == 0
      let p0 = v0;
//% else
      let p{{j}} = {{COMBINE}}(p{{j - 1}}, v{{j}});
//% end
//% end
//% let LAST = 4 * RW - 1
//% if STAGE == 1
      near = {{COMBINE}}(near, p{{LAST}});
//% else
//% if TR == 1
      let before = {{COMBINE}}(far, near);
      near = {{COMBINE}}(near, p{{LAST}});
//% else
      // Two buffers in turn, and an odd number of turns: what is read last is written again after a barrier only.
      var run = p{{LAST}};
      sc_part[lid.x] = run;
      workgroupBarrier();
//% for s in 0..LOG
      if (lane >= (1u << {{s}}u)) {
        run = {{COMBINE}}(sc_part[{{s % 2 * LANES}}u + lid.x - (1u << {{s}}u)], run);
      }
      sc_part[{{(s + 1) % 2 * LANES}}u + lid.x] = run;
      workgroupBarrier();
//% end
      var left = near;
      if (lane > 0u) { left = {{COMBINE}}(near, sc_part[{{LANES}}u + lid.x - 1u]); }
      let before = {{COMBINE}}(far, left);
      near = {{COMBINE}}(near, sc_part[{{LANES}}u + lid.x - lane + {{TR - 1}}u]);
//% end
//% for j in 0..4
      if (live && r + {{j * RW}}u < mine) {
//% if RW == 4
        emit(o, first + r + {{4 * j}}u, vec4<{{S}}>(
            {{COMBINE}}(before, p{{4 * j}}), {{COMBINE}}(before, p{{4 * j + 1}}),
            {{COMBINE}}(before, p{{4 * j + 2}}), {{COMBINE}}(before, p{{4 * j + 3}})));
//% else
        emit(o, first + r + {{j}}u, {{COMBINE}}(before, p{{j}}));
//% end
      }
//% end
//% end
//% end
    }
    far = {{COMBINE}}(far, near);
  }
//% if STAGE == 1
//% if TR > 1
  sc_part[lid.x] = far;
  workgroupBarrier();
  for (var half = {{TR / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) { sc_part[lid.x] = {{COMBINE}}(sc_part[lid.x], sc_part[lid.x + half]); }
    workgroupBarrier();
  }
  far = sc_part[lid.x];
//% end
  if (live && lane == 0u) { keep_total(o, wid.y, far); }
//% end
}
