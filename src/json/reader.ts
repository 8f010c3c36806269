// Reads JSON text where JSON.parse does not do: it drops duplicate keys and the digits of long numbers, and V8's may
// misread a key that is written with an escape. It compares such a key, still escaped, with the key at that place of
// an object that it parsed before, maybe another customer's: after {"a":1,"\\":2}, the second key of {"a":1,"\n":2} is
// a backslash too (nodejs/node#63785).

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

  /** What the string that comes next says. It may keep the whole text in memory: see readQuoted. */
  readString(): string {
    const quoted = this.readQuoted();
    return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  /** The string that comes next as it is written. JSON.parse makes of it a string that owns its characters. */
  readQuoted(): string {
    if (!this.isAtString()) throw new SyntaxError('not JSON');
    const start = this.#position++;
    // By character code: a regular expression takes half as long again, and bodies come through here.
    for (let code; (code = this.#text.charCodeAt(this.#position)) !== QUOTE; this.#position++) {
      if (Number.isNaN(code)) throw new SyntaxError('not JSON');
      if (code === BACKSLASH) this.#position++;
    }
    return this.#text.slice(start, ++this.#position);
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
