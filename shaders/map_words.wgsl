// Elementwise kernel of large dense operands for software adapters, whose loads and stores take the same time for 64
// bits as for 32, lane by lane: a thread moves 16 elements in words of 64 bits. The order of elements is lost on the
// way through the lanes, so that nothing may depend on their places.
{{DECLARATIONS}}
struct Items {
//% for i in 0..WRITES
  v{{i}}: vec4<u32>,
//% end
}
fn lane({{ARGUMENTS}}) -> Items {
{{BODY}}
  return Items({{RESULTS}});
}
fn low(x: vec4<u64>) -> vec4<u32> {
  return vec4<u32>(x);
}
fn high(x: vec4<u64>) -> vec4<u32> {
  return vec4<u32>(x >> vec4<u32>(32u));
}
fn joined(low: vec4<u32>, high: vec4<u32>) -> vec4<u64> {
  return vec4<u64>(low) | (vec4<u64>(high) << vec4<u32>(32u));
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let unit = (wid.z * nwg.x + wid.x) * 256u + lid.x;
  if (unit >= {{UNITS}}) { return; }
//% for h in 0..2
//% for i in 0..READS
  let in_{{i}}_{{h}} = in{{i}}[unit * 2u + {{h}}u];
//% end
//% end
{{CALLS}}
//% for h in 0..2
//% for i in 0..WRITES
  in{{READS + i}}[unit * 2u + {{h}}u] = joined(low_{{h}}.v{{i}}, high_{{h}}.v{{i}});
//% end
//% end
}
