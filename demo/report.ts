// What the demo prints: numbered steps, what happens, what it proves. A terminal also shows what is being waited for,
// on a line that the next one replaces; a log file gets plain lines.
import { styleText } from 'node:util';

export type Report = {
  begin(number: number, title: string): void;
  say(text: string): void;
  proved(claim: string): void;
  waiting(text: string): void;
};

const INDENT = '    ';
const ERASE_LINE = '\r\u001B[K';

export function createTextReport(out: NodeJS.WriteStream): Report {
  let isWaitingShown = false;

  const print = (line: string): void => {
    out.write(`${isWaitingShown ? ERASE_LINE : ''}${line}\n`);
    isWaitingShown = false;
  };

  return {
    begin: (number, title) =>
      print(`\n${styleText('bold', `${String(number).padStart(2)}  ${title}`, { stream: out })}`),
    say: (text) => print(INDENT + text),
    proved: (claim) => print(`${INDENT}${styleText('green', '✔', { stream: out })} ${claim}`),
    waiting(text) {
      if (!out.isTTY) return;
      out.write(`${isWaitingShown ? ERASE_LINE : ''}${INDENT}${styleText('dim', `… ${text}`, { stream: out })}`);
      isWaitingShown = true;
    },
  };
}

/** For --json: the summary says it all. */
export const silentReport: Report = { begin() {}, say() {}, proved() {}, waiting() {} };
