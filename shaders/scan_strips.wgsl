// A tile by subgroups: each takes a region of four strips of it, in which neighbours read and write neighbours. Strips
// are scanned by shuffles; what subgroups have in all goes by workgroup memory, two halves of it in turn, so that one
// barrier is enough.
let region = base + subgroup * subgroup_size * 16u + place * 4u;
//% for j in 0..4
let r{{j}} = region + subgroup_size * {{4 * j}}u;
var v{{j}} = {{IDENTITYV}};
if (live && r{{j}} < mine) { v{{j}} = load(o, first + r{{j}}); }
//% end
//% for j in 0..4
let p{{4 * j}} = v{{j}}.x;
let p{{4 * j + 1}} = {{COMBINE}}(p{{4 * j}}, v{{j}}.y);
let p{{4 * j + 2}} = {{COMBINE}}(p{{4 * j + 1}}, v{{j}}.z);
let p{{4 * j + 3}} = {{COMBINE}}(p{{4 * j + 2}}, v{{j}}.w);
var run{{j}} = p{{4 * j + 3}};
//% end
for (var step = 1u; step < subgroup_size; step = step << 1u) {
//% for j in 0..4
  let far{{j}} = subgroupShuffleUp(run{{j}}, step);
  run{{j}} = select(run{{j}}, {{COMBINE}}(far{{j}}, run{{j}}), place >= step);
//% end
}
//% for j in 0..4
let near{{j}} = select(subgroupShuffleUp(run{{j}}, 1u), {{IDENTITY}}, place == 0u);
let total{{j}} = subgroupShuffle(run{{j}}, subgroup_size - 1u);
//% end
let strip0 = {{IDENTITY}};
let strip1 = total0;
let strip2 = {{COMBINE}}(total0, total1);
let strip3 = {{COMBINE}}(strip2, total2);
half = {{LANES}}u - half;
if (place == 0u) { sc_part[half + subgroup] = {{COMBINE}}(strip3, total3); }
workgroupBarrier();
var left = {{IDENTITY}};
var all = {{IDENTITY}};
for (var i = 0u; i < {{LANES}}u / subgroup_size; i += 1u) {
  if (i == subgroup) { left = all; }
  all = {{COMBINE}}(all, sc_part[half + i]);
}
let before = {{COMBINE}}(far, {{COMBINE}}(near, left));
near = {{COMBINE}}(near, all);
//% for j in 0..4
if (live && r{{j}} < mine) {
  let b{{j}} = {{COMBINE}}(before, {{COMBINE}}(strip{{j}}, near{{j}}));
  emit(o, first + r{{j}}, vec4<{{S}}>(
      {{COMBINE}}(b{{j}}, p{{4 * j}}), {{COMBINE}}(b{{j}}, p{{4 * j + 1}}),
      {{COMBINE}}(b{{j}}, p{{4 * j + 2}}), {{COMBINE}}(b{{j}}, p{{4 * j + 3}})));
}
//% end
