// The sum of what lanes below have, and that of all WIDTH lanes, 256 of them where there are no SUBGROUPS. Between two
// calls lies a barrier.
//% if SUBGROUPS
// Lanes are numbered as subgroups are: number, size, place in it.
var<private> so_subgroup: vec3<u32>;

fn sum_before(lane: u32, value: u32) -> vec2<u32> {
  let before = subgroupExclusiveAdd(value);
  if (so_subgroup.z + 1u == so_subgroup.y) { so_sums[so_subgroup.x] = before + value; }
  workgroupBarrier();
  var sums = vec2<u32>(before, 0u);
  for (var i = 0u; i < {{WIDTH}}u / so_subgroup.y; i++) {
    let other = so_sums[i];
    sums += vec2<u32>(select(0u, other, i < so_subgroup.x), other);
  }
  return sums;
}
//% else
// Hillis and Steele's.
fn sum_before(lane: u32, value: u32) -> vec2<u32> {
  var run = value;
  so_sums[lane] = run;
  workgroupBarrier();
//% for s in 0..8
  if (lane >= (1u << {{s}}u)) { run += so_sums[{{s % 2 * 256}}u + lane - (1u << {{s}}u)]; }
  so_sums[{{(s + 1) % 2 * 256}}u + lane] = run;
  workgroupBarrier();
//% end
  return vec2<u32>(run - value, so_sums[255]);
}
//% end
