// For bash 3.2 and later, which macOS still has: no associative arrays.
import type { Offer } from './offer.ts';

export function bashScript(offers: readonly Offer[]): string {
  const places = Map.groupBy(offers, ({ at }) => at);
  const words = [...places].map(([at, here]) => `    '${at}') words='${here.map(({ word }) => word).join(' ')}' ;;`);
  const values = offers
    .filter(({ takesValue }) => takesValue)
    .map(({ at, word, options = [] }) => `    '${at} ${word}') values='${options.join(' ')}'; return 0 ;;`);
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
  local at='' words='' values='' before='' i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    _postrider_words "\${at:+$at }\${COMP_WORDS[i]}" || break
    at="\${at:+$at }\${COMP_WORDS[i]}"
  done
  COMPREPLY=()
  # Of --flag=value the "=" is a word of its own, unless COMP_WORDBREAKS was changed.
  if [ "$current" = = ]; then current=
  elif [ "$previous" = = ]; then previous=\${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $current == --*=* ]]; then
    previous=\${current%%=*} before=$previous= current=\${current#*=}
  fi
  if _postrider_values "$at $previous"; then
    # Of a list the last part.
    if [ -n "$values" ]; then
      before=$before\${current%"\${current##*,}"}
      COMPREPLY=($(compgen -P "$before" -W "$values" -- "\${current##*,}"))
    else COMPREPLY=($(compgen -P "$before" -f -- "$current")); fi
    return
  fi
  _postrider_words "$at"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -F _postrider postrider`;
}
