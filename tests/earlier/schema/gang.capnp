@0xd935de5ed3dc554f;
# What `fairwater gang run` says between the tasks of one gang, which may be on several machines
# (cli/gang/README.md). All of them are started by one order and run one version: it has none.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("fairwater::wire");

interface GangEntrance {
  # Served by the first task, to whoever connects.
  greet @0 (index :UInt32, nonce :Data) -> (proof :Data, nonce :Data, hall :GangHall);
  # `proof` shows that the first task knows the gang's key; the caller shows the same to the hall.
}

interface GangHall {
  join @0 (proof :Data, member :GangMember) -> ();
  # Answered when the first task's program has ended.
}

interface GangMember {
  run @0 (command :Text) -> (status :Int32);
  # By a shell, as the task of that index. Answered when it has ended.
}

interface GangSwitchboard {
  # On a socket in the first task's private directory.
  run @0 (index :UInt32, command :Text) -> (status :Int32);
}
