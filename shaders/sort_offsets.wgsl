// Counts of a digit in the parts of a row become sums of those in the parts before; the sum of all is kept, too. Lines
// are the digits of all rows: each has a workgroup or, if SERIAL, a lane.
{{DECLARATIONS}}
//% if SERIAL
@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {
  let line = id.z * nwg.x * {{LANES}}u + id.x;
  if (line < {{LINES}}) {
    var sum = 0u;
    for (var i = 0u; i < {{TILES}}; i++) {
      let count = {{TABLE}}[line * {{TILES}} + i];
      {{TABLE}}[line * {{TILES}} + i] = sum;
      sum += count;
    }
    {{TOTALS}}[line] = sum;
  }
}
//% else
var<workgroup> so_sums: array<u32, 512>;
//% let WIDTH = 256
//% include sort_sums.wgsl

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
//% if SUBGROUPS
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place_in_subgroup: u32,
//% end
        @builtin(num_workgroups) nwg: vec3<u32>) {
//% include sort_lane.wgsl
  let line = wid.z * nwg.x + wid.x;
  let live = line < {{LINES}};
  var sum = 0u;
  for (var first = 0u; first < {{TILES}}; first += 1024u) {
    // Four in a row for each lane.
    let i = first + lane * 4u;
//% for j in 0..4
    var c{{j}} = 0u;
    if (live && i + {{j}}u < {{TILES}}) { c{{j}} = {{TABLE}}[line * {{TILES}} + i + {{j}}u]; }
//% end
    let sums = sum_before(lane, c0 + c1 + c2 + c3);
    var run = sum + sums.x;
    sum += sums.y;
//% for j in 0..4
    if (live && i + {{j}}u < {{TILES}}) { {{TABLE}}[line * {{TILES}} + i + {{j}}u] = run; }
    run += c{{j}};
//% end
    workgroupBarrier();
  }
  if (live && lane == 0u) { {{TOTALS}}[line] = sum; }
}
//% end
