// The last tiles of a product, whose pieces along k matmul.wgsl has computed: their sums, for each four of columns.
//% let TX = BN / TN
//% let TY = BM / TM
//% let LANES = TX * TY
//% let SUMS = TM * TN / 4
{{DECLARATIONS}}
@compute @workgroup_size({{LANES}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let tiles_m = (p.m + {{BM - 1}}u) / {{BM}}u;
  let tiles_n = (p.n + {{BN - 1}}u) / {{BN}}u;
  let tile = {{FIRST}} + group.x;
//% include matmul_place.wgsl
  let i = group.y;
  var at = (group.x * {{SUMS}}u + i) * {{LANES}}u + lane;
  var sum = {{PIECES}}[at];
  for (var piece = 1u; piece < {{COUNT}}; piece++) {
    at += {{REST}} * {{SUMS * LANES}}u;
    sum += {{PIECES}}[at];
  }
//% include matmul_result.wgsl
  if (r < p.m && c < p.n) { emit4(0u, r, c, sum); }
}
