import { printResult } from '../api/print-result.ts';
import { idOf, serviceCommand } from '../api/service-command.ts';
import { integerOf } from '../command.ts';
import { readSecret, SECRET_FLAG } from './destination-flags.ts';

const OVERLAP_SECONDS_DEFAULT = 86_400;

export const rotateSecretCommand = serviceCommand(
  {
    name: 'destinations rotate',
    summary: 'Make a new signing secret and print it, this once; the old one signs too for a while',
    usage: ['destinations rotate ID [flags]'],
    examples: ['destinations rotate dst_…', 'destinations rotate dst_… --overlap-seconds 3600'],
    flags: {
      'overlap-seconds': {
        type: 'string',
        meaning: 'how long the old secret goes on signing beside the new one',
        value: 'N',
        unit: '0-604800',
        default: String(OVERLAP_SECONDS_DEFAULT),
      },
      'signing-secret': SECRET_FLAG,
    },
    words: ['ID'],
  },
  async (asking) => {
    const { client, line } = asking;
    const id = idOf(line, { prefix: 'dst', noun: 'destination' });
    const overlap = integerOf(line, 'overlap-seconds', { fallback: OVERLAP_SECONDS_DEFAULT, min: 0, max: 604_800 });
    const rotated = await client.destinations.rotate(id, { overlap_seconds: overlap, ...(await readSecret(line)) });
    await printResult(asking, rotated);
  },
);
