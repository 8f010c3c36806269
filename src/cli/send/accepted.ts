// What became of an event that was just published, in a few lines.
import type { AcceptedEvent } from '../../../sdk/typescript/src/postrider.ts';
import { printable } from '../terminal.ts';
import { nextCommand } from '../next-command.ts';

const SHOWN_MAX = 10;

export function describeAccepted({ event_id: id, type, deliveries }: AcceptedEvent): string {
  const head = printable(`${id}  ${type}  accepted`);
  if (deliveries.length === 0)
    return `${head}; no subscription wants it: ${printable(nextCommand(`explain --event ${id}`))}`;
  const shown = deliveries.slice(0, SHOWN_MAX).map((one) => printable(`  ${one.id}  → ${one.destination_id}`));
  const more = deliveries.length > SHOWN_MAX ? [`  … and ${deliveries.length - SHOWN_MAX} more`] : [];
  return [head, ...shown, ...more].join('\n');
}
