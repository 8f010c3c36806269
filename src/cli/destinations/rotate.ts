import { idOf, printResult, serviceCommand } from '../api/service-command.ts';
import { integerFlag, integerOf } from '../command.ts';
import { readSecret, SECRET_FLAG } from './destination-flags.ts';

const OVERLAP_SECONDS = { min: 0, max: 604_800, fallback: 86_400 };

export const rotateSecretCommand = serviceCommand(
  {
    name: 'destinations rotate',
    summary: 'Make a new signing secret and print it, this once; the old one signs too for a while',
    usage: ['destinations rotate ID [flags]'],
    examples: ['destinations rotate dst_…', 'destinations rotate dst_… --overlap-seconds 3600'],
    flags: {
      'overlap-seconds': integerFlag('how long the old secret goes on signing beside the new one', OVERLAP_SECONDS),
      'signing-secret': SECRET_FLAG,
    },
    words: ['ID'],
  },
  async (asking) => {
    const { client, line } = asking;
    const id = idOf(line, { prefix: 'dst', noun: 'destination' });
    const overlap = integerOf(line, 'overlap-seconds', OVERLAP_SECONDS);
    const rotated = await client.destinations.rotate(id, { overlap_seconds: overlap, ...(await readSecret(line)) });
    await printResult(asking, rotated);
  },
);
