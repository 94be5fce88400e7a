    // From registers into workgroup memory, K-major.
//% for o in 0..2
//% include matmul_operand.wgsl
//% let ROW = X / 4
//% let GAP = o == 0 ? GAP_0 : GAP_1
//% let BASE = o == 0 ? 0 : TILE_0
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
//% if (i + 1) * THREADS > ITEMS
    if (item_{{o}}_{{i}} < {{ITEMS}}u) {
//% else
    {
//% end
//% if ALONG_K
      let to = {{BASE}}u + kq_{{o}}_{{i}} / 4u * {{4 / DEEP * ROW + GAP}}u + xq_{{o}}_{{i}} / {{LINES ? 4 : 1}}u;
//% if HALF
      mm_tile[to] = MmPairs(vec4<f16>(part_{{o}}_{{i}}_0.xy, part_{{o}}_{{i}}_1.xy),
                            vec4<f16>(part_{{o}}_{{i}}_2.xy, part_{{o}}_{{i}}_3.xy));
      mm_tile[to + {{ROW}}u] = MmPairs(vec4<f16>(part_{{o}}_{{i}}_0.zw, part_{{o}}_{{i}}_1.zw),
                                       vec4<f16>(part_{{o}}_{{i}}_2.zw, part_{{o}}_{{i}}_3.zw));
//% else
//% for j in 0..4
//% if LINES
      mm_tile[to + {{j * ROW}}u][xq_{{o}}_{{i}} % 4u] = part_{{o}}_{{i}}_0[{{j}}];
//% else
      mm_tile[to + {{j * ROW}}u] = vec4<{{T}}>(part_{{o}}_{{i}}_0[{{j}}], part_{{o}}_{{i}}_1[{{j}}],
                                 part_{{o}}_{{i}}_2[{{j}}], part_{{o}}_{{i}}_3[{{j}}]);
//% end
//% end
//% end
//% elif HALF
      let one = part_{{o}}_{{i}}_0;
      let two = part_{{o}}_{{i}}_1;
      mm_tile[{{BASE}}u + kq_{{o}}_{{i}} / 2u * {{ROW}}u + xq_{{o}}_{{i}}] =
          MmPairs(vec4<f16>(one.x, two.x, one.y, two.y), vec4<f16>(one.z, two.z, one.w, two.w));
//% else
      mm_tile[{{BASE}}u + kq_{{o}}_{{i}} * {{ROW}}u + xq_{{o}}_{{i}}] = part_{{o}}_{{i}}_0;
//% end
    }
//% end
//% end
