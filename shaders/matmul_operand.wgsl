//% let X = o == 0 ? BM : BN
//% let ALONG_K = o == 0 ? A_ALONG_K : B_ALONG_K
//% let LINES = ALONG_K && !HALF && X * BK / 16 < THREADS
//% let ITEMS = ALONG_K && !LINES ? X * BK / 16 : X * BK / (4 * DEEP)
