#!/usr/bin/env bash
# Proves Dockerfile and docker-compose.yml on a machine without a registry: makes the base image with debootstrap,
# starts an engine of its own, builds, brings the cluster up, runs a job, restarts everything, and cleans up.
# As root, with: apt-get install docker.io docker-compose debootstrap
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

place=$(mktemp -d /tmp/fairwater-images-XXXXXX)
export DOCKER_HOST=unix://$place/docker.sock COMPOSE_PROJECT_NAME=fairwater-try
clean_up() {
  docker-compose down --volumes --timeout 5 || true
  kill "$engine" && wait "$engine" || true
  rm -rf --one-file-system "$place"
}

echo "Starting an engine in $place"
dockerd --data-root "$place/data" --exec-root "$place/exec" --pidfile "$place/pid" --host "$DOCKER_HOST" 2>"$place/engine.log" &
engine=$!
trap clean_up EXIT
for _ in {1..100}; do docker info >/dev/null 2>&1 && break || sleep 0.2; done
docker info --format 'engine {{.ServerVersion}}, storage {{.Driver}}'

echo "Making debian:bookworm-slim"
debootstrap --variant=minbase bookworm "$place/base" >"$place/debootstrap.log"
tar -C "$place/base" -c . | docker import - debian:bookworm-slim >/dev/null

echo "Building"
docker-compose build --quiet create-cluster
docker image ls fairwater

# Until every container with a health check is healthy.
wait_until_healthy() {
  local container state
  for container in coordinator node1 node2 node3; do
    for _ in {1..150}; do
      state=$(docker inspect --format '{{.State.Health.Status}}' "$(docker-compose ps -q "$container")")
      [[ $state == healthy ]] && break || sleep 0.2
    done
    echo "$container: $state"
    [[ $state == healthy ]]
  done
}
ask() { docker-compose exec -T coordinator sh -c 'fairwater --token-file "$FAIRWATER_TOKEN_FILE" "$@"' - "$@"; }

echo "Starting"
docker-compose up -d
wait_until_healthy
docker-compose exec -T coordinator sh -c 'cat > /tmp/tenants.yaml' <examples/tenants.yaml
ask tenant apply /tmp/tenants.yaml
ask node list
ask job run --tenant physics --tasks 24 --wait -- hostname

echo "Restarting everything: the cluster is what it was"
docker-compose restart --timeout 5
wait_until_healthy
ask job list
ask ledger verify
