    // The i-th four of a thread's results: row and first column.
    let r_i = i / {{TN / 4}}u;
    let r = row + r_i / 4u * {{TY * 4}}u + r_i % 4u;
    let c = column + i % {{TN / 4}}u * {{TX * 4}}u;
