// A sum over the TR lanes of a row, as a tree; `at` is the lane in the workgroup, of TO rows.
var<workgroup> row_part: array<{{T}}, {{TO * TR}}>;

fn row_sum(at: u32, lane: u32, v: {{T}}) -> {{T}} {
  row_part[at] = v;
  workgroupBarrier();
  for (var half = {{TR / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) {
      row_part[at] = row_part[at] + row_part[at + half];
    }
    workgroupBarrier();
  }
  let r = row_part[at - lane];
  workgroupBarrier();
  return r;
}
