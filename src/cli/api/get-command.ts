// `NOUN get ID`: everything that is known of one thing.
import type { CallOptions } from '../../../sdk/typescript/src/postrider.ts';
import type { Command } from '../command.ts';
import { formatDetails } from './details.ts';
import { idOf, serviceCommand, type Asking, type Declaration } from './service-command.ts';
import { show, WATCH_FLAG } from './watch.ts';

type GetDeclaration<Thing> = Omit<Declaration, 'usage' | 'words' | 'flags'> & {
  kind: { prefix: string; noun: string };
  read: (asking: Asking, id: string, options: CallOptions) => Promise<Thing>;
  /** For people, where plain fields do not do. */
  format?: (thing: Thing, width: number | null) => string;
};

export function getCommand<Thing extends object>(declaration: GetDeclaration<Thing>): Command {
  const { kind, read, format = formatDetails, ...declared } = declaration;
  const usage = [`${declared.name} ID [flags]`];
  return serviceCommand({ ...declared, usage, flags: { watch: WATCH_FLAG }, words: ['ID'] }, async (asking) => {
    const id = idOf(asking.line, kind);
    await show<Thing>(asking, {
      read: async (signal) => [await read(asking, id, { signal })],
      idOf: () => id,
      format: ([thing], width) => format(thing!, width),
    });
  });
}
