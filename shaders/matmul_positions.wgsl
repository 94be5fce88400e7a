  // Which vec4s of each tile this thread moves. An operand whose elements neighbour along k is moved in
  // blocks of 4 x 4, transposed in registers; the other way, in vec4s of four rows (columns) at one k.
//% for o in 0..2
//% let X = o == 0 ? BM : BN
//% let ALONG_K = o == 0 ? A_ALONG_K : B_ALONG_K
//% let VEC = o == 0 ? A_VEC : B_VEC
//% let WALK = o == 0 ? X_WALK_0 : X_WALK_1
//% let ITEMS = ALONG_K ? X / 4 * (BK / 4) : X / 4 * BK
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
  let item_{{o}}_{{i}} = local + {{i * THREADS}}u;
//% if ALONG_K
  let kq_{{o}}_{{i}} = item_{{o}}_{{i}} % {{BK / 4}}u * 4u;
  let xq_{{o}}_{{i}} = item_{{o}}_{{i}} / {{BK / 4}}u;
//% else
  let kq_{{o}}_{{i}} = item_{{o}}_{{i}} / {{X / 4}}u;
  let xq_{{o}}_{{i}} = item_{{o}}_{{i}} % {{X / 4}}u;
//% end
  let x_{{o}}_{{i}} = x0_{{o}} + xq_{{o}}_{{i}} * 4u;
//% if VEC && !ALONG_K
//% if WALK
  let at_{{o}}_{{i}}_0 = off_{{o}} + x_offset_{{o}}(min(x_{{o}}_{{i}}, xn_{{o}} - 4u));
//% else
  let at_{{o}}_{{i}}_0 = off_{{o}} + min(x_{{o}}_{{i}}, xn_{{o}} - 4u);
//% end
  var part_{{o}}_{{i}}_0: vec4<{{T}}>;
//% else
//% for r in 0..4
//% if WALK
  let at_{{o}}_{{i}}_{{r}} = off_{{o}} + x_offset_{{o}}(min(x_{{o}}_{{i}} + {{r}}u, xn_{{o}} - 1u));
//% else
  let at_{{o}}_{{i}}_{{r}} = off_{{o}} + min(x_{{o}}_{{i}} + {{r}}u, xn_{{o}} - 1u) * sx_{{o}};
//% end
//% end
//% for r in 0..ALONG_K ? 4 : 1
  var part_{{o}}_{{i}}_{{r}}: vec4<{{T}}>;
//% end
//% end
//% end
//% end
