// Folds of rows that belong to one segment each, in order of segments. A lane takes a block of BLOCK rows, of one element,
// and folds runs of one segment. What lies between others in its block is whole: it goes to the result. The first and
// the last run may go on in the blocks beside: they become two rows for the next kernel, of the same form. LAST: one
// block is all there is.
{{DECLARATIONS}}
{{FUNCTIONS}}
@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = (wid.z * nwg.x + wid.x) * {{LANES}}u + lid.x;
  let block = lane / {{ELEMENTS}};
  let o = lane - block * {{ELEMENTS}};
  let first = block * {{BLOCK}}u;
  if (first >= {{COUNT}}) { return; }
  let stop = min(first + {{BLOCK}}u, {{COUNT}});
  var segment = segment_of(first, o);
  var total = load(first, o);
  var runs = 0u;
  for (var r = first + 1u; r < stop; r += 1u) {
    let next = segment_of(r, o);
    let v = load(r, o);
    if (next == segment) {
      total = {{COMBINE}}(total, v);
    } else {
//% if LAST
      finish(segment, o, total);
//% else
      if (runs == 0u) {
        keep(2u * block, o, segment, total);
      } else {
        finish(segment, o, total);
      }
//% end
      runs += 1u;
      segment = next;
      total = v;
    }
  }
//% if LAST
  finish(segment, o, total);
//% else
  if (runs == 0u) {
    keep(2u * block, o, segment, total);
    total = {{IDENTITY}};
  }
  keep(2u * block + 1u, o, segment, total);
//% end
}
