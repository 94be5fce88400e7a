  // Which vec4s of each tile this thread moves. An operand whose elements neighbour along k is moved in
  // blocks of 4 x 4, transposed in registers, or, where there are fewer blocks than threads, in vec4s
  // along k; the other way, in vec4s of four rows (columns) at one k, or at two. `at` is where the first read begins,
  // without k where its place is found anew for each (walks, ragged k), in vec4s where they are read.
//% for o in 0..2
//% include matmul_operand.wgsl
//% let VEC = o == 0 ? A_VEC : B_VEC
//% let WALK = o == 0 ? X_WALK_0 : X_WALK_1
//% let PLAIN = !GUARD_K && !(o == 0 ? K_WALK_0 : K_WALK_1)
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
  let item_{{o}}_{{i}} = local + {{i * THREADS}}u;
//% if ALONG_K
  let kq_{{o}}_{{i}} = item_{{o}}_{{i}} % {{BK / 4}}u * 4u;
  let xq_{{o}}_{{i}} = item_{{o}}_{{i}} / {{BK / 4}}u;
//% else
  let kq_{{o}}_{{i}} = item_{{o}}_{{i}} / {{X / 4}}u * {{DEEP}}u;
  let xq_{{o}}_{{i}} = item_{{o}}_{{i}} % {{X / 4}}u;
//% end
  let x_{{o}}_{{i}} = x0_{{o}} + xq_{{o}}_{{i}} * {{LINES ? 1 : 4}}u;
//% let PLACES = LINES || VEC && !ALONG_K ? 1 : 4
//% for r in 0..PLACES
//% if VEC && !ALONG_K
  let near_{{o}}_{{i}}_{{r}} = min(x_{{o}}_{{i}}, xn_{{o}} - 4u);
//% else
  let near_{{o}}_{{i}}_{{r}} = min(x_{{o}}_{{i}} + {{r}}u, xn_{{o}} - 1u);
//% end
//% if WALK
  var at_{{o}}_{{i}}_{{r}} = off_{{o}} + x_offset_{{o}}(near_{{o}}_{{i}}_{{r}});
//% elif VEC && !ALONG_K
  var at_{{o}}_{{i}}_{{r}} = off_{{o}} + near_{{o}}_{{i}}_{{r}};
//% else
  var at_{{o}}_{{i}}_{{r}} = off_{{o}} + near_{{o}}_{{i}}_{{r}} * sx_{{o}};
//% end
//% if PLAIN && VEC
  at_{{o}}_{{i}}_{{r}} = (at_{{o}}_{{i}}_{{r}} + kq_{{o}}_{{i}} * sk_{{o}}) >> 2u;
//% elif PLAIN
  at_{{o}}_{{i}}_{{r}} += kq_{{o}}_{{i}} * sk_{{o}};
//% end
//% end
//% for r in 0..ALONG_K && !LINES ? 4 : DEEP
  var part_{{o}}_{{i}}_{{r}}: vec4<{{T}}>;
//% end
//% end
//% end
