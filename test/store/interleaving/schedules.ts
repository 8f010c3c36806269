// Which of two writers goes next, at every point where both could: all ways there are with so many preemptions (the
// other one is let go though the one that went last could go on), or some drawn by chance. Waiting for a lock, and
// ending, pass the turn for nothing.
import { SeededRandom } from '../../sim/seeded-random.ts';
import type { Choose, Step, Which } from './two-writers.ts';

/** More would never end. */
const SCHEDULES_MAX = 1_000_000;

/** Runs every schedule with at most so many preemptions, each once; how many. `run` returns the steps it made. */
export async function exploreAll(
  run: (choose: Choose) => Promise<Step[]>,
  { preemptionsMax }: { preemptionsMax: number },
): Promise<number> {
  let prefix: Which[] | null = [];
  let schedules = 0;
  while (prefix !== null) {
    if (schedules >= SCHEDULES_MAX) throw new Error(`more than ${SCHEDULES_MAX} schedules`);
    const followed: readonly Which[] = prefix;
    const steps = await run((made) => followed[countFree(made)] ?? stay(made));
    schedules++;
    prefix = nextPrefix(steps, followed.length, preemptionsMax);
  }
  return schedules;
}

/** Seeded: the same seeds, the same choices. */
export async function exploreByChance(
  run: (choose: Choose) => Promise<Step[]>,
  { seeds, first }: { seeds: number; first: number },
): Promise<void> {
  for (let seed = first; seed < first + seeds; seed++) {
    const random = new SeededRandom(seed);
    await run(() => (random.chance(0.5) ? 0 : 1));
  }
}

/** Whoever went last goes on; the first writer begins. */
function stay(steps: readonly Step[]): Which {
  return steps.at(-1)?.writer ?? 0;
}

function countFree(steps: readonly Step[]): number {
  return steps.filter(({ isFree }) => isFree).length;
}

/**
 * The choices of the next schedule, depth first: the last point where staying was chosen and leaving is still allowed,
 * turned over. Points within the prefix that were turned over are done with: what follows them has been tried.
 */
function nextPrefix(steps: readonly Step[], prefixLength: number, preemptionsMax: number): Which[] | null {
  const points: { chosen: Which; stays: boolean; preemptionsBefore: number; isFirst: boolean }[] = [];
  let preemptions = 0;
  steps.forEach((step, at) => {
    if (!step.isFree) return;
    const stays = step.writer === stay(steps.slice(0, at));
    points.push({ chosen: step.writer, stays, preemptionsBefore: preemptions, isFirst: at === 0 });
    if (!stays && at > 0) preemptions++;
  });
  if (points.length < prefixLength) throw new Error('a schedule was not repeatable');
  for (let at = points.length - 1; at >= 0; at--) {
    const { chosen, stays, preemptionsBefore, isFirst } = points[at]!;
    if (!stays || (!isFirst && preemptionsBefore >= preemptionsMax)) continue;
    const before = points.slice(0, at).map((point) => point.chosen);
    return [...before, chosen === 0 ? 1 : 0];
  }
  return null;
}
