//! What a wedge is, for a person who met one.

/// The explanation, in paragraphs.
pub const TEXT: &str = "\
A wedged sqld answers reads, and /health says 200, but a write is never answered, not even of a single client; with
nobody connected the process may use a whole core, with dozens of threads that could run. Only a write and a look at the
idle process tell it from a server that is slow. Restarting the server ends it, and every acknowledged write is there.

It is met with many clients (16 and more) that write on streams of their own: each statement opens a stream, which is a
new connection to SQLite inside the server, and closes it. Connections queue for the right to write. A likely cause,
from traces: a connection that waits too long gives up with SQLITE_BUSY but leaves its place in the queue behind; the
right to write is later handed to that place, whose connection is gone, and so to nobody.

What avoids it:
  hold streams      one stream for all statements of a client, so that no connection in the queue goes away:
                    repro run sweep --stream held
  no checkpoints    sqld --checkpoint-interval-s 86400; the log then grows by megabytes a second: budget the disk:
                    repro run sweep --sqld-arg=--checkpoint-interval-s=86400
  batch             fewer, larger writes: many statements in one message and one transaction
  watch             probe with a write, not with /health; restart on a write that is not answered within 15 s

How often it happens here:
  repro run sweep --clients 32 --seconds 20 --until-wedged 10
";
