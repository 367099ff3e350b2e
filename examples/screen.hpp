// How the story looks: headings, a time line of who holds the cluster, and tables. Colours only on
// a terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fairwater::story {

class Screen {
 public:
  /// `tenants` in the order of the colours and letters that stand for them.
  explicit Screen(std::vector<std::string> tenants);

  void title(const std::string& text) const;
  void heading(const std::string& text);  ///< numbered
  void say(const std::string& text) const;
  /// One moment: every processor as a block of its tenant's colour (its first letter where there
  /// are no colours), and a note. `held` in processors.
  void moment(double seconds, const std::map<std::string, int>& held, int processors,
              const std::string& note) const;
  [[nodiscard]] std::string coloured(const std::string& tenant, const std::string& text) const;
  [[nodiscard]] std::string bold(const std::string& text) const;

 private:
  std::vector<std::string> tenants_;
  bool colours_;
  int headings_ = 0;
};

}  // namespace fairwater::story
