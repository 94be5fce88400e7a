  // What the lanes of an output have, in `acc` of its first lane.
//% if SUBGROUPS
  // Whole subgroups fold by shuffles, of any size; where one is larger than the workgroup, each lane is on its own.
  let whole = subgroup_size <= {{TR}}u;
  let width = select(1u, subgroup_size, whole);
  for (var half = width >> 1u; half > 0u; half = half >> 1u) {
    acc = {{FOLD}}(acc, rd_shuffle(acc, half));
  }
  if (!whole || place == 0u) { rd_part[select(lid.x, subgroup, whole)] = acc; }
  workgroupBarrier();
  if (lid.x == 0u) {
    acc = rd_part[0];
    for (var i = 1u; i < {{TR}}u / width; i += 1u) { acc = {{FOLD}}(acc, rd_part[i]); }
  }
//% elif TR > 1
  rd_part[lid.x] = acc;
  workgroupBarrier();
  for (var half = {{TR / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) {
//% if ROW
      rd_part[lid.x] = {{FOLD}}(rd_part[lid.x], rd_part[lid.x + half]);
//% else
      rd_part[lid.x] = {{FOLD}}(rd_part[lid.x], rd_part[lid.x + half * {{TO}}u]);
//% end
    }
    workgroupBarrier();
  }
  acc = rd_part[lid.x];
//% end
