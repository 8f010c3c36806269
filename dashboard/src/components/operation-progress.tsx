import type { Operation } from '../api/client.ts';
import { count, plural } from '../words/numbers.ts';

export function OperationProgress({ operation }: { operation: Operation }) {
  const { total, done, failed, skipped } = operation;
  const taken = done + failed + skipped;
  const share = total === 0 ? 1 : Math.min(1, taken / total);
  const rest = [failed > 0 && `${count(failed)} failed`, skipped > 0 && `${count(skipped)} skipped`];
  return (
    <div className="stack-small">
      <div
        className="progress"
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={taken}
      >
        <i style={{ width: `${share * 100}%` }} />
      </div>
      <span className="small muted">
        {[`${count(done)} of ${plural(total, 'delivery', 'deliveries')}`, ...rest].filter(Boolean).join(', ')}
      </span>
    </div>
  );
}
