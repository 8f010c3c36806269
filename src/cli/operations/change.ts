// What can be done to an operation that runs: each is a command of the same shape.
import { idOf, printResult, serviceCommand } from '../api/service-command.ts';
import type { Command } from '../command.ts';

export const cancelOperationCommand = changeCommand(
  'cancel',
  'End an operation where it is: what it has sent stays sent',
);
export const pauseOperationCommand = changeCommand('pause', 'Hold an operation until it is resumed');
export const resumeOperationCommand = changeCommand('resume', 'Let a paused operation go on where it was');

function changeCommand(action: 'cancel' | 'pause' | 'resume', summary: string): Command {
  const name = `operations ${action}`;
  const examples = [`${name} op_…`];
  return serviceCommand({ name, summary, usage: [`${name} ID`], examples, words: ['ID'] }, async (asking) => {
    const id = idOf(asking.line, { prefix: 'op', noun: 'operation' });
    await printResult(asking, await asking.client.operations[action](id));
  });
}
