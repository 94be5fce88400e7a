// Elementwise kernel: a flat one-dimensional form, a form with rows, and one for packed results whose
// operands cannot be read four at a time.
{{DECLARATIONS}}
//% if QUAD
struct Items {
//% for i in 0..PACKED
  v{{i}}: u32,
//% end
}
fn lane(x: u32) -> Items {
{{BODY}}
}
//% end
@compute @workgroup_size({{WX}}, {{WY}}, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
//% if ROWS
  let unit = wid.x * {{WX}}u + lid.x;
  let y = (wid.z * nwg.y + wid.y) * {{WY}}u + lid.y;
  if (unit >= {{NX}} || y >= {{NY}}) { return; }
//% else
  let unit = (wid.z * nwg.x + wid.x) * {{WX}}u + lid.x;
  if (unit >= {{NX}}) { return; }
//% end
//% if QUAD
//% for i in 0..PACKED
  var raw{{i}} = vec4<u32>(0u);
//% end
//% for j in 0..4
  if (unit * 4u + {{j}}u < {{N}}) {
    let r = lane(unit * 4u + {{j}}u);
//% for i in 0..PACKED
    raw{{i}}[{{j}}] = r.v{{i}};
//% end
  }
//% end
{{STORES}}
//% else
//% if WIDTH == 4
  let x = unit * 4u;
//% else
  let x = unit;
//% end
{{BODY}}
//% end
}
