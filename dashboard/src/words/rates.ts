/** What is counted, or read, in the first seconds of a step says nothing of a rate yet. */
const SECONDS_MIN = 10;

type Steps = { beginnings: readonly number[]; seconds: number; readAt: number };

/** Counts of steps as rates a second. The last step may not be over: as if it were, every rate would end in a fall. */
export function ratesOf(counts: readonly number[], { beginnings, seconds, readAt }: Steps): (number | null)[] {
  return counts.map((count, index) => {
    const passed = readAt - beginnings[index]!;
    return passed < SECONDS_MIN ? null : count / Math.min(seconds, passed);
  });
}
