#include "examples/screen.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

namespace fairwater::story {

namespace {
constexpr const char* kPlain = "\x1b[0m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kColours[] = {"\x1b[34m", "\x1b[32m", "\x1b[33m"};
}  // namespace

Screen::Screen(std::vector<std::string> tenants)
    : tenants_(std::move(tenants)),
      colours_(isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

void Screen::title(const std::string& text) const { std::cout << '\n' << bold(text) << "\n\n"; }

void Screen::heading(const std::string& text) {
  std::cout << '\n' << bold(fmt::format("{}. {}", ++headings_, text)) << '\n' << std::flush;
}

void Screen::say(const std::string& text) const {
  std::cout << "   " << text << '\n' << std::flush;
}

void Screen::moment(double seconds, const std::map<std::string, int>& held, int processors,
                    const std::string& note) const {
  std::string line;
  int free = processors;
  for (const std::string& tenant : tenants_) {
    const auto found = held.find(tenant);
    const int count = found == held.end() ? 0 : found->second;
    free -= count;
    std::string blocks;
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(tenant.front())));
    for (int i = 0; i < count; ++i) blocks += colours_ ? "█" : std::string(1, letter);
    line += coloured(tenant, blocks);
  }
  line += std::string(static_cast<std::size_t>(std::max(free, 0)), '.');
  std::cout << fmt::format("   {:5.1f} s  {}  {}\n", seconds, line, note) << std::flush;
}

std::string Screen::coloured(const std::string& tenant, const std::string& text) const {
  if (!colours_) return text;
  const auto rank = std::find(tenants_.begin(), tenants_.end(), tenant) - tenants_.begin();
  return kColours[static_cast<std::size_t>(rank) % std::size(kColours)] + text + kPlain;
}

std::string Screen::bold(const std::string& text) const {
  return colours_ ? kBold + text + kPlain : text;
}

}  // namespace fairwater::story
