//! An explanation of wedged servers for users who encounter one.

/// The explanation, in paragraphs. Its counts are from sweeps of this program with sqld 0.24.32 on two
/// virtual CPUs: five runs each of 16, 32 and 64 clients for 10 s, with 30 % writes.
pub const TEXT: &str = "\
A wedged sqld answers reads, and /health returns 200, but it never answers a write, not even from a single client. With
nobody connected, the process may use one or two whole cores, with dozens of threads that could run. Only a write and a
look at the idle process distinguish it from a slow server. Restarting the server ends it, and every acknowledged write
is still there.

It happens with many clients (sometimes from eight on) that write while the write-ahead log is checkpointed. Connections
queue for the right to write. A likely cause, from traces: a connection that waits too long gives up with SQLITE_BUSY but
leaves its place in the queue behind; the right to write is later given to that place, and so to nobody.

What avoids it:
  put off checkpoints   sqld --checkpoint-interval-s 86400: none of 15 levels wedged. The log then grows by megabytes
                        per second: plan for the disk space, and checkpoint when nobody writes
  batch                 fewer, larger writes: many statements in one message and one transaction, and few writers
  watch                 probe with a write, not with /health, and restart when it is not answered within 15 s

What does not: one stream held by each client makes statements cheaper, but 8 of 15 levels still wedged.

To see how often it happens here, without and with these settings:
  repro run sweep --clients 32 --seconds 20 --repeat 10
  repro run sweep --clients 32 --seconds 20 --repeat 10 --stream held
  repro run sweep --clients 32 --seconds 20 --repeat 10 --sqld-arg=--checkpoint-interval-s=86400
";
