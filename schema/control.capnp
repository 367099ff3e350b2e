@0xb6c0d9a2f4e17c55;
# Fairwater's control protocol: what clients, agents and a coordinator say to each other.
#
# Parties
#   The coordinator listens (TCP, default port 7400) and serves `Gateway` as the bootstrap
#   interface. A client (an operator's or a tenant's program) logs in and gets a session. An agent
#   (one per node) registers and gets a NodeSession; in return it hands over an AgentControl,
#   through which the coordinator sends orders. What a party may do is what it holds: a tenant's
#   client has no capability with operator calls in it, and an agent none with jobs in it. Calling a
#   method that a session does not have fails as unimplemented, which means "not permitted".
#
# Errors
#   What the coordinator has to say against a call travels as data: `error` in the results. When it
#   is set, every other result is empty; when it is null, the call was carried out. An RPC exception
#   always means a fault of the connection, the library or the program, never an answer.
#
# Ordering
#   Calls on one capability arrive in the order in which they were made, and may be answered in any
#   other. AgentControl.orders must be carried out in the order of arrival. An answer to a call that
#   changes something (submitJob, cancelJob, applyTenants, removeTenant, issueToken, createToken, revokeToken, drainNode, removeNode, forgiveDebt,
#   registerAgent, heartbeat) is sent after the change is durable.
#
# Retry
#   Errors with `retryable` may be tried again, later, unchanged. After a lost connection the
#   outcome of a call that was not answered is unknown. Repeating applyTenants, drainNode,
#   cancelJob, heartbeat or registerAgent is harmless, and so is repeating submitJob with the
#   `requestId` that it had: for 7 days a tenant's second submission with one id is answered with the
#   first one's job, or `already_exists` if it asks for something else. Without one it may submit
#   twice: look with listJobs first. Repeating forgiveDebt with an amount may
#   forgive it twice. `not_leader` (nothing was done) names the coordinator to ask instead. Launch
#   orders are not repeated by the transport: an agent reports what it runs, and the coordinator acts
#   on the difference. An agent starts each TaskKey at most once,
#   whatever arrives. Of a coordinator of an epoch older than the newest it ever saw, in this run or
#   an earlier one, it takes no registration, no reply (it extends no lease, acknowledges nothing)
#   and no order. Epochs are compared within one incarnation of the ledger; 0, from an older
#   coordinator, is compared with nothing.
#
# Pages
#   Whatever grows with work is answered as far as one message holds it (about 1 MiB; the ledger 4).
#   `more` says that there may be more: ask again, after the last id, pair or index that came
#   (listJobs: query.before; readJournal: since). Pages of one listing are read at different times.
#
# Bounds
#   A coordinator closes a connection that has not logged in or registered within its login timeout,
#   that sends a message above its size limit (8 MiB unless configured, 512 segments), that stops
#   reading its answers, or that fails to log in several times. More calls at once than it admits
#   per connection are answered `overloaded`.
#
# Versions
#   Each side sends the newest protocol version it speaks, and the coordinator answers with the one
#   in use: the smaller of the two. It refuses (`not_supported`) a peer older than the oldest
#   version it still serves. Within one version, fields and methods may be added at the end: an
#   absent field reads as zero or empty, which must mean what it meant before, and a missing method
#   fails as unimplemented. No ordinal is reused and no type changed. Both sides refuse enumerants
#   that they do not know.
#
# Units: as in records.capnp.

using Cxx = import "/capnp/c++.capnp";
using Records = import "records.capnp";
$Cxx.namespace("fairwater::wire");

const protocolVersion :UInt32 = 1;

struct Error {
  code @0 :Text;       # stable name: invalid_input, not_found, not_permitted, unavailable, ..
  message @1 :Text;    # one sentence for people
  field @2 :Text;      # path of the offending input, as `tasks.min`, or empty
  retryable @3 :Bool;
  leader @4 :Text;     # with `not_leader`: HOST:PORT of the coordinator to ask, where it is known
}

# -- the bootstrap interface -----------------------------------------------------------------------

interface Gateway {
  # All that a peer can call before it has shown a token. One identity per connection.

  login @0 (token :Text, protocolVersion :UInt32,
      acceptsFollower :Bool)             # answers of one that follows will do; others refuse it
      -> (
      error :Error,
      session :TenantSession,            # for a tenant's token and for an operator's
      operatorSession :OperatorSession,  # the same object, for an operator's token only
      role :Records.Role,
      tenant :UInt32,
      tenantName :Text,
      protocolVersion :UInt32,
      remembersRequests :Bool,           # submitJob's requestId; older coordinators do not
      user :Text,           # of the tenant; empty: the token names none
      takesWeights :Bool);  # TenantSpec.weights; older coordinators would leave them out
  # Wrong tokens are answered late, and the later the more of them there were.

  registerAgent @1 (
      protocolVersion :UInt32,
      credential :Text,         # made by the agent; proves from now on that it is this node
      joinToken :Text,          # empty once the credential has been accepted
      spec :Records.NodeSpec,
      report :AgentReport,
      control :AgentControl,
      identity :AgentIdentity) -> (
      error :Error,
      session :NodeSession,
      node :UInt32,
      epoch :UInt64,
      reply :ReportReply,       # to `report`
      protocolVersion :UInt32,
      clusterId :Text);         # for the agent to keep, and to show from now on
  # The registration lives as long as the connection. It is judged in this order: credential or join
  # token, cluster, whether the agent has seen more than the ledger holds (`storage_behind`), whether
  # another run of the agent holds the node (`already_exists`: this one is a duplicate).

  identify @2 (nonce :Data)  # 32 bytes
      -> (error :Error, clusterId :Text, publicKey :Data, signature :Data);
  # Ed25519 over "fairwater coordinator 1", a zero byte, the nonce and the cluster's id. An agent asks before it
  # shows a secret. A few times per connection.
}

# -- clients ---------------------------------------------------------------------------------------

interface TenantSession {
  # What every client may do. A tenant's session sees and touches that tenant and its jobs only; an
  # operator's sees all. What belongs to somebody else is `not_found`, as if it did not exist.

  getStatus @0 () -> (error :Error, status :ClusterStatus);
  listTenants @1 (after :UInt32) -> (error :Error, tenants :List(TenantInfo), more :Bool);
  listNodes @2 (after :UInt32) -> (error :Error, nodes :List(NodeInfo), more :Bool);
  submitJob @3 (spec :Records.JobSpec, requestId :Text) -> (error :Error, id :UInt64);
  # `requestId`: chosen by the client, at most 64 bytes of visible ASCII; empty: none. See Retry.
  listJobs @4 (query :JobQuery) -> (error :Error, jobs :List(Records.JobRecord), more :Bool);
  showJob @5 (id :UInt64, firstTask :UInt32) -> (error :Error, detail :JobDetail);
  cancelJob @6 (id :UInt64, reason :Text) -> (error :Error);
  waitJob @7 (id :UInt64, timeoutMs :Int64) -> (error :Error, job :Records.JobRecord);
  # The job when it has ended, or as it is after the timeout (at most 60,000).
  explainTask @8 (id :UInt64, index :UInt32) -> (error :Error, explanation :Explanation);
  readLog @9 (id :UInt64, index :UInt32, standardError :Bool, offset :UInt64)
      -> (error :Error, chunk :LogChunk);
  showLedger @10 (afterTenant :UInt32, afterDebtor :UInt32, afterCreditor :UInt32)
      -> (error :Error, ledger :LedgerView);
  showProfile @11 (tenant :Text, jobClass :Text) -> (error :Error, profile :ClassProfile);
  # What the newest runs of a tenant's class took. `tenant` empty: the caller's.
  queryUsage @12 (query :UsageQuery) -> (error :Error, rows :List(UsageRow), more :Bool);
  # What attempts that have ended used, by group, in ascending order.
  getFreshness @13 () -> (error :Error, follower :Text, ageMs :Int64);
  # `follower`: the coordinator that answers, which does not lead; empty: it does. What is asked for
  # afterwards is at most `ageMs` and the time since older than what is durable.
}

interface OperatorSession extends(TenantSession) {
  applyTenants @0 (specs :List(Records.TenantSpec), dryRun :Bool)
      -> (error :Error, changes :List(TenantChange));
  removeTenant @1 (name :Text) -> (error :Error, leaving :Bool);
  # `leaving`: it is not gone yet; it takes no jobs any more, and goes when it has none and owes nothing.
  issueToken @2 (tenant :Text) -> (error :Error, token :Text);
  # The only time that the token is seen: the coordinator keeps its hash.
  drainNode @3 (name :Text, reason :Text, drain :Bool, deadlineMs :Int64) -> (error :Error);
  # `drain` false ends it. In `deadlineMs` what still runs there is stopped; 0: it runs to its end.
  readJournal @4 (since :UInt64, limit :UInt32, waitMs :Int64) -> (error :Error, page :JournalPage);
  # Records from number `since` on; waits for the first up to `waitMs` (at most 60,000).
  verifyLedger @5 (withArchive :Bool) -> (error :Error, report :VerifyReport);
  showStanding @6 () -> (error :Error, standing :LedgerStanding);
  trustLedger @7 (reason :Text) -> (error :Error);
  # The operator vouches for a ledger that nodes doubt, or that was copied.
  createToken @8 (role :Records.Role, tenant :Text, name :Text, lifetimeMs :Int64, user :Text)
      -> (error :Error, token :Text, info :TokenInfo);
  # As issueToken, for every role. `lifetimeMs` 0: it never expires. A join token names the coordinator's key.
  listTokens @9 () -> (error :Error, tokens :List(TokenInfo));
  revokeToken @10 (token :Text) -> (error :Error, info :TokenInfo);
  # By name or id. Connections that logged in with it are closed; the caller's own is of no use any more.
  removeNode @11 (name :Text) -> (error :Error);
  # Of one that is down, or drained, and runs nothing. Its credential opens nothing afterwards.
  forgiveDebt @12 (debtor :Text, creditor :Text, amount :Text, reason :Text, dryRun :Bool)
      -> (error :Error, shares :List(ForgivenShare), left :Int64, measure :LedgerMeasure);
  # What `debtor` owes, to one creditor or (empty) to all, up to an amount as people write it or (empty) all of it.
  # `shares`: what was, or would be, forgiven; `left`: what it owes afterwards.
  backupLedger @13 (directory :Text) -> (error :Error, backup :LedgerBackup);
  # On the coordinator's machine: an absolute path that is not there yet. Answered when it is verified.
  handOver @14 () -> (error :Error);
  # One of several coordinators lets another lead, and follows. The connection ends with it, maybe before the answer.
  planDrain @15 (name :Text, reason :Text, begins :Int64, deadlineMs :Int64) -> (error :Error);
  # As drainNode from that moment on; until then tasks start there that end before by their time limits. `deadlineMs`
  # counts from its beginning.
}

# -- agents ----------------------------------------------------------------------------------------

interface NodeSession {
  heartbeat @0 (report :AgentReport) -> (error :Error, reply :ReportReply);
  # Answered when what the report said is durable. Reports are taken in order; one may be sent
  # before the one before is answered.
}

interface AgentControl {
  orders @0 (launches :List(LaunchOrder), stops :List(StopOrder), members :List(JobMembers)) -> ();
  # Launches before stops before members. Answered on receipt, not when carried out: the next report tells.
  readLog @1 (task :Records.TaskKey, standardError :Bool, offset :UInt64)
      -> (error :Error, chunk :LogChunk);
}

struct LaunchOrder {
  task @0 :Records.TaskKey;
  epoch @1 :UInt64;
  taskCount @2 :UInt32;
  command @3 :List(Text);
  environment @4 :List(Records.KeyValue);
  directory @5 :Text;
  limits @6 :List(Records.NamedAmount);
  timeLimitMs @7 :Int64;
  graceMs @8 :Int64;
  tenant @9 :UInt32;
  runAs @10 :Records.RunAs;  # null: the node decides
  exclusiveCpus @11 :Bool;   # processors of its own; an older agent gives it none
  gang @12 :List(GangHost);  # of all tasks of its gang, by their indices; an older agent names none
  gangKey @13 :Text;         # known to the tasks of this run of the gang alone
  followsMembers @14 :Bool;  # it is told which tasks of its job run: JobMembers
  devices @15 :List(Text);   # by name; an older agent chooses by itself
  leaseMs @16 :Int64;        # its own; 0: as every task's, which an older agent gives it anyway
}

struct JobMembers {
  # Which tasks of an elastic job run now, for its tasks on this node. An older agent tells them nothing.
  job @0 :UInt64;
  epoch @1 :UInt64;
  members @2 :List(JobMember);  # by index
  notifySignal @3 :Int32;       # to the tasks; 0: none
}

struct JobMember {
  index @0 :UInt32;
  node @1 :Text;
  address @2 :Text;
}

struct GangHost {
  node @0 :Text;
  address @1 :Text;
  tasks @2 :UInt32;
}

struct StopOrder {
  task @0 :Records.TaskKey;
  epoch @1 :UInt64;
}

struct AgentIdentity {
  # Beside its node. An agent of an older version leaves all of it empty.
  clusterId @0 :Text;         # that it joined; empty before
  seenHash @1 :Data;          # of the journal record AgentReport.highWaterCycle; empty: not kept
  seenIncarnation @2 :UInt32; # of the ledger that told it so
  runStarts @3 :UInt64;       # how often it was started on its data directory
  runId @4 :Text;             # of this process
  moved @5 :Bool;             # its data directory was copied since it was last let in
  seenEpoch @6 :UInt64;       # the newest of a coordinator of that incarnation; 0: not kept
}

struct AgentReport {
  running @0 :List(Records.TaskKey);      # every attempt that is started and not finished
  finished @1 :List(Records.TaskResult);  # each until it is acknowledged
  highWaterCycle @2 :UInt64;              # in a registration: the newest cycle it was ever told of
  obsoleteCapacity @3 :List(Records.NamedAmount);  # stands in the registration
}

struct ReportReply {
  acknowledged @0 :List(Records.TaskKey);  # results that the agent may forget
  committedCycle @1 :UInt64;
  leaseMs @2 :Int64;                       # from the sending of the report that this answers
  heartbeatIntervalMs @3 :Int64;
  committedHash @4 :Data;                  # of the record `committedCycle`
  ledgerIncarnation @5 :UInt32;
  epoch @6 :UInt64;                        # of the coordinator that answers
  longestLeaseMs @7 :Int64;                # of tasks with a lease of their own; 0: none has one
}

# -- answers ---------------------------------------------------------------------------------------

struct ClusterStatus {
  clusterId @0 :Text;
  version @1 :Text;
  epoch @2 :UInt64;
  cycle @3 :UInt64;
  position @4 :UInt64;
  granting @5 :Bool;
  whyNotGranting @6 :Text;
  tenants @7 :UInt32;
  nodesUp @8 :UInt32;
  nodes @9 :UInt32;
  tasksRunning @10 :UInt64;
  tasksPending @11 :UInt64;
  capacity @12 :List(Records.NamedAmount);
  used @13 :List(Records.NamedAmount);
  storageDamage @14 :Text;  # what of the ledger could not be read since the start; empty: nothing
  leader @15 :Text;         # the coordinator that answers, by name; empty: it has no replicas
  replicas @16 :List(ReplicaInfo);
  history @17 :HistoryStanding;  # of the coordinator that answers
  rules @18 :DealingRules;  # null: it follows, or is of an older version
}

enum AllocationRule {
  sequence @0;
  drf @1;
}

enum GrowthRule {
  qrea @0;
  qreaRebalance @1;
  crea @2;
  bra @3;
}

enum Predict {
  limits @0;
  history @1;
}

struct DealingRules {
  # By which rules a coordinator deals.
  allocation @0 :AllocationRule;
  elastic @1 :GrowthRule;
  predict @2 :Predict;
  preemptAfterMs @3 :Int64;
  preemptsForMin @4 :Bool;
}

struct HistoryStanding {
  # What of the ledger's history is in the archive. All 0 from a coordinator that does not say.
  files @0 :UInt64;
  bytes @1 :UInt64;
  first @2 :UInt64;       # the oldest record that is kept there; 0: none is
  last @3 :UInt64;        # the newest
  checkpoint @4 :UInt64;  # the record that the newest checkpoint is of; 0: there was none
  cutAt @5 :Int64;        # when the newest file was made
  failure @6 :Text;       # why history was not cut when it was last tried; empty: it was
}

struct ReplicaInfo {
  # One of several coordinators.
  name @0 :Text;
  address @1 :Text;
  cycle @2 :UInt64;  # newest record on its disk
  version @3 :Text;
  heard @4 :Int64;   # when it last said so, by its own clock
  silentMs @5 :Int64;  # since it was last heard of, by the clock of who answers
}

struct LedgerDoubt {
  node @0 :Text;
  cycle @1 :UInt64;  # that it has seen
  hash @2 :Data;
  incarnation @3 :UInt32;
  reason @4 :Text;
  since @5 :Int64;
}

struct LedgerStanding {
  # Whether the ledger is taken for the newest there is, and who says otherwise.
  trusted @0 :Bool;
  why @1 :Text;  # it is not
  cycle @2 :UInt64;
  hash @3 :Data;
  incarnation @4 :UInt32;
  copied @5 :Bool;          # the directory is not where the last trusted coordinator left it
  awaited @6 :List(Text);   # nodes that have not spoken since the start
  doubts @7 :List(LedgerDoubt);
}

struct LedgerBackup {
  clusterId @0 :Text;
  cycle @1 :UInt64;  # the newest record in it
  hash @2 :Data;
  incarnation @3 :UInt32;
  recorded @4 :Int64;  # when that record was
  made @5 :Int64;
  bytes @6 :UInt64;
  tookMs @7 :Int64;
}

struct TenantInfo {
  record @0 :Records.TenantRecord;
  request @1 :List(Records.NamedAmount);
  runtimeQuota @2 :List(Records.NamedAmount);
  used @3 :List(Records.NamedAmount);
  pendingTasks @4 :UInt64;
  runningTasks @5 :UInt64;
  net @6 :Int64;  # positive when others owe it; in what `measure` says
  measure @7 :LedgerMeasure;
  creditAdvice @8 :CreditAdvice;
  guaranteed @9 :List(Records.NamedAmount);  # with the mins of those in it
}

enum CreditAdvice {
  # What the tenant's credit for growth says of its quota.
  none @0;
  quotaTooLarge @1;
  quotaTooSmall @2;
}

struct LedgerMeasure {
  # What the ledger's balances count: units, or unit-milliseconds.
  accounting @0 :Records.Accounting;
  millicoresPerUnit @1 :Int64;  # 0: the cluster counts no processors
}

struct ForgivenShare {
  creditor @0 :Text;
  units @1 :Int64;
}

enum ChangeKind {
  unchanged @0;
  added @1;
  changed @2;
  removed @3;
}

struct TenantChange {
  name @0 :Text;
  kind @1 :ChangeKind;
  fields @2 :List(Text);  # what differs, as `weight: 3 -> 5`
}

struct TokenInfo {
  # What may be known of a token.
  id @0 :Text;
  name @1 :Text;
  role @2 :Records.Role;
  tenant @3 :Text;
  createdAt @4 :Int64;
  expiresAt @5 :Int64;
  lastUsed @6 :Int64;  # since the coordinator started; 0: not
  user @7 :Text;  # of the tenant; empty: none
}

enum NodeState {
  up @0;
  draining @1;
  drained @2;
  down @3;
}

struct NodeInfo {
  record @0 :Records.NodeRecord;
  state @1 :NodeState;
  capacity @2 :List(Records.NamedAmount);
  free @3 :List(Records.NamedAmount);
  runningTasks @4 :UInt64;
  lastHeartbeat @5 :Int64;
  problem @6 :Text;
  devices @7 :List(DeviceState);
}

struct DeviceState {
  name @0 :Text;
  resource @1 :Text;
  held @2 :Bool;
  task @3 :Records.TaskKey;  # that holds it
  share @4 :Int64;           # of it that the task has, in thousandths; 0: it is not shared
}

struct JobQuery {
  # Newest first.
  tenant @0 :Text;  # empty: all that the caller may see
  state :union {
    any @1 :Void;
    only @2 :Records.JobState;
  }
  limit @3 :UInt32;
  before @4 :UInt64;  # only ids below this; 0: from the newest
  user @5 :Text;  # empty: all users', and what has none
}

enum UsagePeriod {
  whole @0;
  day @1;
  month @2;
}

struct UsageGroup {
  # What is not told apart is 0, or empty.
  day @0 :UInt32;  # since 1970-01-01 UTC; of a month its first
  tenant @1 :UInt32;
  user @2 :Text;
}

struct UsageQuery {
  firstDay @0 :UInt32;
  lastDay @1 :UInt32;  # included
  tenant @2 :Text;  # and all that are in it; empty: all that the caller may see
  user @3 :Text;  # empty: all users', and what has none
  period @4 :UsagePeriod;
  byTenant @5 :Bool;
  byUser @6 :Bool;
  after @7 :UsageGroup;  # only groups that follow it; null: from the first
}

struct UsageRow {
  group @0 :UsageGroup;
  tenant @1 :Text;  # its name; empty when it was removed, or is not told apart
  usage @2 :Records.UsageRecord;
}

struct TaskInfo {
  index @0 :UInt32;
  record @1 :Records.TaskRecord;
  node @2 :Text;
}

struct JobDetail {
  job @0 :Records.JobRecord;
  tasks @1 :List(TaskInfo);  # from the first one asked for on
  more @2 :Bool;
  expectedStart @3 :Int64;  # of the next task that waits; 0: it is not known
}

struct ClassRun {
  # One task of a class, or one of its attempts that hit the memory limit.
  job @0 :UInt64;
  index @1 :UInt32;
  reason @2 :Records.EndReason;
  exitCode @3 :Int32;
  runMs @4 :Int64;
  cpuMs @5 :Int64;
  peakMemoryKib @6 :Int64;
}

struct ClassAmounts {
  # The newest runs of a class that were given these amounts.
  resources @0 :List(Records.NamedAmount);
  runs @1 :List(ClassRun);         # newest first
  unfinished @2 :List(UInt64);     # jobs that have not ended
}

struct ClassProfile {
  tenant @0 :Text;
  jobClass @1 :Text;
  amounts @2 :List(ClassAmounts);
  more @3 :Bool;  # there are runs with other amounts, which are left out
}

struct LogChunk {
  data @0 :Data;
  end @1 :Bool;  # the task has ended and this was the last piece
}

struct Iou {
  debtor @0 :UInt32;
  creditor @1 :UInt32;
  units @2 :Int64;
  age @3 :UInt64;
}

struct TenantNet {
  tenant @0 :UInt32;
  units @1 :Int64;
}

struct LedgerView {
  cycle @0 :UInt64;
  position @1 :UInt64;
  tenants @2 :List(Records.TenantRecord);
  net @3 :List(TenantNet);
  ious @4 :List(Iou);  # by debtor, then creditor
  more @5 :Bool;
  counterparties @6 :List(IdName);  # names of those in `ious` that `tenants` does not show
  measure @7 :LedgerMeasure;
  countsTimeSince @8 :Int64;  # 0: it counts what it was created with
  unitMsPerUnit @9 :Int64;  # what a unit that was owed became then; 0: it was forgiven
}

struct IdName {
  id @0 :UInt32;
  name @1 :Text;
}

struct NameTable {
  # Names that the records beside it refer to by id.
  tenants @0 :List(IdName);
  nodes @1 :List(IdName);
  resources @2 :List(Text);  # by index in a Vector
}

struct JournalPage {
  records @0 :List(Records.JournalRecord);
  names @1 :NameTable;
}

struct Obstacle {
  code @0 :Text;
  message @1 :Text;
}

struct Explanation {
  job @0 :Records.JobRecord;
  task @1 :TaskInfo;
  obstacles @2 :List(Obstacle);  # for a pending task, first things first
  grantCycle @3 :UInt64;         # for a placed one: the journal record,
  deal @4 :Records.Deal;         # and the deal in it; null when there is none
  names @5 :NameTable;
  mark @6 :ExplainedMark;        # for a pending one, where the ledger counts time; else null
  measure @7 :LedgerMeasure;
  expectedStart @8 :Int64;       # for a pending one, as JobDetail's
}

enum PredictionSource {
  # Where an expected run time comes from.
  taskClass @0;
  tenant @1;
  limit @2;
}

struct MarkMove {
  # By how much one tenant's debt to another moves both their marks. Amounts in millionths of a unit.
  other @0 :UInt32;
  owed @1 :Int64;        # unit-milliseconds, between these two
  debtorOwes @2 :Int64;  # in all
  debtorPart @3 :Int64;
  repayMillionths @4 :UInt32;
  due @5 :Int64;    # min(repay * debtorPart, debtorPart - keptForMin) * owed / debtorOwes
  moved @6 :Int64;  # less where the creditor's credit covers less
  keptForMin @7 :Int64;  # of debtorPart: the debtor's min, or its share of a group's
}

struct NextTask {
  # The first task that a tenant would run.
  job @0 :UInt64;
  index @1 :UInt32;
  cost @2 :Int64;        # millionths of a unit
  expectedMs @3 :Int64;  # 0: nobody knows
  expectedFrom @4 :PredictionSource;
  isCovered @5 :Bool;  # by the tenant's credit, or within its part or quota
}

struct ExplainedMark {
  # How a ledger that counts time arrives at a tenant's mark. Amounts in millionths of a unit.
  resource @0 :UInt32;  # of which time is counted, by index
  held @1 :Int64;
  part @2 :Int64;
  base @3 :Int64;  # its quota, or its part where that is more
  mark @4 :Int64;
  net @5 :Int64;             # unit-milliseconds
  moves @6 :List(MarkMove);  # the largest first
  next @7 :NextTask;         # null while it waits for nothing that may run
}

struct VerifyReport {
  ok @0 :Bool;
  records @1 :UInt64;
  netSum @2 :Int64;
  differences @3 :List(Text);
  beginsAfter @4 :UInt64;  # what stood after this record was taken as given
  lastCycle @5 :UInt64;    # the newest record; 0, and no hash, of what is not whole
  lastHash @6 :Data;
  incarnation @7 :UInt32;
}
