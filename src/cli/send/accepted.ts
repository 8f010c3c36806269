// What became of an event that was just published, in a few lines.
import type { AcceptedEvent } from '../../../sdk/typescript/src/postrider.ts';
import { print, printJson, sentences } from '../output.ts';
import { terminalWidth } from '../table.ts';
import { joinWithin, printable } from '../terminal.ts';
import { nextCommand } from '../next-command.ts';

const SHOWN_MAX = 10;
const GAP = '  ';

export async function printAccepted({ isJson }: { isJson: boolean }, event: AcceptedEvent): Promise<void> {
  if (isJson) return printJson(event);
  await print(describe(event));
}

function describe({ event_id: id, type, deliveries }: AcceptedEvent): string {
  const width = terminalWidth() ?? Number.POSITIVE_INFINITY;
  const parts = [id, type, 'accepted'].map(printable);
  if (deliveries.length === 0) {
    // A listener's is no subscription: whoever has just seen it arrive there would take "nobody wants it" for false.
    const hint = `a running listen gets it, but no subscription wants it:\n  ${explain(id)}`;
    return sentences(`${parts.join(GAP)}; ${hint}`, process.stdout);
  }
  const head = joinWithin(parts, { columns: width, gap: GAP });
  const shown = deliveries.slice(0, SHOWN_MAX).flatMap((one) => {
    const ids = [one.id, `→ ${one.destination_id}`].map(printable);
    return joinWithin(ids, { columns: width - GAP.length, gap: GAP }).map((line) => GAP + line);
  });
  const more = deliveries.length > SHOWN_MAX ? [`  … and ${deliveries.length - SHOWN_MAX} more`] : [];
  return [...head, ...shown, ...more].join('\n');
}

function explain(id: string): string {
  return printable(nextCommand(`explain --event ${id}`));
}
