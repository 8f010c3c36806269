// What can be said of a destination when it is made or changed.
import type { DestinationPatch } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { SIGNATURE_STYLES } from '../../model/destination.ts';
import { whereGiven, type CommandLine, type Flag } from '../command.ts';
import { jsonObjectOf, valueOf } from '../input/json-flag.ts';

export const DESTINATION_FLAGS = {
  name: { type: 'string', meaning: 'a label for people', value: 'NAME' },
  'max-in-flight': { type: 'string', meaning: 'requests to it at one time', value: 'N', unit: '1-1000' },
  'rate-per-second': { type: 'string', meaning: 'attempts a second on average; "none": no limit', value: 'N' },
  'retry-policy': {
    type: 'string',
    meaning: 'when to try again, such as {"schedule_seconds":[10,60]}; {} is the default: JSON, @file or -',
    value: 'JSON',
  },
  headers: { type: 'string', meaning: 'headers of every request to it: JSON, @file or -', value: 'JSON' },
  metadata: { type: 'string', meaning: 'whatever is worth keeping with it: JSON, @file or -', value: 'JSON' },
  'signature-style': {
    type: 'string',
    meaning: 'svix: Svix’s headers too, for receivers that come from there',
    value: 'STYLE',
    options: SIGNATURE_STYLES,
  },
} as const satisfies Record<string, Flag>;

/** Of one that is made, and of one whose secret is rotated. */
export const SECRET_FLAG: Flag = {
  type: 'string',
  meaning: 'a secret that the receiver has already: whsec_…, @file, or - for standard input',
  value: 'SECRET',
  default: 'a new one',
};

export async function readSecret(line: CommandLine): Promise<{ signing_secret?: string }> {
  const secret = await valueOf(line, 'signing-secret');
  return secret === null ? {} : { signing_secret: secret.trim() };
}

type Options = Omit<DestinationPatch, 'url' | 'status'>;

/** Those that are given. Throws UsageError. */
export async function readDestinationFlags(line: CommandLine): Promise<Options> {
  const isUnlimited = line.textOf('rate-per-second') === 'none';
  return {
    ...(isUnlimited ? { rate_per_second: null } : {}),
    ...whereGiven({
      name: line.textOf('name'),
      max_in_flight: numberOf(line, 'max-in-flight'),
      rate_per_second: isUnlimited ? null : numberOf(line, 'rate-per-second'),
      // Whether they are such is the service's to judge: its error names the flag.
      retry_policy: await jsonObjectOf(line, 'retry-policy'),
      headers: await jsonObjectOf(line, 'headers'),
      metadata: await jsonObjectOf(line, 'metadata'),
      signature_style: line.textOf('signature-style') as Options['signature_style'] | null,
    }),
  };
}

/** Whether it is in range is the service's to judge. */
function numberOf(line: CommandLine, flag: string): number | null {
  const text = line.textOf(flag);
  if (text === null) return null;
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw new UsageError(`--${flag}: "${text}" is not a number`);
}
