// Waiting without time: both ends of every connection are in this process, so turns of its event loop do.

/** The next turn: whatever was due in this one is done. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Some turns, each with a look at the network: what was written on loopback before has been read since. */
export async function arrival(): Promise<void> {
  for (let i = 0; i < 25; i++) await turn();
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await turn();
}
