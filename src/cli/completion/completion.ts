// A script by which a shell completes commands and flags: made from the same declarations as --help.
import { UsageError } from '../../config.ts';
import { flagsOf, type Command, type CommandEntry, type GroupEntry } from '../command.ts';
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
      'completion fish > ~/.config/fish/conf.d/postrider.fish',
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
  const names: Offer[] = [];
  const flags: Offer[] = [];
  for (const entry of entries) {
    if ('commands' in entry) names.push({ at: '', word: entry.name, meaning: entry.summary });
    for (const { name, load } of 'commands' in entry ? entry.commands : [entry]) {
      const command = await load();
      const [word = '', at = ''] = name.split(' ').reverse();
      names.push({ at, word, meaning: command.summary });
      for (const [flag, { type, meaning, options, isList }] of Object.entries(flagsOf(command))) {
        flags.push({ at: name, word: `--${flag}`, meaning, takesValue: type === 'string', options, isList });
      }
    }
  }
  const shells = Object.keys(SHELLS).map((shell) => ({ at: 'completion', word: shell, meaning: `for ${shell}` }));
  return [...names, ...shells, ...flags];
}
