// `NOUN delete ID`: for good, and without a question, as the API does.
import type { Command } from '../command.ts';
import { idOf, printDone, serviceCommand, type Asking, type Declaration } from './service-command.ts';

type DeleteDeclaration = Omit<Declaration, 'usage' | 'words' | 'flags'> & {
  kind: { prefix: string; noun: string };
  remove: (asking: Asking, id: string) => Promise<void>;
};

export function deleteCommand({ kind, remove, ...declared }: DeleteDeclaration): Command {
  return serviceCommand({ ...declared, usage: [`${declared.name} ID`], words: ['ID'] }, async (asking) => {
    const id = idOf(asking.line, kind);
    await remove(asking, id);
    await printDone(asking, `${id} is deleted`, { id, deleted: true });
  });
}
