@0x8fa11a4645027856;
# Fairwater's records: what the ledger keeps on disk and, by import, what control.capnp sends.
#
# Parties
#   The coordinator's ledger writes and reads the records; `fairwater ledger verify` reads them beside it.
#   Agents and clients see the same structs inside the calls of control.capnp.
#
# Bytes on disk
#   One record is one message in Cap'n Proto's canonical form: a single segment, no segment table, no packing,
#   pointers in pre-order, trailing zero words left out. Equal values have equal bytes, so records can be
#   compared and hashed as they stand. A journal record's hash is BLAKE2b-256 over these bytes.
#
# Ordering
#   Journal records are numbered 1, 2, 3, .. without gaps, in the order in which they became durable; the first
#   is clusterCreated. Each carries the hash of the one before (32 zero bytes in the first). Within a record, lists
#   are in the order in which their entries take effect. Maps are lists sorted by name, each name once.
#
# Versions
#   New fields go to the end of a struct; their default must mean what a writer that did not know them meant. No ordinal is reused, no type is changed, no field is removed (it is renamed to obsoleteX).
#   A new kind of journal record is a new member of JournalRecord.body, a new state a new enumerant. A reader that
#   meets a union member or enumerant it does not know refuses the whole journal or call: what it cannot understand
#   it could only get wrong.
#
# Units
#   Times are microseconds since 1970 UTC (0: not yet), durations milliseconds. Amounts are base units: millicores,
#   MiB, or a count. A Vector holds amounts by resource index; names and granules of the indices are in the
#   clusterCreated record. Trailing zeros are left out. 2^61 is "no limit". `Units` are the ledger's currency.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("fairwater::wire");

using Vector = List(Int64);
using Hash = Data;  # exactly 32 bytes

struct NamedAmount {
  name @0 :Text;
  amount @1 :Int64;
}

struct KeyValue {
  key @0 :Text;
  value @1 :Text;
}

struct TaskKey {
  # One run of one task. `attempt` starts at 1 and grows whenever the task is given out anew.
  job @0 :UInt64;
  index @1 :UInt32;
  attempt @2 :UInt32 = 1;
  incarnation @3 :UInt32;  # of the ledger that granted it: see LedgerTrusted
}

# -- jobs and tasks ------------------------------------------------------------------------------------

enum JobKind {
  batch @0;
  service @1;
}

enum Placement {
  # By which rule a task's node is chosen among those with room.
  unset @0;
  inTurn @1;
  gdrf @2;
  bestFit @3;
  spread @4;
  pack @5;
}

struct JobSpec {
  tenant @0 :Text;
  name @1 :Text;
  jobClass @2 :Text;
  command @3 :List(Text);
  environment @4 :List(KeyValue);
  directory @5 :Text;
  tasksMin @6 :UInt32 = 1;
  tasksMax @7 :UInt32 = 1;
  resources @8 :List(NamedAmount);
  kind @9 :JobKind;
  priority @10 :Int32;
  gang @11 :Bool;
  labels @12 :Text;
  sites @13 :List(Text);
  devices @14 :List(Text);
  timeLimitMs @15 :Int64;
  graceMs @16 :Int64 = 5000;
  retries @17 :UInt32;
  after @18 :List(UInt64);
  preemptible @19 :Bool = true;
  exclusiveCpus @20 :Bool;
  preempt @22 :Bool;
  notify @23 :Text;  # of an elastic job: SIGUSR1, SIGUSR2 or SIGHUP
  profiled @21 :ProfiledAmounts;  # null: no amount was left to the class's profile
  placement @24 :Placement;       # unset: the tenant's
  user @25 :Text;                 # of the tenant; empty: none
  leaseMs @26 :Int64;             # without a coordinator; 0: the cluster's
  measuresTasks @27 :Bool;        # a gang that tells how long its class takes with so many tasks
}

struct ProfiledAmounts {
  # What of a job's amounts follows its class's profile.
  all @0 :Bool;                 # wanted: whatever the class's runs asked for
  resources @1 :List(Text);     # wanted and, once it is submitted, taken; ascending
  # The coordinator fills in:
  runs @2 :UInt32;              # of the class, by which the amounts were chosen
  confidencePermille @3 :UInt32;  # of the choice; 0: not known
  memorySteps @4 :List(Int64);  # what tasks get next once one hits its memory limit; MiB, ascending
}

enum TaskState {
  pending @0;
  running @1;
  succeeded @2;
  failed @3;
  cancelled @4;
}

enum EndReason {
  exited @0;
  signalled @1;
  memoryLimit @2;
  timeLimit @3;
  cancelled @4;
  leaseExpired @5;
  couldNotStart @6;
  nodeLost @7;
  launchFailed @8;
  supervisorLost @9;
}

enum GrantStep {
  # Step of the deal that placed a task.
  unknown @0;
  guarantee @1;
  allowance @2;
  remainder @3;
  backfill @4;
  reserved @5;
  growth @6;
}

struct TaskResult {
  # How one attempt ended.
  task @0 :TaskKey;
  reason @1 :EndReason;
  exitCode @2 :Int32;
  signal @3 :Int32;
  startedAt @4 :Int64;
  finishedAt @5 :Int64;
  cpuMs @6 :Int64;
  peakMemoryKib @7 :Int64;
  message @8 :Text;
}

struct TaskRecord {
  # Stored once a task was granted. A task without one is pending, attempt 1.
  state @0 :TaskState;
  attempt @1 :UInt32;
  failures @2 :UInt32;
  node @3 :UInt32;
  cost @4 :Int64;
  step @5 :GrantStep;
  beyondQuota @6 :Bool;
  grantCycle @7 :UInt64;
  grantedAt @8 :Int64;
  result @9 :TaskResult;  # of the last attempt that ended; null: none did
  launchFailures @10 :UInt32;
  losses @11 :UInt32;
  waitsUntil @12 :Int64;
  incarnation @13 :UInt32;
  restarts @14 :UInt32;  # of a service, in a row
  memoryStep @15 :UInt32;  # of the current or last run: 0 as the job asks, n as its memorySteps[n - 1]
  reclaimed @16 :Bool;  # the current run was told to end for others
  devices @17 :List(Text);  # of the current or last run
}

struct TaskCounts {
  total @0 :UInt32;
  running @1 :UInt32;
  succeeded @2 :UInt32;
  failed @3 :UInt32;
  cancelled @4 :UInt32;
  unneeded @5 :UInt32;  # of an elastic job, which has no work left for them
}

enum JobState {
  # What follows from a job's counts.
  pending @0;
  running @1;
  succeeded @2;
  failed @3;
  cancelled @4;
}

struct JobRecord {
  id @0 :UInt64;
  tenant @1 :UInt32;
  spec @2 :JobSpec;
  submittedAt @3 :Int64;
  startedAt @4 :Int64;
  finishedAt @5 :Int64;
  tasks @6 :TaskCounts;
  cancelled @7 :Bool;
  cancelReason @8 :Text;
  gangFailures @9 :UInt32;
  memoryStep @10 :UInt32;  # of the tasks that are granted next, as in TaskRecord
  begun @11 :UInt32;  # of an elastic job: tasks that were ever granted
  grown @12 :UInt32;  # of an elastic job: running tasks beyond those it started with
  windingDown @13 :Bool;  # of an elastic job: it has no work for tasks that have not begun
  growthLimit @14 :GrowthLimit;  # of an elastic job; null: none is known
}

struct GrowthLimit {
  # Beyond so many tasks an elastic job does not grow: the saturation point of its class.
  tasks @0 :UInt32;               # 0: it may grow as far as it says
  runs @1 :UInt32;                # of the class, by which it was found
  confidencePermille @2 :UInt32;  # 0: not known
}

# -- tenants and nodes -----------------------------------------------------------------------------------

enum QueuePolicy {
  fifo @0;
  fair @1;
  priority @2;
  shortestFirst @3;
}

struct RunAs {
  # A user of the nodes, by name or number.
  user @0 :Text;
  group @1 :Text;         # empty: the user's own
  groups @2 :List(Text);  # supplementary; empty: those of the node's user database
}

struct TenantSpec {
  name @0 :Text;
  parent @1 :Text;
  weight @2 :Int64 = 1;
  min @3 :List(NamedAmount);
  max @4 :List(NamedAmount);
  queue @5 :QueuePolicy;
  repayMillionths @6 :UInt32 = 1000000;
  mayLend @7 :Bool = true;
  mayBorrow @8 :Bool = true;
  runAs @9 :RunAs;  # null: whom each node takes for such tenants
  placement @10 :Placement;
  leaving @11 :Bool;  # takes no jobs any more, and goes when it has none and owes nothing
  lendCap @12 :Text;  # the most that others may owe it, as DebtSettings.cap; empty: no cap
  borrowCap @13 :Text;  # the most that it may owe, likewise
  weights @14 :List(NamedAmount);  # by resource, in place of `weight`
}

struct TenantRecord {
  id @0 :UInt32;
  spec @1 :TenantSpec;
  grantedUnitsTotal @2 :Int64;
  borrowedTotal @3 :Int64;
  lentTotal @4 :Int64;
  deficit @5 :Int64;
  repayRemainder @6 :UInt32;  # as in TenantLine
  timeRest @7 :Int64;  # micro-unit-milliseconds that were too little for the book
  heldUnitMs @8 :Int64;
  heldMillionths @9 :UInt32;
  partUnitMs @10 :Int64;
  partMillionths @11 :UInt32;
  forgivenTotal @12 :Int64;  # what it forgave others; below zero: what was forgiven it
  credit @13 :Int64;  # for growth, in unit-milliseconds
}

struct NodeDevices {
  # A node's devices of one resource, in the order in which they are given out.
  resource @0 :Text;
  names @1 :List(Text);
}

struct NodeTraits {
  name @0 :Text;
  site @1 :Text;
  labels @2 :List(KeyValue);
  devices @3 :List(NodeDevices);  # as far as it knows their names
}

struct NodeSpec {
  traits @0 :NodeTraits;
  capacity @1 :List(NamedAmount);
  instance @2 :Text;
  limits @3 :Text;
  isolation @4 :Text;  # who its tasks run as, in words
  address @5 :Text;    # where others reach its tasks
}

struct NodeRecord {
  id @0 :UInt32;
  spec @1 :NodeSpec;
  draining @2 :Bool;
  drainReason @3 :Text;
  lost @4 :Bool;
  credentialHash @5 :Hash;
  runStarts @6 :UInt64;  # the agent's newest start that was let in
  runId @7 :Text;
  drainedItself @8 :Bool;
  drainDeadline @9 :Int64;  # while it drains; 0: none
  plannedDrain @10 :PlannedDrain;
}

struct PlannedDrain {
  begins @0 :Int64;  # 0: none is planned
  deadline @1 :Int64;
  reason @2 :Text;
}

# -- deals ---------------------------------------------------------------------------------------------

struct Grant {
  task @0 :TaskKey;
  tenant @1 :UInt32;
  cost @2 :Int64;
  demand @3 :Vector;
  step @4 :GrantStep;
  beyondQuota @5 :Bool;
  placement @6 :Placement;  # the rule that chose the node; unset: none did
  devices @7 :List(Text);   # by name, where the node has told them
}

struct TenantLine {
  # One tenant's arithmetic in a deal. All in units but for the two vectors.
  tenant @0 :UInt32;
  deficitBefore @1 :Int64;
  granted @2 :Int64;
  passedOn @3 :Int64;
  passedTo @4 :Int64;
  paid @5 :Int64;
  received @6 :Int64;
  pooled @7 :Int64;
  allowance @8 :Int64;
  guaranteed @9 :Int64;
  placed @10 :Int64;
  rolledBack @11 :Int64;
  deficitAfter @12 :Int64;
  quota @13 :Vector;
  used @14 :Vector;
  repayRemainder @15 :UInt32;  # afterwards, in millionths of a unit; 0 where an older version forgot it
}

struct Repayment {
  debtor @0 :UInt32;
  creditor @1 :UInt32;
  units @2 :Int64;
}

struct Loan {
  lender @0 :UInt32;
  borrower @1 :UInt32;
  units @2 :Int64;
}

struct Reservation {
  # Room that a node keeps for a task of the tenant that is due.
  tenant @0 :UInt32;
  demand @1 :Vector;
}

struct Deal {
  # One node's free capacity, dealt out. Takes effect in the order: repayments, loans, grants.
  node @0 :UInt32;
  freeUnits @1 :Int64;
  unused @2 :Int64;
  positionBefore @3 :UInt64;
  positionAfter @4 :UInt64;
  lines @5 :List(TenantLine);
  grants @6 :List(Grant);
  repayments @7 :List(Repayment);
  loans @8 :List(Loan);
  reservation @9 :Reservation;  # room that the node keeps from now on; null: none
  keepsAccounts @10 :Bool = true;  # false: grants alone, made by a policy that keeps no accounts
}

# -- the journal -----------------------------------------------------------------------------------------

struct ResourceKind {
  name @0 :Text;
  granule @1 :Int64;
  units @2 :Int64 = 1;  # ledger units that one granule costs
}

enum Accounting {
  units @0;
  time @1;
}

enum DealMode {
  sized @0;
  slots @1;
}

enum Role {
  operatorRole @0;
  tenant @1;
  join @2;
}

struct ClusterCreated {
  clusterId @0 :Text;
  resources @1 :List(ResourceKind);
  mode @2 :DealMode;
  accounting @3 :Accounting;
}

struct CoordinatorStarted {
  epoch @0 :UInt64;
  version @1 :Text;
  lease @2 :LeaseTerms;
  debts @3 :DebtTerms;  # by which it settles time
  countsUsage @4 :Bool;  # what tasks use is added up from here on
}

struct DebtTerms {
  # What bounds debts; 0: nothing does.
  capPartMs @0 :Int64;   # so long of its own part is the most that a tenant may owe
  capUnitMs @1 :Int64;   # the most that a tenant may owe
  halfLifeMs @2 :Int64;  # in which what is owed becomes half
}

struct LeaseTerms {
  leaseMs @0 :Int64;  # the longest; 0: not noted
  graceMs @1 :Int64;
  olderUntil @2 :Int64;  # no earlier coordinator's lease outlasts this moment, grace included
  ordinaryMs @3 :Int64;  # of tasks without a lease of their own; 0: all are as long
  ordinaryOlderUntil @4 :Int64;  # as olderUntil, of those tasks
}

struct TenantsChanged {
  tenants @0 :List(TenantRecord);
  position @1 :UInt64;
}

struct TenantRemoved {
  tenant @0 :UInt32;
  position @1 :UInt64;
  forgiven @2 :Int64;
}

struct TenantLeaves {
  # It takes no jobs any more and borrows nothing more, and is removed when it has no job and owes nothing;
  # unless tenantsChanged names it before.
  tenant @0 :UInt32;
}

struct TokenIssued {
  role @0 :Role;
  tenant @1 :UInt32;
  tokenHash @2 :Hash;
  name @3 :Text;
  createdAt @4 :Int64;  # 0: not known
  expiresAt @5 :Int64;  # 0: never
  user @6 :Text;  # of the tenant; empty: none
}

struct TokenRevoked {
  tokenHash @0 :Hash;
}

struct JobSubmitted {
  id @0 :UInt64;
  tenant @1 :UInt32;
  spec @2 :JobSpec;
  request @3 :SubmissionRequest;  # null: the client gave it no id
}

struct SubmissionRequest {
  id @0 :Text;  # chosen by the client
  hash @1 :Hash;  # of what it asked for
}

struct JobCancelled {
  id @0 :UInt64;
  reason @1 :Text;
}

struct NodeChanged {
  # Written by versions that did not tell what had happened to the node; read by all.
  node @0 :NodeRecord;
}

struct NodeAdmitted {
  # An agent was let in as this node.
  node @0 :UInt32;
  spec @1 :NodeSpec;
  credentialHash @2 :Hash;
  runStarts @3 :UInt64;
  runId @4 :Text;
}

struct NodeDrained {
  node @0 :UInt32;
  draining @1 :Bool;  # false: it is given tasks again
  reason @2 :Text;
  byItself @3 :Bool;  # launches failed there; services that run there run on
  deadline @4 :Int64;  # from when on what runs there is stopped; 0: it runs to its end
  begins @5 :Int64;    # from when on it drains, which another record says then; 0: from here on
}

struct NodeLost {
  # Silent for longer than lease and grace: its tasks are given out again.
  node @0 :UInt32;
}

struct NodeReturned {
  # A lost one was heard again.
  node @0 :UInt32;
}

struct NodeSuperseded {
  # The run of its agent that held it is shut out for this later one.
  node @0 :UInt32;
  runStarts @1 :UInt64;
  runId @2 :Text;
}

struct NodeRemoved {
  node @0 :UInt32;
}

struct ServiceRestart {
  # Of a service's task whose attempt is over: in how long it is started again, where it has room.
  # What a reader is told; state follows from the results.
  task @0 :TaskKey;
  inMs @1 :Int64;
}

struct TasksFinished {
  node @0 :UInt32;
  results @1 :List(TaskResult);
  restarts @2 :List(ServiceRestart);
}

struct TasksRequeued {
  node @0 :UInt32;
  tasks @1 :List(TaskKey);
  reason @2 :Text;
  nodeLost @3 :Bool;  # they had been ordered: counted among their losses
  restarts @4 :List(ServiceRestart);
}

struct Advance {
  # Units of another tenant's slots that a grant used.
  lender @0 :UInt32;
  units @1 :Int64;
}

struct FailedLaunch {
  result @0 :TaskResult;
  returned @1 :List(Advance);
}

struct LaunchesFailed {
  # Grants that came to nothing. What others advanced goes back to them, in this order.
  node @0 :UInt32;
  launches @1 :List(FailedLaunch);
  restarts @2 :List(ServiceRestart);
}

struct Cycle {
  deals @0 :List(Deal);
}

struct TimeSettled {
  # What tenants held beside their parts from one moment of the ledger to another, in unit-milliseconds.
  fromMs @0 :Int64;
  untilMs @1 :Int64;
  lines @2 :List(TimeLine);
  resource @3 :UInt32;   # of which time is counted from here on
  halfLifeMs @4 :Int64;  # of debts; 0: they stay
  decayMs @5 :Int64;     # for which IOUs from before shrink; 0: they do not
}

struct TimeLine {
  tenant @0 :UInt32;
  position @1 :Int64;  # lent, or borrowed: below zero
  rest @2 :Int64;      # afterwards: micro-unit-milliseconds that were too little for the book
  heldUnitMs @3 :Int64;
  heldMillionths @4 :UInt32;
  partUnitMs @5 :Int64;
  partMillionths @6 :UInt32;
  beyondCap @7 :Int64;  # lent without an IOU, or borrowed: below zero; a borrower owed all that it may
  decayed @8 :Int64;    # gone from its claims, or from its debts: below zero
}

struct JobWindsDown {
  # An elastic job has no work left for tasks that have not begun.
  id @0 :UInt64;
}

struct GrowthLimited {
  # What is known of how far an elastic job's class makes use of more tasks has changed.
  id @0 :UInt64;
  limit @1 :GrowthLimit;
}

struct TasksReclaimed {
  # Tasks are told to end so that others get their room. They wait again, and that is no failure.
  tasks @0 :List(ReclaimedTask);
  forDrain @1 :Bool;  # the deadline of their node's drain has come
}

struct ReclaimedTask {
  node @0 :UInt32;
  task @1 :TaskKey;
  tenant @2 :UInt32;
  claimant @3 :UInt32;  # for whom; 0: its own tenant may not hold as much
  claimantJob @4 :UInt64;
  preempted @5 :Bool;   # it has not grown: it ran beyond its tenant's quota
}

struct CreditsSettled {
  # What tenants' elastic jobs held in a period beyond what they started with, and what that does to credits.
  periodMs @0 :Int64;
  lines @1 :List(CreditLine);
}

struct CreditLine {
  tenant @0 :UInt32;
  extras @1 :Int64;  # units
  unused @2 :Int64;  # micro-units of what belongs to the tenant
  change @3 :Int64;  # of its credit, in unit-milliseconds
}

struct DebtForgiven {
  # An operator forgave a tenant debts. In what the ledger's balances count.
  debtor @0 :UInt32;
  debts @1 :List(ForgivenDebt);
  reason @2 :Text;
}

struct ForgivenDebt {
  creditor @0 :UInt32;
  units @1 :Int64;
}

struct AccountingChanged {
  # The ledger, which counted units, counts time from here on.
  unitMsPerUnit @0 :Int64;  # what a unit that was owed is now; 0: what was owed is forgiven
}

struct LedgerTrusted {
  # An operator vouched for a ledger that lags, or may. What was granted or numbered in the life that
  # was lost is told from what follows by the incarnation.
  incarnation @0 :UInt32;
  givenUp @1 :UInt64;      # records of earlier incarnations up to this number may be missing
  skippedJobs @2 :UInt64;  # job ids that are left out
  reason @3 :Text;
  skippedTenants @4 :UInt32;  # likewise of tenants: tasks' users follow from them
  skippedNodes @5 :UInt32;
  skippedEpochs @6 :UInt64;   # and of coordinators' starts
}

struct TasksDisowned {
  # What a node had run in a life of the ledger that was lost. Changes nothing.
  node @0 :UInt32;
  results @1 :List(TaskResult);
}

struct Checkpointed {
  # What follows from the records up to `number` has this hash.
  number @0 :UInt64;
  stateHash @1 :Hash;
}

struct JournalRecord {
  number @0 :UInt64;
  time @1 :Int64;
  previous @2 :Hash;
  body :union {
    unset @3 :Void;  # never written
    clusterCreated @4 :ClusterCreated;
    coordinatorStarted @5 :CoordinatorStarted;
    tenantsChanged @6 :TenantsChanged;
    tenantRemoved @7 :TenantRemoved;
    tokenIssued @8 :TokenIssued;
    jobSubmitted @9 :JobSubmitted;
    jobCancelled @10 :JobCancelled;
    nodeChanged @11 :NodeChanged;
    tasksFinished @12 :TasksFinished;
    tasksRequeued @13 :TasksRequeued;
    cycle @14 :Cycle;
    launchesFailed @15 :LaunchesFailed;
    ledgerTrusted @16 :LedgerTrusted;
    tokenRevoked @17 :TokenRevoked;
    nodeRemoved @18 :NodeRemoved;
    nodeAdmitted @19 :NodeAdmitted;
    nodeDrained @20 :NodeDrained;
    nodeLost @21 :NodeLost;
    nodeReturned @22 :NodeReturned;
    nodeSuperseded @23 :NodeSuperseded;
    timeSettled @24 :TimeSettled;
    debtForgiven @25 :DebtForgiven;
    accountingChanged @26 :AccountingChanged;
    tasksReclaimed @27 :TasksReclaimed;
    creditsSettled @28 :CreditsSettled;
    jobWindsDown @29 :JobWindsDown;
    tasksDisowned @30 :TasksDisowned;
    checkpointed @31 :Checkpointed;
    growthLimited @32 :GrowthLimited;
    tenantLeaves @33 :TenantLeaves;
  }
}

# -- state that only the ledger keeps (keys: storage/families.hpp) ------------------------------------------

struct IouRecord {
  units @0 :Int64;
  age @1 :UInt64;  # smaller is older; unique among all IOUs of the ledger, ever
  rest @2 :UInt32;  # what decay left of a unit, in parts of 2^32
}

struct LiveRecord {
  # A job that is not terminal.
  tenant @0 :UInt32;
}

struct TenantJobRecord {
  # An entry of a tenant's list of jobs.
  state @0 :JobState;
}

struct TokenRecord {
  role @0 :Role;
  tenant @1 :UInt32;
  name @2 :Text;
  createdAt @3 :Int64;
  expiresAt @4 :Int64;
  user @5 :Text;
}

struct ClassRecord {
  # What past tasks of one job class with one resource demand took. Successful runs only.
  count @0 :UInt64;
  wallTotalMs @1 :Int64;
  wallMinMs @2 :Int64;
  wallMaxMs @3 :Int64;
  wallLastMs @4 :Int64;
}

struct ClassJobRecord {
  # An entry of a tenant's list of a class's jobs. Its key says all.
}

struct RequestKey {
  tenant @0 :UInt32;
  id @1 :Text;
}

struct RequestRecord {
  # A submission that is remembered by its request id. They form a list, the oldest first.
  job @0 :UInt64;
  hash @1 :Hash;  # of what was asked for
  submittedAt @2 :Int64;
  next @3 :RequestKey;  # the one that was submitted after it; null: it is the newest
}

struct UserRecord {
  # One of those who share a tenant; without a name, the tenant's jobs that have no user.
  served @0 :UInt64;  # the journal record by which it was granted something last; 0: never
}

struct UsedResource {
  # What was held of a resource: (low + high * 2^64) base units times milliseconds.
  name @0 :Text;
  low @1 :UInt64;
  high @2 :UInt64;
}

struct UsageRecord {
  # What a tenant's jobs of one user used in one day (UTC).
  used @0 :List(UsedResource);  # by name
  succeeded @1 :UInt64;  # attempts that ended so, likewise the next three
  failed @2 :UInt64;
  cancelled @3 :UInt64;  # stopped on order
  lost @4 :UInt64;  # given back, or ended by what is not the task's doing
  submitted @5 :UInt64;  # jobs
  firstStarts @6 :UInt64;  # tasks that were granted for the first time
  waitedMs @7 :UInt64;  # of these, from the job's submission
}

struct MetaRecord {
  # What the ledger as a whole remembers; changes with every journal record.
  lastNumber @0 :UInt64;
  lastHash @1 :Hash;
  cluster @2 :ClusterCreated;
  epoch @3 :UInt64;
  position @4 :UInt64;
  nextJob @5 :UInt64;
  nextTenant @6 :UInt32;
  nextNode @7 :UInt32;
  nextIouAge @8 :UInt64;
  lease @9 :LeaseTerms;  # of the last coordinator that noted them
  incarnation @10 :UInt32;
  givenUp @11 :UInt64;  # as in the newest LedgerTrusted
  ledgerMs @12 :Int64;  # the moment up to which time is settled
  timeResource @13 :UInt32;  # of which time is counted
  undecayedMs @14 :Int64;  # before ledgerMs, for which debts have yet to shrink
  debts @15 :DebtTerms;  # of the last coordinator
  countsTimeSince @16 :Int64;  # 0: it counts what it was created with
  unitMsPerUnit @17 :Int64;  # as in AccountingChanged
  oldestRequest @18 :RequestKey;  # that is remembered; null: none is
  newestRequest @19 :RequestKey;
  countsUsage @20 :Bool;  # since a coordinator started that does
  checkpoint @21 :UInt64;  # the newest's number; 0: none was made
  checkpointHash @22 :Hash;  # and its stateHash
}
