// One lane to a part of CHUNK elements of a row, for processors whose lanes have a cache of their own. STAGE 0 counts
// 8 bits of the keys, from FIRST on; STAGE 1 makes the totals of a row's digits sums of those before; STAGE 2 moves
// the elements to their places.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if STAGE != 1
//% include sort_keys.wgsl
//% end

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {
  let unit = id.z * nwg.x * {{LANES}}u + id.x;
//% if STAGE == 1
  if (unit < {{ROWS}}) {
    var sum = 0u;
    for (var d = 0u; d < 256u; d++) {
      let count = {{TOTALS}}[unit * 256u + d];
      {{TOTALS}}[unit * 256u + d] = sum;
      sum += count;
    }
  }
//% else
  let o = unit / {{TILES}};
  let tile = unit - o * {{TILES}};
  if (o < {{ROWS}}) {
    let column = o * 256u * {{TILES}} + tile;
    let start = tile * {{CHUNK}};
    let end = min(start + {{CHUNK}}, {{COUNT}});
//% if STAGE == 0
    for (var d = 0u; d < 256u; d++) { {{TABLE}}[column + d * {{TILES}}] = 0u; }
    for (var i = start; i < end; i++) {
      let at = column + digit_of(read_words(o, i), {{FIRST}}, 255u) * {{TILES}};
      {{TABLE}}[at] += 1u;
    }
//% else
    for (var i = start; i < end; i++) {
      let w = read_words(o, i);
//% if PLACES
      let was = read_place(o, i);
//% else
      let was = 0u;
//% end
      let d = digit_of(w, {{FIRST}}, 255u);
      let before = {{TABLE}}[column + d * {{TILES}}];
      {{TABLE}}[column + d * {{TILES}}] = before + 1u;
      write(o, {{TOTALS}}[o * 256u + d] + before, w, was);
    }
//% end
  }
//% end
}
