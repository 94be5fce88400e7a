// Every lane's elements go to to0, to1, .. and come back from from0, from1, ..
//% for part in 0..3
//% if part == 0
//% for j in 0..K
so_items[to{{j}}] = w{{j}}.x;
//% end
workgroupBarrier();
//% for j in 0..K
w{{j}}.x = so_items[from{{j}}];
//% end
workgroupBarrier();
//% elif part == 1 && BITS == 64
//% for j in 0..K
so_items[to{{j}}] = w{{j}}.y;
//% end
workgroupBarrier();
//% for j in 0..K
w{{j}}.y = so_items[from{{j}}];
//% end
workgroupBarrier();
//% elif part == 2 && PLACES
//% for j in 0..K
so_items[to{{j}}] = p{{j}};
//% end
workgroupBarrier();
//% for j in 0..K
p{{j}} = so_items[from{{j}}];
//% end
workgroupBarrier();
//% end
//% end
