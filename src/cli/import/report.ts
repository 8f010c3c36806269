// What an import says: a line for each endpoint as it is done, and a summary. Only counts are kept.
import { shownJson } from '../output.ts';
import { COLUMNS, breakAtSpaces, printable } from '../terminal.ts';
import type { RequestError } from './request-error.ts';
import type { ApplicationOutcome, EndpointOutcome, EndpointResult, GoneOutcome, Outcome } from './importer.ts';
import type { Note } from './translate.ts';

type ReportOptions = { isJson: boolean; isDryRun: boolean; hasAppPath: boolean };

const DRY_WORDS: Partial<Record<EndpointResult, string>> = { created: 'to create', updated: 'to update' };
const WORD_COLUMNS = 11;

type Counts = {
  applications: number;
  /** That have endpoints. */
  applicationsInUse: number;
  endpoints: Record<EndpointResult, number>;
  subscriptions: number;
  notes: Map<string, number>;
};

export function createReport(options: ReportOptions) {
  const counts: Counts = {
    applications: 0,
    applicationsInUse: 0,
    endpoints: { created: 0, updated: 0, unchanged: 0, left_out: 0, failed: 0 },
    subscriptions: 0,
    notes: new Map(),
  };
  return {
    /** What there is to say of it; null: nothing. */
    take(outcome: Outcome): string | null {
      for (const { what } of outcome.notes) counts.notes.set(what, (counts.notes.get(what) ?? 0) + 1);
      if ('endpoint' in outcome) {
        counts.endpoints[outcome.result] += 1;
        counts.subscriptions += outcome.subscriptionsMade;
        return options.isJson ? shownJson(endpointJson(outcome, options)) : endpointText(outcome, options);
      }
      if ('gone' in outcome) return options.isJson ? shownJson(goneJson(outcome)) : goneText(outcome);
      counts.applications += 1;
      if (outcome.endpoints > 0) counts.applicationsInUse += 1;
      if (outcome.notes.length === 0) return null;
      return options.isJson ? shownJson(applicationJson(outcome)) : applicationText(outcome);
    },
    /** Null: nothing was read, which is no result for people. */
    summary(failure: RequestError | null): string | null {
      if (options.isJson) return shownJson(summaryJson(counts, options, failure));
      return failure !== null && isEmpty(counts) ? null : summaryText(counts, options);
    },
    /** Whether some endpoint has no destination that should have one by now. */
    hasFailures: () => counts.endpoints.failed > 0 || (counts.endpoints.left_out > 0 && !options.isDryRun),
  };
}

// ── For people ──

function endpointText(outcome: EndpointOutcome, { isDryRun }: ReportOptions): string {
  const { application, endpoint, result, destinationId, subscriptionsMade, notes, error } = outcome;
  const made = subscriptionsMade === 0 ? '' : `${subscriptionsMade} ${plural('subscription', subscriptionsMade)}`;
  const state = endpoint.isDisabled && result === 'created' ? 'paused' : '';
  const facts = [nameOf(application), destinationId ?? endpoint.id, made, state].filter((fact) => fact !== '');
  return [
    `${wordFor(result, isDryRun).padEnd(WORD_COLUMNS)}${printable(endpoint.url)}`,
    ...below(facts.join(', ')),
    ...notes.flatMap((note) => below(describe(note))),
    ...(error === null ? [] : below(error.message)),
  ].join('\n');
}

function applicationText({ application, notes }: ApplicationOutcome): string {
  return [nameOf(application), ...notes.flatMap((note) => below(describe(note)))].join('\n');
}

function goneText({ gone, notes }: GoneOutcome): string {
  const { url, destinationId, endpointId } = gone;
  return [
    `${'gone'.padEnd(WORD_COLUMNS)}${printable(url)}`,
    ...below(`${destinationId}, ${endpointId}`),
    ...notes.flatMap((note) => below(describe(note))),
  ].join('\n');
}

function wordFor(result: EndpointResult, isDryRun: boolean): string {
  return (isDryRun ? DRY_WORDS[result] : undefined) ?? result.replace('_', ' ');
}

function nameOf({ name, uid, id }: EndpointOutcome['application']): string {
  return printable(name === '' ? (uid ?? id) : name);
}

function describe({ what, detail }: Note): string {
  return `! ${what}: ${detail}`;
}

function below(text: string): string[] {
  return breakAtSpaces(printable(text), COLUMNS - WORD_COLUMNS).map((line) => ' '.repeat(WORD_COLUMNS) + line);
}

function summaryText(counts: Counts, options: ReportOptions): string {
  const { applications, endpoints, notes } = counts;
  const total = Object.values(endpoints).reduce((sum, count) => sum + count, 0);
  const results = (Object.entries(endpoints) as [EndpointResult, number][])
    .filter(([, count]) => count > 0)
    .map(([result, count]) => `${count} ${wordFor(result, options.isDryRun)}`);
  const lines = [
    `${applications} ${plural('application', applications)}, ${total} ${plural('endpoint', total)}` +
      (results.length === 0 ? '.' : `: ${results.join(', ')}.`),
  ];
  if (notes.size > 0) {
    const named = [...notes].map(([what, count]) => `${what} (${count})`).join(', ');
    lines.push(`Not carried over, or not whole (docs/guides/moving-from-svix.md): ${named}.`);
  }
  if (isMixed(counts, options)) {
    lines.push(
      'A subscription without a filter gets the events of all applications: name with --app-path where the body of ' +
        'an event says whose it is, and run this again before you publish.',
    );
  }
  if (options.isDryRun) lines.push('A dry run: nothing was changed.');
  return ['', ...lines.flatMap((line) => breakAtSpaces(line, COLUMNS))].join('\n');
}

function isEmpty({ applications, endpoints }: Counts): boolean {
  return applications === 0 && Object.values(endpoints).every((count) => count === 0);
}

function isMixed({ applicationsInUse }: Counts, { hasAppPath }: ReportOptions): boolean {
  return applicationsInUse > 1 && !hasAppPath;
}

function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`;
}

// ── For programs ──

function endpointJson(outcome: EndpointOutcome, { isDryRun }: ReportOptions) {
  const { application, endpoint, result, destinationId, subscriptionsMade, notes, error } = outcome;
  return {
    event: 'endpoint',
    result,
    dry_run: isDryRun,
    app_id: application.id,
    app_uid: application.uid,
    endpoint_id: endpoint.id,
    url: endpoint.url,
    disabled: endpoint.isDisabled,
    destination_id: destinationId,
    subscriptions_created: subscriptionsMade,
    not_carried_over: notes,
    error: error === null ? null : { code: error.code, message: error.message, param: error.param },
  };
}

function applicationJson({ application, notes }: ApplicationOutcome) {
  return { event: 'application', app_id: application.id, app_uid: application.uid, not_carried_over: notes };
}

function goneJson({ gone: { url, destinationId, endpointId }, notes }: GoneOutcome) {
  return { event: 'gone', endpoint_id: endpointId, url, destination_id: destinationId, not_carried_over: notes };
}

function summaryJson(counts: Counts, options: ReportOptions, failure: RequestError | null) {
  return {
    event: 'summary',
    dry_run: options.isDryRun,
    applications: counts.applications,
    endpoints: counts.endpoints,
    subscriptions_created: counts.subscriptions,
    not_carried_over: Object.fromEntries(counts.notes),
    applications_mixed: isMixed(counts, options),
    error: failure === null ? null : { code: failure.code, message: failure.message },
  };
}
