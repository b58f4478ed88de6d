//! An explanation of wedged servers for users who encounter one.

/// The explanation, in paragraphs. Its counts are from sweeps of this program with sqld 0.24.32 on two
/// virtual CPUs: five runs each of 16, 32 and 64 clients for 10 s, with 30 % writes.
pub const TEXT: &str = "\
A wedged sqld answers reads, and /health says 200, but a write is never answered, not even of a single client; with
nobody connected the process may use a whole core or two, with dozens of threads that could run. Only a write and a look
at the idle process tell it from a server that is slow. Restarting the server ends it, and every acknowledged write is
there.

It is met with many clients (from eight, sometimes) that write while the write-ahead log is checkpointed. Connections
queue for the right to write. A likely cause, from traces: a connection that waits too long gives up with SQLITE_BUSY but
leaves its place in the queue behind; the right to write is later handed to that place, and so to nobody.

What avoids it:
  put off checkpoints   sqld --checkpoint-interval-s 86400: none of 15 levels wedged. The log then grows by megabytes a
                        second: budget the disk, and checkpoint when nobody writes
  batch                 fewer, larger writes: many statements in one message and one transaction, and few writers
  watch                 probe with a write, not with /health, and restart when it is not answered within 15 s

What does not: one stream held by each client makes statements cheaper, but 8 of 15 levels wedged all the same.

How often it happens here, and with either setting:
  repro run sweep --clients 32 --seconds 20 --repeat 10
  repro run sweep --clients 32 --seconds 20 --repeat 10 --stream held
  repro run sweep --clients 32 --seconds 20 --repeat 10 --sqld-arg=--checkpoint-interval-s=86400
";
