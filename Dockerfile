# Both programs in one image; deploy/README.md says how to use it. Build: docker build -t fairwater .
FROM debian:bookworm-slim AS build
WORKDIR /source
# The packages first: they stay in the cache while sources change.
COPY dev ./
RUN ./dev packages
COPY . ./
RUN ./dev build release fairwater fairwaterd

# By which several coordinators agree (docker-compose.replicas.yml).
FROM debian:bookworm-slim AS etcd
RUN apt-get update && apt-get install -y --no-install-recommends etcd-server && rm -rf /var/lib/apt/lists/*
COPY deploy/docker/start-etcd /usr/bin/

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libcaf-core0.17 libcapnp-0.9.2 librocksdb7.8 libspdlog1.10 libfmt9 libyaml-cpp0.7 libsodium23 libjemalloc2 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/fairwater fairwater \
 && install -d -o fairwater -g fairwater -m 0700 /var/lib/fairwater \
 && install -d -o fairwater -g fairwater /run/fairwater \
 && install -d -o fairwater -g fairwater -m 0700 /run/heads
COPY --from=build /source/build/release/bin/fairwater /source/build/release/bin/fairwater-local \
     /source/build/release/bin/fairwaterd /source/build/release/bin/fairwater-supervisor /usr/bin/
COPY deploy/docker/create-cluster deploy/docker/start-replica deploy/docker/publish-tokens /usr/bin/
# Not root: tasks are held to their limits by rlimits, which the agent says in its log and registers with its node.
USER fairwater
WORKDIR /var/lib/fairwater
EXPOSE 7400
CMD ["fairwaterd", "--help"]
