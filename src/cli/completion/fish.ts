// For fish: one line for each word that may come.
import type { Offer } from './offer.ts';

export function fishScript(offers: readonly Offer[]): string {
  const groups = new Set(
    offers
      .map(({ at }) => at)
      .filter((at) => at.includes(' '))
      .map((at) => at.split(' ')[0]!),
  );
  const lines = offers.map(({ at, word, meaning, takesValue, options = [], isList }) => {
    const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
    const values = isList ? `(__fish_append , ${options.join(' ')})` : options.join(' ');
    const value = !takesValue ? '' : options.length === 0 ? ' -r' : ` -x -a ${quote(values)}`;
    return `complete -c postrider -n ${quote(`__postrider_at ${quote(at)}`)} ${what}${value} -d ${quote(meaning)}`;
  });
  return `# fish completion of postrider: made by "postrider completion fish".
function __postrider_at
    set -l words (commandline -opc | string match -v -- '-*')
    set -e words[1]
    set -l at "$words[1]"
    if contains -- "$at" ${[...groups].join(' ')}; and test (count $words) -gt 1
        set at "$at $words[2]"
    end
    test "$at" = "$argv[1]"
end

complete -c postrider -n ${quote(`__postrider_at ''`)} -f
${lines.join('\n')}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
