// The place of each value in COUNT sorted elements by halving: SIDE 0 how many are less, 1 less or equal, 2 whether one
// is equal. TOP is the greatest power of two up to COUNT.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
//% if BITS == 64
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}
//% else
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.x < b.x;
}
//% end

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let r = (wid.z * nwg.x + wid.x) * 256u + lid.x;
  if (r < {{VALUES}}) {
    let k = key_of(value_words(r));
    var before = 0u;
    for (var step = {{TOP}}; step > 0u; step = step >> 1u) {
      let probe = min(before + step, {{COUNT}});
      let other = key_of(sorted_words(probe - 1u));
//% if SIDE == 1
      let passes = !is_less(k, other);
//% else
      let passes = is_less(other, k);
//% end
      before = select(before, before + step, passes && before + step <= {{COUNT}});
    }
//% if SIDE == 2
    let other = key_of(sorted_words(min(before, {{COUNT}} - 1u)));
    emit(r, select(0, 1, before < {{COUNT}} && all(other == k)));
//% else
    emit(r, bitcast<i32>(before));
//% end
  }
}
