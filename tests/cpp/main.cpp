// The C++ tests' entry. Tests include "doctest/doctest.h" and use TEST_CASE.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "doctest/doctest.h"
