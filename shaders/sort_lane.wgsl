//% if SUBGROUPS
so_subgroup = vec3<u32>(subgroup, subgroup_size, place_in_subgroup);
let lane = subgroup * subgroup_size + place_in_subgroup;
//% else
let lane = lid.x;
//% end
