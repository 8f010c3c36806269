// An event's body that is JSON already. It goes out as it stands, so numbers keep all their digits and keys their
// order; Postrider delivers it byte for byte.

export class JsonText {
  readonly text: string;

  /** Throws SyntaxError for what is not JSON. */
  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }
}

const MEMBER = ',"body":';

/** The body of an event as the API writes it: its last member, and no text before it has an unescaped quote. */
export function bodyTextOf(event: string): string {
  return event.slice(event.indexOf(MEMBER) + MEMBER.length, event.lastIndexOf('}'));
}

/** As JSON; of what has a `body`, a JsonText there is taken as it is. */
export function encodeEvent(event: object): string {
  const { body, ...rest }: { body?: unknown } = event;
  if (!(body instanceof JsonText)) return JSON.stringify(event);
  const members = JSON.stringify(rest).slice(1, -1);
  return `{${members}${members === '' ? '' : ','}"body":${body.text}}`;
}
