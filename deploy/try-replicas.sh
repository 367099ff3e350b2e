#!/usr/bin/env bash
# Three coordinators, three members of etcd and three agents on this machine, until Ctrl-C: for trying out what becomes
# of a cluster whose leader goes (docs/replicas.md). `./dev try-replicas` builds first; by itself it wants fairwaterd,
# fairwater and etcd in PATH.
set -euo pipefail

place=$(mktemp -d "${TMPDIR:-/tmp}/fairwater-replicas-XXXXXX")
declare -A pid=()

# Everything that was started here, tasks included: each names the directory, on its command line or in its environment.
started_here() {
  local process
  for process in /proc/[0-9]*; do
    [[ ${process#/proc/} != "$$" && ${process#/proc/} != "$BASHPID" ]] || continue
    ! grep -qzF "$place/" "$process/cmdline" "$process/environ" 2>/dev/null || echo "${process#/proc/}"
  done
}
clean_up() {
  trap '' INT TERM
  local process=()
  echo "Stopping"
  [[ -z ${idle:-} ]] || kill "$idle" 2>/dev/null || true
  # Until none is left: an agent may have been about to start a task.
  while mapfile -t process < <(started_here) && ((${#process[@]} > 0)); do
    kill -KILL "${process[@]}" 2>/dev/null || true
    sleep 0.1
  done
  rm -rf --one-file-system "$place"
}
trap clean_up EXIT
trap 'exit 0' INT TERM

used=' '
free_port() {
  while port=$((20000 + RANDOM % 12000)); do
    [[ $used != *" $port "* ]] && ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  done
  used+="$port "
}
# A session of its own: Ctrl-C is for this script, which stops them.
start() {
  local name=$1
  shift
  setsid "$@" >>"$place/$name.log" 2>&1 </dev/null &
  pid[$name]=$!
  disown  # bash need not say so when it is killed
}
await() {
  local what=$1 name=$2 tries=150
  shift 2
  until "$@" >/dev/null 2>&1; do
    kill -0 "${pid[$name]}" 2>/dev/null && ((tries-- > 0)) || {
      echo "$what: no. The end of $place/$name.log:" >&2
      tail -n 5 "$place/$name.log" >&2
      exit 1
    }
    sleep 0.2
  done
}

declare -A head=() clients=() peers=()
for i in 1 2 3; do
  free_port && head[$i]=127.0.0.1:$port
  free_port && clients[$i]=http://127.0.0.1:$port
  free_port && peers[$i]=http://127.0.0.1:$port
done
export FAIRWATER_ADDRESS=${head[1]},${head[2]},${head[3]}

echo "Starting three members of etcd, three coordinators and three agents in $place"
for i in 1 2 3; do
  start "etcd$i" etcd --name "etcd$i" --data-dir "$place/etcd$i" \
    --listen-client-urls "${clients[$i]}" --advertise-client-urls "${clients[$i]}" \
    --listen-peer-urls "${peers[$i]}" --initial-advertise-peer-urls "${peers[$i]}" \
    --initial-cluster "etcd1=${peers[1]},etcd2=${peers[2]},etcd3=${peers[3]}" \
    --heartbeat-interval 30 --election-timeout 300 --pre-vote --max-request-bytes 16777216
done
cat >"$place/replicas.yaml" <<END
members: {head1: '${head[1]}', head2: '${head[2]}', head3: '${head[3]}'}
etcd: ['${clients[1]}', '${clients[2]}', '${clients[3]}']
END
start_head() {
  local i=$1
  shift
  start "head$i" fairwaterd coordinator --replicas "$place/replicas.yaml" --member "head$i" --data "$place/head$i" \
    --listen "${head[$i]}" "$@"
}
start_head 1 --init --found
await "the first coordinator leads" head1 grep -q 'leading since' "$place/head1.log"
export FAIRWATER_TOKEN
FAIRWATER_TOKEN=$(cat "$place/head1/operator.token")
fairwater ledger backup "$place/backup" >/dev/null
for i in 2 3; do start_head "$i" --join "$place/backup"; done
for i in 2 3; do await "another coordinator follows" "head$i" grep -q following "$place/head$i.log"; done

cat >"$place/agent.yaml" <<'END'
resources: {cpu: 4, memory: 4GiB}
run_as_default: agent
allow_root_tasks: true
END
for i in 1 2 3; do
  start "node$i" fairwaterd agent --config "$place/agent.yaml" --coordinator "$FAIRWATER_ADDRESS" --name "node$i" \
    --data "$place/node$i" --join-token-file "$place/head1/join.token"
done
fairwater tenant apply - >/dev/null <<'END'
tenants: [{name: physics, weight: 1}]
END
nodes_up() { [[ $(fairwater node list | grep -c ' up ') == 3 ]]; }
await "three nodes are up" node3 nodes_up

cat <<TEXT
$(for i in 1 2 3; do echo "head$i  ${head[$i]}  pid ${pid[head$i]}"; done)
$(for i in 1 2 3; do echo "etcd$i  ${clients[$i]}  pid ${pid[etcd$i]}"; done)
$(for i in 1 2 3; do echo "node$i  pid ${pid[node$i]}"; done)
What they say is in $place/*.log

In another terminal:
  export PATH=$(dirname "$(command -v fairwater)"):\$PATH
  export FAIRWATER_ADDRESS=$FAIRWATER_ADDRESS
  export FAIRWATER_TOKEN=$FAIRWATER_TOKEN
and then, for instance:
  fairwater job run --tenant physics --tasks 100 --quiet -- sleep 1
  fairwater status                  # who leads, who follows, how far behind
  fairwater coordinator handover    # another leads, after a fifth of a second
  kill -9 PID                       # of the one that leads: another does after about a second, and tasks go on
  fairwater job list
head1 again, when it was killed:
  fairwaterd coordinator --replicas $place/replicas.yaml --member head1 --data $place/head1 --listen ${head[1]}
Ctrl-C here stops all of it.
TEXT
sleep infinity &
idle=$!
wait "$idle"
