// What this process has counted and not given up yet: for the minute and the hour that run, and for those before until
// they are stored. Told by the observer for every event and attempt, so counting is additions and look-ups, no more.
import { idTime, type DestinationId } from '../model/id.ts';
import { endedBy, type EndedUnsent, type FinishedAttempt, type Observer, type Scheduled } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CountsSubject, StoredCounts } from '../store/store.ts';
import { Counts, encodeCounts, outcomeIndex, bucketOf } from './counts.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
const SPAN_MS = { minute: MINUTE_MS, hour: HOUR_MS } as const;
type Span = keyof typeof SPAN_MS;

/** The event types that are kept apart in each span and environment; the rest count as this one together. */
const TYPES_KEPT = 200;
export const OTHER_TYPES = 'other';
/** So many are told apart in memory, so that the busiest are found. */
const TYPES_TOLD_APART = 1_000;
/** Subjects in memory, about 500 bytes each; beyond them counts go to the environment alone. */
const SUBJECTS_MAX = 100_000;

type Subject = { counts: Counts; isDirty: boolean; isStored: boolean };
type Subjects = { all: Subject; destinations: Map<DestinationId, Subject>; types: Map<string, Subject> };

/** One minute or hour. `writer`: another one when the clock was set back, so that no row of before is overwritten. */
type Bucket = { span: Span; at: number; writer: number; environments: Map<number, Subjects> };

/** The same subjects as in the minute and the hour that run. */
type Running = {
  spans: readonly Subjects[];
  all: readonly Subject[];
  destinations: Map<DestinationId, readonly Subject[]>;
  types: Map<string, readonly Subject[]>;
};

/** A row as it is to be stored; `putBack` follows where it could not be. */
type DirtyRow = { row: StoredCounts; putBack: () => void };

export class Counter implements Observer {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Those that run are the last of their span. */
  #minutes: Bucket[];
  #hours: Bucket[];
  #running: readonly Bucket[];
  /** By environment, what has been counted in both since the minute began: one look-up finds the two. */
  readonly #found = new Map<number, Running>();
  #endsAt = 0;
  #subjectCount = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    const writer = newWriter(random);
    this.#minutes = [this.#begin('minute', writer)];
    this.#hours = [this.#begin('hour', writer)];
    this.#running = [...this.#minutes, ...this.#hours];
  }

  /** The one whose rows stand in the store for what is in memory here. */
  get writer(): number {
    return this.#hours.at(-1)!.writer;
  }

  /** In memory, of all that runs or waits to be stored. */
  get subjectCount(): number {
    return this.#subjectCount;
  }

  // ── What the core tells ──

  readonly scheduled = ({ origin, event, deliveries, backlogFull }: Scheduled): void => {
    this.#turn();
    const accepted = origin === 'event' ? 1 : 0;
    const running = this.#runningOf(event.environment);
    for (const subjects of [running.all, this.#typeOf(running, event.type)]) {
      for (const subject of subjects) {
        const counts = touch(subject);
        counts.eventsAccepted += accepted;
        counts.deliveriesScheduled += deliveries.length;
        counts.deliveriesDead += backlogFull.size;
      }
    }
    for (const { id, destinationId } of deliveries) {
      for (const subject of this.#destinationOf(running, destinationId)) {
        const counts = touch(subject);
        counts.deliveriesScheduled++;
        if (backlogFull.size > 0 && backlogFull.has(id)) counts.deliveriesDead++;
      }
    }
  };

  readonly attempted = (finished: FinishedAttempt): void => {
    this.#turn();
    const { delivery, eventType, result } = finished;
    const { environment, destinationId } = delivery;
    const outcome = outcomeIndex(result.outcome);
    const bucket = bucketOf(result.durationMs / 1000);
    const isFirst = delivery.attemptCount === 0;
    const first = isFirst ? bucketOf((result.startedAt - idTime(delivery.id)) / 1000) : -1;
    const end = endedBy(finished);
    const running = this.#runningOf(environment);
    for (const subject of running.all) note(touch(subject), outcome, bucket, first, end);
    for (const subject of this.#typeOf(running, eventType)) note(touch(subject), outcome, bucket, first, end);
    for (const subject of this.#destinationOf(running, destinationId))
      note(touch(subject), outcome, bucket, first, end);
  };

  /** By event type they are not known. */
  readonly ended = (ended: readonly EndedUnsent[]): void => {
    this.#turn();
    for (const { environment, destinationId, count } of ended) {
      const running = this.#runningOf(environment);
      for (const subject of running.all) touch(subject).deliveriesDead += count;
      for (const subject of this.#destinationOf(running, destinationId)) touch(subject).deliveriesDead += count;
    }
  };

  // ── What is asked ──

  /** What memory has of a subject, for the spans that it has: they stand in the place of this process's rows. */
  *read({ span, environment, kind, subject }: CountsSubject): Iterable<{ at: number; writer: number; counts: Counts }> {
    this.#turn();
    for (const { at, writer, environments } of span === 'minute' ? this.#minutes : this.#hours) {
      const subjects = environments.get(environment);
      if (subjects === undefined) continue;
      const counts = countsOf(subjects, kind, subject);
      if (counts !== null) yield { at, writer, counts };
    }
  }

  // ── What is to be stored ──

  /** Rows that have changed since they were given out last, each marked as stored. */
  *takeDirty(): Iterable<DirtyRow> {
    this.#turn();
    for (const bucket of [...this.#hours, ...this.#minutes]) {
      const { span, at, writer } = bucket;
      for (const [environment, subjects] of bucket.environments) {
        const key = { span, at, writer, environment };
        if (subjects.all.isDirty) yield take({ ...key, kind: 'environment', subject: '' }, subjects.all);
        for (const [id, subject] of subjects.destinations) {
          if (subject.isDirty) yield take({ ...key, kind: 'destination', subject: id }, subject);
        }
        yield* takeTypes({ ...key, kind: 'event_type' }, subjects.types);
      }
    }
  }

  /** To be called when everything is stored: what is over is forgotten. */
  forgetStored(): void {
    this.#minutes = this.#minutes.filter((bucket) => bucket === this.#minutes.at(-1) || hasDirty(bucket));
    this.#hours = this.#hours.filter((bucket) => bucket === this.#hours.at(-1) || hasDirty(bucket));
    this.#recount();
  }

  // ── Inside ──

  /** Where the minute or the hour is over, the next begins. */
  #turn(): void {
    const now = this.#clock.now();
    const minute = this.#minutes.at(-1)!;
    if (now < this.#endsAt && now >= minute.at) return;
    const writer = now < minute.at ? newWriter(this.#random) : minute.writer;
    this.#minutes.push(this.#begin('minute', writer));
    const hour = this.#hours.at(-1)!;
    if (now < hour.at || now >= hour.at + HOUR_MS || writer !== hour.writer)
      this.#hours.push(this.#begin('hour', writer));
    this.#running = [this.#minutes.at(-1)!, this.#hours.at(-1)!];
    this.#found.clear();
    this.#shed();
  }

  #begin(span: Span, writer: number): Bucket {
    const now = this.#clock.now();
    const at = Math.floor(now / SPAN_MS[span]) * SPAN_MS[span];
    if (span === 'minute') this.#endsAt = at + MINUTE_MS;
    return { span, at, writer, environments: new Map() };
  }

  /**
   * The store has been away for long: of the minutes that wait all but the last two go, for their hour has them too; of
   * earlier hours the environments stay.
   */
  #shed(): void {
    if (this.#subjectCount <= SUBJECTS_MAX / 2) return;
    if (this.#minutes.length > 2) this.#minutes = this.#minutes.slice(-2);
    else {
      for (const { environments } of this.#hours.slice(0, -2)) {
        for (const subjects of environments.values()) {
          subjects.destinations.clear();
          subjects.types.clear();
        }
      }
    }
    this.#recount();
  }

  #recount(): void {
    this.#subjectCount = 0;
    for (const { environments } of [...this.#minutes, ...this.#hours]) {
      for (const { destinations, types } of environments.values()) this.#subjectCount += destinations.size + types.size;
    }
  }

  #runningOf(environment: number): Running {
    const known = this.#found.get(environment);
    if (known !== undefined) return known;
    const spans = this.#running.map(({ environments }) => {
      const subjects = environments.get(environment) ?? {
        all: newSubject(),
        destinations: new Map(),
        types: new Map(),
      };
      environments.set(environment, subjects);
      return subjects;
    });
    const running = { spans, all: spans.map(({ all }) => all), destinations: new Map(), types: new Map() };
    this.#found.set(environment, running);
    return running;
  }

  #destinationOf({ spans, destinations }: Running, id: DestinationId): readonly Subject[] {
    const known = destinations.get(id);
    if (known !== undefined) return known;
    const found: Subject[] = [];
    for (const span of spans) {
      const subject = span.destinations.get(id) ?? this.#addSubject(span.destinations, id);
      if (subject !== null) found.push(subject);
    }
    // Those without room are as many as there are destinations: they are not to be remembered either.
    if (found.length > 0) destinations.set(id, found);
    return found;
  }

  #typeOf({ spans, types }: Running, type: string): readonly Subject[] {
    const known = types.get(type);
    if (known !== undefined) return known;
    const found = spans.map((span) => this.#typeIn(span.types, type));
    if (types.size < TYPES_TOLD_APART) types.set(type, found);
    return found;
  }

  #typeIn(types: Map<string, Subject>, type: string): Subject {
    const known = types.get(type);
    if (known !== undefined) return known;
    const added = types.size < TYPES_TOLD_APART ? this.#addSubject(types, type) : null;
    if (added !== null) return added;
    const other = types.get(OTHER_TYPES) ?? newSubject();
    types.set(OTHER_TYPES, other);
    return other;
  }

  /** Null: there is no room for one more. */
  #addSubject<Name>(subjects: Map<Name, Subject>, name: Name): Subject | null {
    if (this.#subjectCount >= SUBJECTS_MAX) return null;
    this.#subjectCount++;
    const subject = newSubject();
    subjects.set(name, subject);
    return subject;
  }
}

function newSubject(): Subject {
  return { counts: new Counts(), isDirty: false, isStored: false };
}

/** A whole number below 2^48. */
function newWriter(random: Random): number {
  return Buffer.from(random.bytes(6)).readUIntBE(0, 6);
}

function touch(subject: Subject): Counts {
  subject.isDirty = true;
  return subject.counts;
}

function note(counts: Counts, outcome: number, bucket: number, first: number, end: string | null): void {
  counts.attempts[outcome]!++;
  counts.attempt.add(bucket);
  if (first >= 0) counts.firstAttempt.add(first);
  if (end === 'succeeded') counts.deliveriesSucceeded++;
  else if (end === 'dead') counts.deliveriesDead++;
}

type Key = Omit<StoredCounts, 'counts'>;

function take(key: Key, subject: Subject): DirtyRow {
  [subject.isDirty, subject.isStored] = [false, true];
  return { row: { ...key, counts: encodeCounts(subject.counts) }, putBack: () => markDirty([subject]) };
}

/** Which are among the busiest may have changed with any of them, and so what the others are together. */
function* takeTypes(key: Omit<Key, 'subject'>, types: ReadonlyMap<string, Subject>): Iterable<DirtyRow> {
  if (![...types.values()].some(({ isDirty }) => isDirty)) return;
  const { kept, others } = splitTypes(types);
  for (const [type, subject] of kept) if (subject.isDirty) yield take({ ...key, subject: type }, subject);
  if (others.size === 0) return;
  for (const [type, subject] of others) {
    if (subject.isStored && type !== OTHER_TYPES) yield empty({ ...key, subject: type }, subject);
    subject.isDirty = false;
  }
  const subjects = [...others.values()];
  const row = { ...key, subject: OTHER_TYPES, counts: encodeCounts(sumOf(subjects)) };
  yield { row, putBack: () => markDirty(subjects) };
}

/** It was stored by itself, and counts among the others now. */
function empty(key: Key, subject: Subject): DirtyRow {
  subject.isStored = false;
  const putBack = (): void => {
    markDirty([subject]);
    // Its row still has what it had, and is to be emptied yet.
    subject.isStored = true;
  };
  return { row: { ...key, counts: new Uint8Array() }, putBack };
}

function markDirty(subjects: readonly Subject[]): void {
  for (const subject of subjects) subject.isDirty = true;
}

function hasDirty({ environments }: Bucket): boolean {
  for (const { all, destinations, types } of environments.values()) {
    if ([all, ...destinations.values(), ...types.values()].some(({ isDirty }) => isDirty)) return true;
  }
  return false;
}

function countsOf(subjects: Subjects, kind: CountsSubject['kind'], subject: string): Counts | null {
  if (kind === 'environment') return subjects.all.counts;
  if (kind === 'destination') return subjects.destinations.get(subject as DestinationId)?.counts ?? null;
  if (kind === 'pulse') return null;
  const { kept, others } = splitTypes(subjects.types);
  if (subject !== OTHER_TYPES) return kept.get(subject)?.counts ?? null;
  return others.size === 0 ? null : sumOf([...others.values()]);
}

/** The busiest, and the rest. */
function splitTypes(types: ReadonlyMap<string, Subject>): { kept: Map<string, Subject>; others: Map<string, Subject> } {
  const named = [...types].filter(([type]) => type !== OTHER_TYPES);
  if (named.length > TYPES_KEPT) named.sort(([, a], [, b]) => b.counts.weight() - a.counts.weight());
  const beyond = types.get(OTHER_TYPES);
  return {
    kept: new Map(named.slice(0, TYPES_KEPT)),
    others: new Map([...named.slice(TYPES_KEPT), ...(beyond === undefined ? [] : [[OTHER_TYPES, beyond] as const])]),
  };
}

function sumOf(subjects: readonly Subject[]): Counts {
  const sum = new Counts();
  for (const { counts } of subjects) sum.merge(counts);
  return sum;
}
