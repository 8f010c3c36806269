// For bash 3.2 and later, which macOS still has: no associative arrays.
import type { Offer } from './offer.ts';

export function bashScript(offers: readonly Offer[]): string {
  const places = Map.groupBy(offers, ({ at }) => at);
  const words = [...places].map(([at, here]) => `    '${at}') words='${here.map(({ word }) => word).join(' ')}' ;;`);
  const values = offers
    .filter(({ takesValue }) => takesValue)
    .map(({ at, word, options }) => `    '${at} ${word}') values='${options.join(' ')}'; return 0 ;;`);
  return `# bash completion of postrider: made by "postrider completion bash".
_postrider_words() {
  case $1 in
${words.join('\n')}
    *) return 1 ;;
  esac
}

# Whether the flag takes a value, and which there are.
_postrider_values() {
  values=
  case $1 in
${values.join('\n')}
  esac
  return 1
}

_postrider() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local at='' words='' values='' i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    _postrider_words "\${at:+$at }\${COMP_WORDS[i]}" || break
    at="\${at:+$at }\${COMP_WORDS[i]}"
  done
  COMPREPLY=()
  if _postrider_values "$at $previous"; then
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current"));
    else COMPREPLY=($(compgen -f -- "$current")); fi
    return
  fi
  _postrider_words "$at"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -F _postrider postrider`;
}
