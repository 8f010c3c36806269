// For zsh: sourced, or as _postrider in a folder of $fpath.
import type { Offer } from './offer.ts';
import { quote } from '../next-command.ts';

export function zshScript(offers: readonly Offer[]): string {
  const places = [...Map.groupBy(offers, ({ at }) => at)].map(([at, here]) => {
    const described = here.map(({ word, meaning }) => `      ${quote(`${word.replaceAll(':', '\\:')}:${meaning}`)}`);
    return `    ${quote(at)}) offers=(\n${described.join('\n')}\n    ) ;;`;
  });
  const values = offers
    .filter(({ takesValue }) => takesValue)
    .map(
      ({ at, word, options = [] }) =>
        `    ${quote(`${at} ${word}`)}) values=(${options.map(quote).join(' ')}); return 0 ;;`,
    );
  return `#compdef postrider
# zsh completion of postrider: made by "postrider completion zsh".
_postrider_offers() {
  case $1 in
${places.join('\n')}
    *) return 1 ;;
  esac
}

# Whether the flag takes a value, and which there are.
_postrider_values() {
  values=()
  case $1 in
${values.join('\n')}
  esac
  return 1
}

_postrider() {
  local at='' flag=\${words[CURRENT-1]} i
  local -a offers values
  for ((i = 2; i < CURRENT && i < 4; i++)); do
    _postrider_offers "\${at:+$at }\${words[i]}" || break
    at="\${at:+$at }\${words[i]}"
  done
  if [[ \${words[CURRENT]} = --*=* ]]; then
    flag=\${words[CURRENT]%%=*}
    compset -P 1 '*='
  fi
  if _postrider_values "$at $flag"; then
    # Of a list the last part.
    compset -P '*,'
    if (( \${#values} )); then compadd -- $values; else _files; fi
    return
  fi
  _postrider_offers "$at"
  _describe 'postrider' offers
}

if [ "$funcstack[1]" = _postrider ]; then _postrider "$@"; else compdef _postrider postrider; fi`;
}
