// The entry point that every test executable shares.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
