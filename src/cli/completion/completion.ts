// A script by which a shell completes commands and flags: made from the same declarations as --help.
import { UsageError } from '../../config.ts';
import { flagsOf } from '../command.ts';
import type { Command, CommandEntry, GroupEntry } from '../command.ts';
import { print } from '../output.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { Offer } from './offer.ts';
import { zshScript } from './zsh.ts';

const SHELLS: Record<string, (offers: readonly Offer[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `entries`: every command there is; handed in, for this is one of them. */
export function completionOf(entries: () => readonly (CommandEntry | GroupEntry)[]): Command {
  return {
    name: 'completion',
    summary: 'Print what makes bash, zsh or fish complete commands and flags',
    usage: ['completion bash|zsh|fish'],
    examples: [
      'completion bash >> ~/.bash_completion',
      'completion zsh > "${fpath[1]}/_postrider"',
      'completion fish > ~/.config/fish/completions/postrider.fish',
    ],
    words: ['SHELL'],
    async run(line) {
      const [shell] = line.words;
      const script = shell !== undefined && Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (script === undefined) throw new UsageError(`name the shell: completion ${Object.keys(SHELLS).join('|')}`);
      await print(script(await listOffers(entries())));
    },
  };
}

async function listOffers(entries: readonly (CommandEntry | GroupEntry)[]): Promise<Offer[]> {
  const commands = new Map<string, Command>();
  for (const { name, load } of entries.flatMap((entry) => ('load' in entry ? [entry] : entry.commands))) {
    commands.set(name, await load());
  }
  const names = entries.flatMap((entry) => {
    if ('load' in entry) return [wordAt('', entry.name, commands.get(entry.name)!.summary)];
    const verbs = entry.commands.map(({ name }) =>
      wordAt(entry.name, name.slice(entry.name.length + 1), commands.get(name)!.summary),
    );
    return [wordAt('', entry.name, entry.summary), ...verbs];
  });
  const flags = [...commands].flatMap(([at, command]) =>
    Object.entries(flagsOf(command)).map(([name, { type, meaning, options = [], isList = false }]) => {
      return { at, word: `--${name}`, meaning, takesValue: type === 'string', options, isList };
    }),
  );
  const shells = Object.keys(SHELLS).map((shell) => wordAt('completion', shell, `for ${shell}`));
  return [...names, ...shells, ...flags];
}

function wordAt(at: string, word: string, meaning: string): Offer {
  return { at, word, meaning, takesValue: false, options: [], isList: false };
}
