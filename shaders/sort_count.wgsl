// How often each value of 8 bits of the keys, from FIRST on, occurs in each tile of 256 * K elements.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
//% let TILE = 256 * K
// Four counters for each digit: lanes that have the same one would wait for another.
var<workgroup> so_counts: array<atomic<u32>, 1024>;

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = lid.x;
//% include sort_part.wgsl
//% for c in 0..4
  atomicStore(&so_counts[{{c * 256}}u + lane], 0u);
//% end
  workgroupBarrier();
  // All reads are on their way before the first is counted.
//% for j in 0..K
  var d{{j}} = 0u;
  if ({{j * 256}}u + lane < mine) {
    d{{j}} = digit_of(read_words(o, start + {{j * 256}}u + lane), {{FIRST}}, 255u);
  }
//% end
//% for j in 0..K
  if ({{j * 256}}u + lane < mine) { atomicAdd(&so_counts[d{{j}} * 4u + (lane & 3u)], 1u); }
//% end
  workgroupBarrier();
  var count = 0u;
//% for c in 0..4
  count += atomicLoad(&so_counts[lane * 4u + {{c}}u]);
//% end
  if (live) { keep_count(o, lane, tile, count); }
}
