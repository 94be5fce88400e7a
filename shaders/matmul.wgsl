// C[b, r, c] = sum over k of A[b, r, k] * B[b, k, c], tile by tile through workgroup memory.
//
// A workgroup computes BM x BN results, a thread TM x TN of them, in steps of BK along k. SPLIT slices
// of threads share one tile and take a part of each step; their sums meet at the end. Both operands lie
// K-major in workgroup memory (four rows of A, or four columns of B, to a vec4), so that the inner loop
// reads vec4 only; of float16 two steps lie side by side, so that sums go by pairs without any being
// spread. After every four steps of an operand that is transposed on the way lies a gap, which
// sends the neighbours' writes to different banks. A thread's rows and columns come in groups of four, spread over the tile: neighbours
// read neighbouring vec4s.
//
// No read is out of bounds: rows and columns beyond the matrix are clamped into it (their results are
// never written), and beyond the end of k (only where GUARD_K says so) both operands read as zero.
//% let TX = BN / TN
//% let TY = BM / TM
//% let LANES = TX * TY
//% let THREADS = LANES * SPLIT
//% let SLICE = BK / SPLIT
//% let ROW_0 = BM / 4
//% let ROW_1 = BN / 4
//% let DEEP = HALF ? 2 : 1
//% let TILE_0 = BK / DEEP * ROW_0 + BK / 4 * GAP_0
//% let STAGE = TILE_0 + BK / DEEP * ROW_1 + BK / 4 * GAP_1
//% let SUMS = TM * TN / 4
//% let REDUCE = (SPLIT - 1) * SUMS * LANES
{{DECLARATIONS}}
//% if HALF
// Two steps of four rows (or columns): of the first, the first, then the second step; of the second one; and so on.
struct MmPairs {
  first: vec4<f16>,
  second: vec4<f16>,
}
var<workgroup> mm_tile: array<MmPairs, {{STAGE}}>;
//% else
var<workgroup> mm_tile: array<vec4<{{T}}>, {{STAGE > REDUCE ? STAGE : REDUCE}}>;
//% end

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let tiles_m = (p.m + {{BM - 1}}u) / {{BM}}u;
  let tiles_n = (p.n + {{BN - 1}}u) / {{BN}}u;
//% if CUT
//% if MEET
  // A whole tile, or a piece of k of one of the last ones.
  let is_whole = group.x < {{FIRST}};
  let cut = select(group.x - {{FIRST}}, 0u, is_whole);
  let at_tile = cut % {{REST}};
  let piece = cut / {{REST}};
  let tile = select({{FIRST}} + at_tile, group.x, is_whole);
//% else
  // A piece of k of one of the last tiles.
  let at_tile = group.x % {{REST}};
  let piece = group.x / {{REST}};
  let tile = {{FIRST}} + at_tile;
//% end
  let batch = 0u;
//% elif FOLD == 1
  let tile = group.x + group.y * groups.x;
  let batch = group.z;
  if (tile >= tiles_m * tiles_n) { return; }
//% elif FOLD == 2
  let tile = group.x;
  let batch = group.y + group.z * groups.y;
  if (batch >= p.batch) { return; }
//% else
  let tile = group.x;
  let batch = group.z;
//% end
  let offsets = batch_offset(batch);
//% if CUT
  let begin = piece * {{LENGTH}};
  let off_0 = offsets.x + begin * p.a_cs;
  let off_1 = offsets.y + begin * p.b_rs;
//% if MEET
  let depth = select(min(p.k - begin, {{LENGTH}}), p.k, is_whole);
//% else
  let depth = min(p.k - begin, {{LENGTH}});
//% end
//% else
  let off_0 = offsets.x;
  let off_1 = offsets.y;
//% if UNEVEN
  let depth = depth_of(batch);
//% else
  let depth = p.k;
//% end
//% end
  let xn_0 = p.m;
  let xn_1 = p.n;
  let sx_0 = p.a_rs;
  let sk_0 = p.a_cs;
  let sx_1 = p.b_cs;
  let sk_1 = p.b_rs;

//% if SPLIT > 1
  let slice = local / {{LANES}}u;
  let lane = local % {{LANES}}u;
//% else
  let lane = local;
//% end
//% include matmul_place.wgsl
//% include matmul_positions.wgsl
//% for r in 0..TM
//% for j in 0..TN / 4
//% if HALF
  var low_{{r}}_{{j}} = vec4<f16>();  // of two columns, even and odd steps apart
  var high_{{r}}_{{j}} = vec4<f16>();
  var whole_{{r}}_{{j}} = vec4<f32>();
//% else
  var sum_{{r}}_{{j}} = vec4<{{T}}>();
//% end
//% end
//% end

  var next = 0u;
//% if ALWAYS
  // Each step is read while the one before is multiplied; the last one again, and not used, as a branch
  // around the reads would make some compilers wait for them.
  let turns = (depth + {{BK - 1}}u) / {{BK}}u;
  let last = (turns - 1u) * {{BK}}u;
  var hop = min({{BK}}u, last);
//% include matmul_fetch.wgsl
//% include matmul_store.wgsl
  workgroupBarrier();
  for (var turn = 0u; turn < turns; turn++) {
    next = min(next + {{BK}}u, last);
    hop = min({{BK}}u, last - next);
//% include matmul_fetch.wgsl
//% include matmul_multiply.wgsl
    workgroupBarrier();
//% include matmul_store.wgsl
    workgroupBarrier();
  }
//% elif PREFETCH
  let hop = {{BK}}u;
//% include matmul_fetch.wgsl
//% include matmul_store.wgsl
  workgroupBarrier();
  loop {
    next += {{BK}}u;
    let more = next < depth;
    if (more) {
//% include matmul_fetch.wgsl
    }
//% include matmul_multiply.wgsl
    if (!more) { break; }
    workgroupBarrier();
//% include matmul_store.wgsl
    workgroupBarrier();
  }
//% else
  let hop = {{BK}}u;
  loop {
//% include matmul_fetch.wgsl
//% include matmul_store.wgsl
    workgroupBarrier();
//% include matmul_multiply.wgsl
    next += {{BK}}u;
    if (next >= depth) { break; }
    workgroupBarrier();
  }
//% end

//% if SPLIT > 1
  workgroupBarrier();
  if (slice > 0u) {
    let at = (slice - 1u) * {{SUMS * LANES}}u + lane;
//% for r in 0..TM
//% for j in 0..TN / 4
    mm_tile[at + {{(r * TN / 4 + j) * LANES}}u] = sum_{{r}}_{{j}};
//% end
//% end
  }
  workgroupBarrier();
//% if MEET
  if (slice == 0u) {  // the others stay for the barriers to come
//% else
  if (slice > 0u) { return; }
  {
//% end
//% for s in 0..SPLIT - 1
//% for r in 0..TM
//% for j in 0..TN / 4
  sum_{{r}}_{{j}} += mm_tile[lane + {{((s * TM + r) * TN / 4 + j) * LANES}}u];
//% end
//% end
//% end
  }
//% end
//% if MEET
//% include matmul_meet.wgsl
//% if SPLIT > 1
  if (slice > 0u) { return; }
//% end
//% end
//% if CUT && !MEET
  let to = (piece * {{REST}} + at_tile) * {{SUMS * LANES}}u + lane;
//% for r in 0..TM
//% for j in 0..TN / 4
  {{PIECES}}[to + {{(r * TN / 4 + j) * LANES}}u] = {{SUM}}_{{r}}_{{j}};
//% end
//% end
//% else
//% if EMIT_LOOP
  // One copy of the epilogue's code: it may be long, and compilers take their time. The index is i, written
  // so that no driver unrolls the loop for the array's sake.
  var sums: array<vec4<{{R}}>, {{SUMS}}>;
//% for r in 0..TM
//% for j in 0..TN / 4
  sums[{{r * (TN / 4) + j}}] = {{SUM}}_{{r}}_{{j}};
//% end
//% end
  for (var i = 0u; i < {{SUMS}}u; i++) {
//% include matmul_result.wgsl
    if (r < p.m && c < p.n) { emit4(batch, r, c, sums[i % (p.k + {{SUMS}}u)]); }
  }
//% else
//% for r in 0..TM
  if (row + {{r / 4 * TY * 4 + r % 4}}u < p.m) {
//% for j in 0..TN / 4
    if (column + {{j * TX * 4}}u < p.n) {
      emit4(batch, row + {{r / 4 * TY * 4 + r % 4}}u, column + {{j * TX * 4}}u, {{SUM}}_{{r}}_{{j}});
    }
//% end
  }
//% end
//% end
//% end
}
