// Text from elsewhere, shown as what it holds: a character that nobody sees, or that turns the text after it around,
// stands there as its escape. A name could otherwise read as another, or as none, and a body as the page's own words.

/** DI: what has no look by default, VS: what chooses the look of another. But line breaks and tabs. */
const UNSEEN = /(?![\t\n\r\p{Join_Control}\p{VS}])[\p{Cc}\p{DI}\u2028\u2029\u2800]/u;
/** They join characters, or choose the form of the one before: with none before there is nothing to be seen. */
const LONE_JOINER = /(?<![\p{L}\p{M}\p{N}\p{S}#*])[\p{Join_Control}\p{VS}]/u;
const HIDDEN = new RegExp(`${UNSEEN.source}|${LONE_JOINER.source}`, 'gu');

export function visible(text: string): string {
  return text.replace(HIDDEN, (hidden) => hidden.split('').map(escapeOf).join(''));
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
