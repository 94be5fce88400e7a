  // Each piece leaves its results, then counts up; who comes last adds all of them up, in order, and goes on.
  // storageBarrier() orders that for the whole device in SPIR-V; atomics are seen by all of it.
  if (!is_whole) {
//% let WORDS = SUMS * LANES * 4
    let left = {{ZEROS}}u + at_tile * {{WORDS}}u + lane;
    let apart = {{REST}} * {{WORDS}}u;
    let mine = left + piece * apart;
//% if SPLIT > 1
    if (slice == 0u) {
//% else
    {
//% end
//% for r in 0..TM
//% for j in 0..TN / 4
//% for e in 0..4
      atomicStore(&{{PIECES}}[mine + {{((r * TN / 4 + j) * 4 + e) * LANES}}u], bitcast<u32>(sum_{{r}}_{{j}}[{{e}}]));
//% end
//% end
//% end
    }
    storageBarrier();
    workgroupBarrier();  // all have read the tile
    if (local == 0u) {
      let before = atomicAdd(&{{PIECES}}[at_tile], 1u);
      mm_tile[0] = vec4<{{T}}>({{T}}(before));
    }
    if (u32(workgroupUniformLoad(&mm_tile[0]).x) + 1u < {{COUNT}}) { return; }
    storageBarrier();
    if (local == 0u) { atomicStore(&{{PIECES}}[at_tile], 0u); }
//% if SPLIT > 1
    if (slice > 0u) { return; }
//% end
//% for r in 0..TM
//% for j in 0..TN / 4
    sum_{{r}}_{{j}} = vec4<{{T}}>();
//% end
//% end
    for (var n = 0u; n < {{COUNT}}; n++) {
      let place = left + n * apart;
//% for r in 0..TM
//% for j in 0..TN / 4
      sum_{{r}}_{{j}} += bitcast<vec4<{{T}}>>(vec4<u32>(
//% for e in 0..4
          atomicLoad(&{{PIECES}}[place + {{((r * TN / 4 + j) * 4 + e) * LANES}}u]),
//% end
      ));
//% end
//% end
    }
  }
