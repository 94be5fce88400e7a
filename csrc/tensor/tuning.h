// The tables of measured choices, for those who keep them between runs.
#pragma once
#include "graph/tuning.h"
