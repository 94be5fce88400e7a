// One lane to a row, for processors whose lanes have a cache of their own: pairs are put in order, then runs are merged
// (bottom up) from one half of the items to the other, and the last time to the result. Equal keys come from the left
// run first.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
//% if BITS == 64
  return a.y < b.y || (a.y == b.y && a.x < b.x);
//% else
  return a.x < b.x;
//% end
}

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {
  let o = id.z * nwg.x * {{LANES}}u + id.x;
  if (o >= {{ROWS}}) { return; }
  let count = {{COUNT}};
  var here = o * count;
  var there = ({{ROWS}} + o) * count;
  for (var r = 0u; r < count; r += 2u) {
    let second = min(r + 1u, count - 1u);
    let a = read_words(o, r);
    let b = read_words(o, second);
    let swap = is_less(key_of(b), key_of(a));
    keep(here + r, select(a, b, swap), select(r, second, swap));
    if (second > r) { keep(here + second, select(b, a, swap), select(second, r, swap)); }
  }
  var width = 2u;
//% for last in 0..2
//% if last == 0
  for (; width * 2u < count; width = width << 1u) {
//% else
  {
//% end
    for (var start = 0u; start < count; start += 2u * width) {
      let middle = min(start + width, count);
      let end = min(middle + width, count);
      var i = start;
      var j = middle;
      var a = kept(here + i);
      var b = kept(here + min(j, count - 1u));
      var key_a = key_of(a);
      var key_b = key_of(b);
      for (var k = start; k < end; k += 1u) {
        let left = j >= end || (i < middle && !is_less(key_b, key_a));
        let was = kept_place(here + select(j, i, left), select(j, i, left));
//% if last == 0
        keep(there + k, select(b, a, left), was);
//% else
        write(o, k, select(b, a, left), was);
//% end
        i += select(0u, 1u, left);
        j += select(1u, 0u, left);
        let next = kept(here + min(select(j, i, left), count - 1u));
        let key = key_of(next);
        a = select(a, next, left);
        b = select(next, b, left);
        key_a = select(key_a, key, left);
        key_b = select(key, key_b, left);
      }
    }
//% if last == 0
    let other = here;
    here = there;
    there = other;
//% end
  }
//% end
}
