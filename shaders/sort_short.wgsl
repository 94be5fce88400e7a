// Sorts short rows, several to a workgroup: an element's place is the number of those before it.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
//% if BITS == 64
var<workgroup> so_keys: array<vec2<u32>, {{LANES}}>;
//% else
var<workgroup> so_keys: array<u32, {{LANES}}>;
//% end

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let row = lid.x / {{COUNT}};
  let r = lid.x - row * {{COUNT}};
  let o = (wid.z * nwg.x + wid.x) * {{TO}} + row;
  let live = row < {{TO}} && o < {{ROWS}};
  var w = vec2<u32>(0u);
  if (live) { w = read_words(o, r); }
  let k = key_of(w);
//% if BITS == 64
  so_keys[lid.x] = k;
//% else
  so_keys[lid.x] = k.x;
//% end
  workgroupBarrier();
  if (live) {
    let first = row * {{COUNT}};
    var before = 0u;
    for (var j = 0u; j < {{COUNT}}; j++) {
      let other = so_keys[first + j];
//% if BITS == 64
      let less = other.y < k.y || (other.y == k.y && (other.x < k.x || (other.x == k.x && j < r)));
//% else
      let less = other < k.x || (other == k.x && j < r);
//% end
      before += select(0u, 1u, less);
    }
    write(o, before, w, r);
  }
}
