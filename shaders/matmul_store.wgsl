    // From registers into workgroup memory, K-major.
//% for o in 0..2
//% let X = o == 0 ? BM : BN
//% let ALONG_K = o == 0 ? A_ALONG_K : B_ALONG_K
//% let ROW = o == 0 ? ROW_0 : ROW_1
//% let BASE = o == 0 ? 0 : BK * ROW_0
//% let ITEMS = ALONG_K ? X / 4 * (BK / 4) : X / 4 * BK
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
//% if (i + 1) * THREADS > ITEMS
    if (item_{{o}}_{{i}} < {{ITEMS}}u) {
//% else
    {
//% end
//% if BUFFERS == 2
      let to = stage + {{BASE}}u + kq_{{o}}_{{i}} * {{ROW}}u + xq_{{o}}_{{i}};
//% else
      let to = {{BASE}}u + kq_{{o}}_{{i}} * {{ROW}}u + xq_{{o}}_{{i}};
//% end
//% if ALONG_K
//% for j in 0..4
      mm_tile[to + {{j * ROW}}u] = vec4<{{T}}>(part_{{o}}_{{i}}_0[{{j}}], part_{{o}}_{{i}}_1[{{j}}],
                                 part_{{o}}_{{i}}_2[{{j}}], part_{{o}}_{{i}}_3[{{j}}]);
//% end
//% else
      mm_tile[to] = part_{{o}}_{{i}}_0;
//% end
    }
//% end
//% end
