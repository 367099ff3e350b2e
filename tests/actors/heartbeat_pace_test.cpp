// How often agents are told to report.
#include "actors/coordinator/heartbeat_pace.hpp"

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {

TEST_CASE("the interval of reports grows with the nodes and stays within the lease", "[unit]") {
  HeartbeatPace pace(1'000, 15'000, 4'000);
  CHECK(pace.interval_ms() == 1'000);
  pace.set_nodes(4'000);
  CHECK(pace.interval_ms() == 1'000);
  pace.set_nodes(10'000);
  CHECK(pace.interval_ms() == 2'500);
  pace.set_nodes(100'000);
  CHECK(pace.interval_ms() == 3'750);
  HeartbeatPace rare(5'000, 12'000, 4'000);  // what is configured counts
  rare.set_nodes(100'000);
  CHECK(rare.interval_ms() == 5'000);
}

TEST_CASE("agents are told the interval for the nodes that are not lost", "[actor]") {
  auto settings = ClusterFixture::default_settings();
  settings.heartbeats_per_second = 1;
  settings.lease_ms = 14'000;
  ClusterFixture cluster(settings);
  auto first = cluster.join("node1", 1);
  const auto interval = [&] { return cluster.report(first)->heartbeat_interval_ms; };
  CHECK(interval() == 1'000);
  auto second = cluster.join("node2", 1);
  (void)cluster.join("node3", 1);
  CHECK(interval() == 3'000);
  (void)cluster.join("node4", 1);
  CHECK(interval() == settings.lease_ms / kIntervalsPerLease);
  cluster.restart(settings);
  CHECK_FALSE(cluster.reattach(first));  // the first one to return
  CHECK(interval() == settings.lease_ms / kIntervalsPerLease);
  CHECK_FALSE(cluster.reattach(second));
  for (int i = 0; i < 6; ++i) {  // the others stay silent until they are lost
    cluster.advance(settings.lease_ms / 4);
    CHECK(cluster.report(second).engaged());
    CHECK(cluster.report(first).engaged());
  }
  CHECK(interval() == 2'000);
}

}  // namespace fairwater
