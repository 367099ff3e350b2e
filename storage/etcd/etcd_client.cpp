#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include <kj/compat/http.h>
#include <kj/compat/tls.h>
#include <kj/debug.h>

#include "rpc/loop_thread.hpp"
#include "rpc/sockets.hpp"
#include "storage/etcd/certificates.hpp"
#include "storage/etcd/etcd.hpp"

namespace fairwater::inline storage::inline etcd {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";
/// A page of groups, in base64.
constexpr std::uint64_t kMaxAnswer = std::uint64_t{256} << 20;
constexpr kj::uint kHttpOk = 200;

struct Endpoint {
  std::string host_and_port;
  bool secure = false;
};

Endpoint endpoint_of(const std::string& text) {
  const bool secure = text.starts_with(kSecure);
  return {text.substr((secure ? kSecure : kPlain).size()), secure};
}

Expected<std::vector<Endpoint>> endpoints_of(const EtcdOptions& options) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : options.endpoints) {
    if (caf::error wrong = validate_endpoint(text, "etcd")) return wrong;
    endpoints.push_back(endpoint_of(text));
  }
  if (endpoints.empty())
    return make_error(ErrorCode::invalid_input, "names no member, such as http://head1:2379",
                      "etcd");
  return endpoints;
}

bool names_secure(const std::vector<Endpoint>& endpoints) {
  return std::any_of(endpoints.begin(), endpoints.end(),
                     [](const Endpoint& endpoint) { return endpoint.secure; });
}

/// What etcd says besides an answer. By the codes of gRPC: 3 says that the request itself is wrong,
/// and so does 8 of one that is much larger than --max-request-bytes, or that the store has reached
/// its quota; all else may be tried again.
Expected<nlohmann::json> judged(nlohmann::json answer) {
  if (!answer.is_object())
    return make_error(ErrorCode::unavailable, "etcd answered what is no object");
  const auto error = answer.find("error");
  if (error == answer.end()) return answer;
  const std::string text = error->is_string() ? error->get<std::string>() : error->dump();
  const int code = answer.value("code", 0);
  constexpr int kInvalidArgument = 3;
  constexpr int kResourceExhausted = 8;
  const bool is_wrong = code == kInvalidArgument ||
                        (code == kResourceExhausted && text.starts_with("grpc: received message"));
  const bool is_full = text.find("database space exceeded") != std::string::npos;
  return make_error(is_wrong  ? ErrorCode::invalid_input
                    : is_full ? ErrorCode::disk_full
                              : ErrorCode::unavailable,
                    "etcd: " + text);
}

/// No other member would answer otherwise.
bool is_final(const caf::error& error) { return details(error).code != ErrorCode::unavailable; }

/// Empty where there is none.
std::string text_at(const nlohmann::json& value, const char* path) {
  const nlohmann::json::json_pointer at(path);
  return value.contains(at) && value[at].is_string() ? value[at].get<std::string>() : std::string{};
}

/// By what a member says of its state.
bool leads(const nlohmann::json& status) {
  const std::string leader = text_at(status, "/leader");
  return !leader.empty() && text_at(status, "/header/member_id") == leader;
}

/// What a member says, not read yet.
struct Said {
  std::size_t member = 0;
  bool ok = false;  ///< no error of etcd's
  kj::String text;
};

/// One request to one member after the other, until one answers. The members that were asked before
/// go on: one that is slow is not slower for it. On a loop's thread.
class Race final : private kj::TaskSet::ErrorHandler {
 public:
  /// What a member answers; fails when it does not, or cannot.
  using Ask = std::function<kj::Promise<Said>(std::size_t member)>;

  Race(kj::Timer& timer, kj::Duration pause, std::size_t members, std::size_t first, Ask ask)
      : timer_(timer),
        pause_(pause),
        members_(members),
        first_(first),
        ask_(std::move(ask)),
        tasks_(*this) {}

  kj::Promise<Said> run() {
    auto pair = kj::newPromiseAndFulfiller<Said>();
    answered_ = kj::mv(pair.fulfiller);
    ask_next();
    return kj::mv(pair.promise);
  }

 private:
  void ask_next() {
    if (asked_ == members_) return;
    const std::size_t member = (first_ + asked_++) % members_;
    tasks_.add(kj::evalNow([&] { return ask_(member); }).then([this](Said&& said) {
      answered_->fulfill(kj::mv(said));
    }));
    if (asked_ < members_)
      tasks_.add(timer_.afterDelay(pause_).then([this, asked = asked_] {
        if (asked == asked_) ask_next();
      }));
  }
  void taskFailed(kj::Exception&& fault) override {
    if (++failed_ == members_) return answered_->reject(kj::mv(fault));
    ask_next();
  }

  kj::Timer& timer_;
  const kj::Duration pause_;
  const std::size_t members_;
  const std::size_t first_;
  const Ask ask_;
  std::size_t asked_ = 0;
  std::size_t failed_ = 0;
  kj::Own<kj::PromiseFulfiller<Said>> answered_;
  kj::TaskSet tasks_;  ///< last: its promises refer to the rest
};

/// Of members that do not say whether they lead: they are not preferred.
class Unsaid final : public kj::TaskSet::ErrorHandler {
  void taskFailed(kj::Exception&& /*fault*/) override {}
};

class EtcdClient final : public Etcd {
 public:
  /// Throws what KJ says against the certificates.
  EtcdClient(std::vector<Endpoint> endpoints, std::optional<kj::TlsContext::Options> tls)
      : endpoints_(std::move(endpoints)), thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
          seeks_ = nullptr;
          clients_.clear();
          addresses_.clear();
          network_ = nullptr;
          tls_ = nullptr;
          loop.settle();
        }) {
    thread_.run([&] {
      if (tls) {
        tls_ = kj::heap<kj::TlsContext>(kj::mv(*tls));
        network_ = tls_->wrapNetwork(loop_->io.provider->getNetwork());
      }
      clients_.resize(endpoints_.size());
      addresses_.resize(endpoints_.size());
      seeks_ = kj::heap<kj::TaskSet>(unsaid_);
    });
  }

  ~EtcdClient() noexcept override {}

  Expected<nlohmann::json> call(const std::string& path, const nlohmann::json& request,
                                std::int64_t timeout_ms) override {
    const std::string body = request.dump();
    const std::size_t leader = leader_.load();
    const std::size_t first = leader < endpoints_.size() ? leader : member_.load();
    const auto time = timeout_ms * kj::MILLISECONDS;
    std::string failure;
    try {
      const Said said = thread_.run([&] {
        auto race = kj::heap<Race>(
            loop_->timer(), time * 2 / 5, endpoints_.size(), first,
            [this, &path, &body](std::size_t member) { return ask(member, path, body); });
        auto answered = race->run();
        return loop_->timer().timeoutAfter(time, kj::mv(answered)).attach(kj::mv(race));
      });
      auto result =
          judged(nlohmann::json::parse(said.text.begin(), said.text.end(), nullptr, false));
      if (result || is_final(result.error())) {
        member_ = said.member;
        if (said.member != leader) forget(leader);
        if (result) note_term(text_at(*result, "/header/raft_term"));
        return result;
      }
      failure = details(result.error()).message;
    } catch (const kj::Exception& fault) {
      failure = fault.getDescription().cStr();
    }
    // Another caller may have moved on already.
    forget(leader);
    std::size_t expected = first;
    member_.compare_exchange_strong(expected, (first + 1) % endpoints_.size());
    return make_error(ErrorCode::unavailable, "etcd at " + all_endpoints() + ": " + failure);
  }

  void prefer_leader(bool prefers) override {
    const std::lock_guard lock(mutex_);
    prefers_leader_ = prefers;
    sought_in_.clear();
    leader_ = kNobody;
  }

 private:
  /// Unless another was found meanwhile.
  void forget(std::size_t leader) { leader_.compare_exchange_strong(leader, kNobody); }

  /// Looks for the members' leader once in each term, which a new leader begins; it may be none of
  /// those that are known here.
  void note_term(const std::string& term) {
    {
      const std::lock_guard lock(mutex_);
      if (!prefers_leader_ || endpoints_.size() == 1 || term == sought_in_) return;
      sought_in_ = term;
    }
    thread_.outbox().post([this] {
      for (std::size_t member = 0; member < endpoints_.size(); ++member) seek_leader(member);
    });
  }

  /// On the loop's thread.
  void seek_leader(std::size_t member) {
    seeks_->add(
        loop_->timer()
            .timeoutAfter(kStatusTime, post(member, kStatus, "{}"))
            .then([this, member](Said&& said) {
              if (!leads(nlohmann::json::parse(said.text.begin(), said.text.end(), nullptr, false)))
                return;
              const std::lock_guard lock(mutex_);
              if (prefers_leader_) leader_ = member;
            }));
  }

  [[nodiscard]] std::string all_endpoints() const {
    std::string all;
    for (const Endpoint& endpoint : endpoints_)
      all += (all.empty() ? "" : ", ") + endpoint.host_and_port;
    return all;
  }

  /// On the loop's thread. Fails for what another member may do better.
  kj::Promise<Said> ask(std::size_t member, const std::string& path, const std::string& body) {
    return post(member, path, body).then([](Said&& said) {
      if (said.ok) return kj::mv(said);
      auto error =
          judged(nlohmann::json::parse(said.text.begin(), said.text.end(), nullptr, false));
      if (!error && !is_final(error.error()))
        kj::throwFatalException(kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                                              kj::heapString(details(error.error()).message)));
      return kj::mv(said);
    });
  }

  kj::Promise<Said> post(std::size_t member, const std::string& path, const std::string& body) {
    if (clients_[member].get() != nullptr) return send(*clients_[member], member, path, body);
    const Endpoint& endpoint = endpoints_[member];
    auto& network = endpoint.secure ? *network_ : loop_->io.provider->getNetwork();
    return network.parseAddress(endpoint.host_and_port)
        .then([this, member, path, body](kj::Own<kj::NetworkAddress> address) {
          if (clients_[member].get() == nullptr) {
            addresses_[member] = kj::mv(address);
            clients_[member] = kj::newHttpClient(loop_->timer(), headers_, *addresses_[member]);
          }
          return send(*clients_[member], member, path, body);
        });
  }

  kj::Promise<Said> send(kj::HttpClient& client, std::size_t member, const std::string& path,
                         const std::string& body) {
    kj::HttpHeaders headers(headers_);
    headers.set(kj::HttpHeaderId::HOST, kj::str(endpoints_[member].host_and_port.c_str()));
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, "application/json");
    auto request = client.request(kj::HttpMethod::POST, path.c_str(), headers, body.size());
    auto content = kj::heapString(body.data(), body.size());
    auto& stream = *request.body;
    return stream.write(content.begin(), content.size())
        .attach(kj::mv(content), kj::mv(request.body))
        .then([response = kj::mv(request.response)]() mutable { return kj::mv(response); })
        .then([member](kj::HttpClient::Response&& response) {
          const bool ok = response.statusCode == kHttpOk;
          return response.body->readAllText(kMaxAnswer)
              .attach(kj::mv(response.body))
              .then([member, ok](kj::String text) {
                return Said{member, ok, kj::mv(text)};
              });
        });
  }

  static constexpr std::size_t kNobody = ~std::size_t{0};
  static constexpr const char* kStatus = "/v3/maintenance/status";
  /// Nobody waits for it, and who does not answer in it is not looked at again in that term.
  static constexpr auto kStatusTime = 10 * kj::SECONDS;

  std::vector<Endpoint> endpoints_;
  std::atomic<std::size_t> member_ = 0;        ///< that answered last
  std::atomic<std::size_t> leader_ = kNobody;  ///< of the members, as far as it is known and wanted
  std::mutex mutex_;
  bool prefers_leader_ = false;  // guarded by mutex_
  std::string sought_in_;        // guarded by mutex_: a term
  kj::HttpHeaderTable headers_;
  // The loop's, on its thread alone.
  Loop* loop_ = nullptr;
  kj::Own<kj::TlsContext> tls_;
  kj::Own<kj::Network> network_;
  std::vector<kj::Own<kj::NetworkAddress>> addresses_;
  std::vector<kj::Own<kj::HttpClient>> clients_;
  Unsaid unsaid_;
  kj::Own<kj::TaskSet> seeks_;
  LoopThread thread_;
};

}  // namespace

caf::error validate_endpoint(const std::string& endpoint, const std::string& field) {
  if (!endpoint.starts_with(kPlain) && !endpoint.starts_with(kSecure))
    return make_error(ErrorCode::invalid_input,
                      "'" + endpoint + "' is no http://HOST:PORT or https://HOST:PORT", field);
  return validate_address(endpoint_of(endpoint).host_and_port, field.c_str());
}

caf::error check_etcd(const EtcdOptions& options) {
  const auto endpoints = endpoints_of(options);
  if (!endpoints) return endpoints.error();
  const auto certificates = read_certificates(names_secure(*endpoints), options.tls);
  return certificates ? caf::error{} : certificates.error();
}

Expected<std::unique_ptr<Etcd>> connect_etcd(const EtcdOptions& options) {
  auto endpoints = endpoints_of(options);
  if (!endpoints) return endpoints.error();
  auto certificates = read_certificates(names_secure(*endpoints), options.tls);
  if (!certificates) return certificates.error();
  try {
    std::optional<kj::TlsContext::Options> tls;
    if (!certificates->trusted.empty()) {
      tls.emplace();
      tls->useSystemTrustStore = false;
      tls->trustedCertificates =
          kj::arrayPtr(certificates->trusted.data(), certificates->trusted.size());
      if (certificates->own) tls->defaultKeypair = *certificates->own;
    }
    return std::unique_ptr<Etcd>(std::make_unique<EtcdClient>(std::move(*endpoints), kj::mv(tls)));
  } catch (const kj::Exception& fault) {
    return make_error(
        ErrorCode::invalid_input,
        "the certificates cannot be used: " + std::string(fault.getDescription().cStr()), "tls");
  }
}

}  // namespace fairwater::inline storage::inline etcd
