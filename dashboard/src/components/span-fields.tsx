// From when to when: a span that ends now, or two moments.
import { serviceTime } from '../api/service-time.ts';
import { usePreferences } from '../preferences.ts';
import { momentOf, wallTime } from '../words/time.ts';
import { Field, SelectField } from './field.tsx';

export type Span = { since: string; until?: string };

const HOUR_MS = 3_600_000;
const CHOICES = [
  { hours: 1, label: 'Last hour' },
  { hours: 24, label: 'Last 24 hours' },
  { hours: 72, label: 'Last 3 days' },
  { hours: 168, label: 'Last 7 days' },
  { hours: 720, label: 'Last 30 days' },
];
const OWN = 'own';

export type SpanChoice = Span & { choice: string };

export function lastHours(hours: number): SpanChoice {
  return { choice: String(hours), since: new Date(serviceTime() - hours * HOUR_MS).toISOString() };
}

type Props = { label: string; span: SpanChoice; onChange: (span: SpanChoice) => void };

export function SpanFields({ label, span, onChange }: Props) {
  const choose = (choice: string): void =>
    onChange(
      choice === OWN ? { ...span, choice, until: new Date(serviceTime()).toISOString() } : lastHours(Number(choice)),
    );
  return (
    <>
      <SelectField label={label} value={span.choice} onChange={({ target }) => choose(target.value)}>
        {CHOICES.map(({ hours, label: words }) => (
          <option key={hours} value={hours}>
            {words}
          </option>
        ))}
        <option value={OWN}>From … to …</option>
      </SelectField>
      {span.choice === OWN && (
        <div className="halves">
          <Moment label="From" at={span.since} onChange={(since) => onChange({ ...span, since })} />
          <Moment label="To" at={span.until ?? ''} onChange={(until) => onChange({ ...span, until })} />
        </div>
      )}
    </>
  );
}

function Moment({ label, at, onChange }: { label: string; at: string; onChange: (at: string) => void }) {
  const { isUtc } = usePreferences();
  const take = (wall: string): void => {
    const moment = momentOf(wall, isUtc);
    if (moment !== null) onChange(moment);
  };
  return (
    <Field
      label={`${label} (${isUtc ? 'UTC' : 'local time'})`}
      type="datetime-local"
      step={1}
      required
      max="9999-12-31T23:59:59"
      value={wallTime(at, isUtc)}
      onChange={({ target }) => take(target.value)}
    />
  );
}
