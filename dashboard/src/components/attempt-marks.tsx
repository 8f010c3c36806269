// A delivery's attempts at a glance: one mark each, full where an answer came, hollow where none did; the last small one
// is the attempt that is still to come.
import type { Delivery } from '../api/client.ts';
import { plural } from '../words/numbers.ts';

const MARKS_MAX = 12;

export function AttemptMarks({ delivery }: { delivery: Delivery }) {
  const { response_codes: codes, attempt_count: count, completed_at: completedAt } = delivery;
  const shown = codes.slice(-MARKS_MAX);
  const answers = codes.slice(-3).map((code) => code ?? 'no response');
  const said = count === 0 ? 'no attempt yet' : `${plural(count, 'attempt')}, the last: ${answers.join(', ')}`;
  return (
    <span className="marks" role="img" aria-label={said} title={said}>
      {shown.map((code, index) => (
        <i key={count - shown.length + index} className={classOf(code)} />
      ))}
      {completedAt === null && <i className="next" />}
      {count > shown.length && <small>{count}</small>}
    </span>
  );
}

function classOf(code: number | null): string {
  if (code === null) return 'none';
  return code >= 200 && code < 300 ? 'good' : 'bad';
}
