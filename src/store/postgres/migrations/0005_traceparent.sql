-- The trace that an event came with (W3C Trace Context, traceparent); null where no traces are asked for.
ALTER TABLE events ADD COLUMN traceparent text;
