// Takes a task's output off a pipe into a bounded file, and goes on taking when the file is full: a
// task must neither block on its log nor die of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {

class OutputFile {
 public:
  OutputFile(std::filesystem::path path, std::uint64_t limit_bytes, FileDescriptor pipe)
      : path_(std::move(path)), limit_bytes_(limit_bytes), pipe_(std::move(pipe)) {}

  /// The reading end; -1 once every writer has closed it.
  [[nodiscard]] int pipe() const { return pipe_.get(); }
  /// Takes what is there now, at most `kMaxBytesPerTurn`, so that a torrent on one pipe starves
  /// nothing else.
  void drain();
  /// Why the file could not be written; empty when it could.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  static constexpr std::size_t kMaxBytesPerTurn = 1u << 20;

 private:
  void append(std::string_view bytes);
  void write(std::string_view bytes);

  std::filesystem::path path_;
  std::uint64_t limit_bytes_;
  std::uint64_t written_ = 0;
  bool full_ = false;
  FileDescriptor pipe_;
  FileDescriptor file_;  ///< opened with the first byte
  std::string trouble_;
};

}  // namespace fairwater::inline process
