// Asks for a secret on a terminal: what is typed or pasted is not shown.
import { CommandFailure } from '../command.ts';

const LENGTH_MAX = 1_024;
const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/** Only where standard input is a terminal. Rejects with CommandFailure when it is called off. */
export async function readHidden(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let typed = '';
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      for (const char of chunk) {
        if (char === '\r' || char === '\n') return typed;
        if (char === CTRL_C || char === CTRL_D) throw new CommandFailure('called off: no key was given');
        typed = char === BACKSPACE || char === DELETE ? typed.slice(0, -1) : (typed + char).slice(0, LENGTH_MAX);
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}
