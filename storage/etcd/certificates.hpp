// The certificates by which a coordinator and etcd's members know each other, read from PEM files.
#pragma once

#include <optional>
#include <vector>

#include <kj/compat/tls.h>

#include "storage/etcd/etcd.hpp"

namespace fairwater::inline storage::inline etcd {

struct Certificates {
  std::vector<kj::TlsCertificate> trusted;  ///< empty where no member wants any
  std::optional<kj::TlsKeypair> own;
};

/// `secure`: some member is asked by https://. What is wrong is told by field and file.
[[nodiscard]] Expected<Certificates> read_certificates(bool secure, const EtcdTls& files);

}  // namespace fairwater::inline storage::inline etcd
