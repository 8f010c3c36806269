// What is mostly there at once, and now and then has to be waited for: a promise for each would cost every event
// several turns of the microtask queue and a kilobyte of garbage.

/** `next` of a value: at once if that is there. */
export function andThen<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}
