// JSON that is written already, such as an event's body. It goes out as it stands, so numbers keep all their digits and
// keys their order, and what the service would refuse of it is not lost before it gets there.

export class JsonText {
  readonly text: string;

  /** Throws SyntaxError for what is not JSON. */
  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }
}

const MEMBER = ',"body":';

/**
 * The body of an event as the API writes it: its last member, and no text before it has an unescaped quote. Of what has
 * none it is no JSON.
 */
export function bodyTextOf(event: string): string {
  const start = event.indexOf(MEMBER);
  return start === -1 ? '' : event.slice(start + MEMBER.length, event.lastIndexOf('}'));
}

/** As JSON; a member that is a JsonText as it stands. Throws TypeError for one that is an invalid Date. */
export function encode(value: object): string {
  const members = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    // As JSON it is null, which the service takes for "not given".
    if (member instanceof Date && Number.isNaN(member.getTime())) throw new TypeError(`${name} is no valid Date`);
    const text = member instanceof JsonText ? member.text : (JSON.stringify(member) as string | undefined);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(',')}}`;
}
