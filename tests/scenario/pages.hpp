// The examples of a page of docs/, run as they stand.
#pragma once

#include <string>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

/// Each block of ```sh on the page, which must end with status 0, is followed by one of ```text:
/// the lines that its output must have, in that order, where `..` stands for anything. Commands run
/// one block after the other in the cluster's directory, as its operator.
void check_page(const Cluster& cluster, const std::string& page);

/// The same in a directory of its own, with that environment; PATH leads to the programs.
void check_page(const std::filesystem::path& directory,
                std::map<std::string, std::string> environment, const std::string& page);

}  // namespace fairwater::scenario
