// Sending many again is an operation of the service's: how fast, how many it would be, and waiting for its end.
import type { Operation } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { printResult, type Asking } from '../api/service-command.ts';
import { integerFlag, integerOf, type CommandLine, type Flag } from '../command.ts';
import { RANGE_FLAGS } from '../input/time-flag.ts';
import { tell } from '../output.ts';
import { nextCommand } from '../next-command.ts';

const PER_SECOND = { min: 1, max: 10_000, fallback: 100 };

export const BULK_FLAGS = {
  ...RANGE_FLAGS,
  'per-second': integerFlag('deliveries a second to each destination', PER_SECOND),
  'dry-run': { type: 'boolean', meaning: 'only say how many it would be' },
  wait: { type: 'boolean', meaning: 'wait until it is done; exit code 1 if it was cancelled or has failed' },
} as const satisfies Record<string, Flag>;

export function perSecondOf(line: CommandLine): number {
  return integerOf(line, 'per-second', PER_SECOND);
}

/** Flags that choose among many make no sense beside the id of one. */
export function refuseBesideId(line: CommandLine, flags: readonly string[]): void {
  for (const flag of flags) {
    if (line.textOf(flag) === null && !line.has(flag)) continue;
    throw new UsageError(`--${flag} is for many: leave it out, or the id`);
  }
}

/** Resolves with the exit code. */
export async function followOperation(asking: Asking, begun: Operation): Promise<number> {
  const { client, line, isJson } = asking;
  if (!line.has('wait')) {
    await printResult(asking, begun);
    if (!isJson) tell(`It goes on in the background: ${nextCommand(`operations get ${begun.id} --watch`)}`);
    return 0;
  }
  let shown = -1;
  const ended = await client.operations.wait(begun.id, {
    onProgress: ({ done, total }) => {
      if (done === shown || isJson || !process.stderr.isTTY) return;
      shown = done;
      tell(`${done} of ${total} sent`);
    },
  });
  await printResult(asking, ended);
  return ended.status === 'done' ? 0 : 1;
}
