// The daemon: a coordinator, an agent, or both for trying things out.
#include "daemon/daemon.hpp"

int main(int argc, char** argv) { return fairwater::run_fairwaterd(argc, argv); }
