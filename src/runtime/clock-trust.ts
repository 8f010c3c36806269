// Whether the wall clock may be believed where believing it destroys something. One that jumps ahead is wrong more
// often than right, and what was erased because everything seemed a month older does not come back.
import type { Clock } from './clock.ts';

export type ClockTrust = ReturnType<typeof createClockTrust>;

/** Slewing, and a machine that was paused for a moment, stay below. */
const JUMP_MS = 60_000;
/** Long enough for somebody to read the log; what waits for it is as late. */
const DOUBTED_MS = 24 * 60 * 60 * 1_000;

/** `onJump`: the clock is this much further than the time that has passed. Called once for each jump. */
export function createClockTrust(clock: Clock, onJump: (byMs: number) => void) {
  const readOffset = (): number => clock.now() - clock.monotonic();
  let believed = readOffset();
  let doubted: { offset: number; since: number } | null = null;

  const believe = (offset: number): void => {
    believed = offset;
    doubted = null;
  };
  return {
    /** False for a day after the clock jumped ahead, unless it is set back before. Asked at least once an hour. */
    isSettled(): boolean {
      const offset = readOffset();
      // Back where it was, or set back: nothing is older for it than it is.
      if (offset - believed <= JUMP_MS) {
        believe(offset);
        return true;
      }
      if (doubted === null || Math.abs(offset - doubted.offset) > JUMP_MS) {
        doubted = { offset, since: clock.monotonic() };
        onJump(offset - believed);
      }
      if (clock.monotonic() - doubted.since < DOUBTED_MS) return false;
      believe(offset);
      return true;
    },
  };
}
