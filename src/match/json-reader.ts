// Reads JSON text where JSON.parse does not do: it drops duplicate keys and the digits of long numbers, and
// V8's may misread a key that is written with an escape. It compares such a key, still escaped, with a key that it saw
// at that place of an earlier object, maybe of another customer: after {"a":1,"\\":2}, {"a":1,"\n":2} has the key \
// (nodejs/node#63785).

/** Steps through text that is known to be JSON; on any other it throws at some point. */
export class JsonReader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Steps over a character of punctuation, if it comes next. */
  skip(punctuation: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#position] !== punctuation) return false;
    this.#position++;
    return true;
  }

  isAtString(): boolean {
    this.#skipBlanks();
    return this.#text[this.#position] === '"';
  }

  /** What the string that comes next says. */
  readString(): string {
    if (!this.isAtString()) throw new SyntaxError('not JSON');
    const start = this.#position;
    let hasEscape = false;
    let end = start + 1;
    // By character code: a regular expression takes half as long again, and bodies come through here.
    for (let code; (code = this.#text.charCodeAt(end)) !== QUOTE && end < this.#text.length; end++) {
      if (code !== BACKSLASH) continue;
      hasEscape = true;
      end++;
    }
    this.#position = end + 1;
    if (!hasEscape) return this.#text.slice(start + 1, end);
    return JSON.parse(this.#text.slice(start, end + 1)) as string;
  }

  /** The text of the number, true, false or null that comes next. */
  readBare(): string {
    this.#skipBlanks();
    const start = this.#position;
    while (isPartOfBare(this.#text.charCodeAt(this.#position))) this.#position++;
    if (this.#position === start) throw new SyntaxError('not JSON');
    return this.#text.slice(start, this.#position);
  }

  #skipBlanks(): void {
    while (this.#text.charCodeAt(this.#position) <= SPACE) this.#position++;
  }
}

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Neither blank nor `, ] }` nor the end of the text (NaN). */
function isPartOfBare(code: number): boolean {
  return code > SPACE && code !== 0x2c && code !== 0x5d && code !== 0x7d;
}
