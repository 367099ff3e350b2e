#include "rpc/tokens.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "policy/core/check.hpp"

namespace fairwater::inline rpc {
namespace {

constexpr std::size_t kRandomBytes = 32;
/// Far above any token; keeps a wrong path from being read into memory.
constexpr std::size_t kMaxSecretBytes = 4096;

/// An open file; closed on every way out.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

caf::error system_error(const std::string& what, const std::string& path, int error_number) {
  return make_error(ErrorCode::unavailable,
                    "cannot " + what + " '" + path + "': " + std::strerror(error_number));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Makes the directory's entries durable.
bool sync_directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const File directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.fd() >= 0 && ::fsync(directory.fd()) == 0;
}

caf::error exists_already(const std::string& path) {
  return make_error(ErrorCode::already_exists, "the file '" + path + "' exists already");
}

/// A durable file of mode 0600 with the secret, under the name that is returned.
Expected<std::string> write_beside(const std::string& path, std::string_view secret) {
  std::string beside = path + ".new-XXXXXX";
  const File file(::mkostemp(beside.data(), O_CLOEXEC));
  if (file.fd() < 0) return system_error("create", path, errno);
  // mkostemp gives others nothing, and a umask can only take bits away.
  if (::fchmod(file.fd(), 0600) == 0 && write_all(file.fd(), secret) &&
      write_all(file.fd(), "\n") && ::fsync(file.fd()) == 0)
    return beside;
  const int cause = errno;
  ::unlink(beside.c_str());
  return system_error("write", path, cause);
}

}  // namespace

void ensure_sodium() {
  static const bool ready = sodium_init() >= 0;
  FAIRWATER_CHECK(ready, "libsodium found no source of randomness");
}

std::string make_token(std::string_view prefix) {
  ensure_sodium();
  std::array<unsigned char, kRandomBytes> secret{};
  randombytes_buf(secret.data(), secret.size());
  std::array<char,
             sodium_base64_ENCODED_LEN(kRandomBytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING)>
      text{};
  sodium_bin2base64(text.data(), text.size(), secret.data(), secret.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  sodium_memzero(secret.data(), secret.size());
  return std::string(prefix) + text.data();
}

Hash hash_token(std::string_view token) {
  ensure_sodium();
  Hash hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), nullptr, 0);
  return hash;
}

bool same_hash(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

caf::error check_secret_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return exists_already(path);
  const auto beside = write_beside(path, "");
  if (!beside) return beside.error();
  ::unlink(beside->c_str());
  return {};
}

caf::error write_secret_file(const std::string& path, std::string_view secret) {
  const auto beside = write_beside(path, secret);
  if (!beside) return beside.error();
  const int refused = ::link(beside->c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(beside->c_str());
  if (refused == EEXIST) return exists_already(path);
  if (refused != 0) return system_error("create", path, refused);
  if (sync_directory_of(path)) return {};
  const int cause = errno;
  ::unlink(path.c_str());
  return system_error("write", path, cause);
}

caf::error replace_secret_file(const std::string& path, std::string_view secret) {
  const auto beside = write_beside(path, secret);
  if (!beside) return beside.error();
  if (::rename(beside->c_str(), path.c_str()) != 0) {
    const int cause = errno;
    ::unlink(beside->c_str());
    return system_error("replace", path, cause);
  }
  if (sync_directory_of(path)) return {};
  return system_error("write", path, errno);
}

Expected<std::string> ensure_secret(const std::string& path,
                                    const std::function<std::string()>& make) {
  auto secret = read_secret_file(path);
  if (secret || details(secret.error()).code != ErrorCode::not_found) return secret;
  secret = make();
  if (auto failed = write_secret_file(path, *secret)) return failed;
  return secret;
}

Expected<std::string> read_secret_file(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) {
    if (errno == ENOENT) return make_error(ErrorCode::not_found, "there is no file '" + path + "'");
    return system_error("open", path, errno);
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return system_error("examine", path, errno);
  if (!S_ISREG(status.st_mode))
    return make_error(ErrorCode::invalid_input, "'" + path + "' is not a regular file");
  if ((status.st_mode & 077) != 0)
    return make_error(ErrorCode::not_permitted,
                      "the file '" + path +
                          "' holds a secret that others can read or change; "
                          "run: chmod 600 '" +
                          path + "'");
  std::string text(kMaxSecretBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.fd(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kMaxSecretBytes)
    return make_error(ErrorCode::invalid_input, "'" + path + "' is too long to hold a token");
  text.resize(size);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) return make_error(ErrorCode::invalid_input, "the file '" + path + "' is empty");
  return text;
}

}  // namespace fairwater::inline rpc
