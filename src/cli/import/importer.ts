// Goes through all applications and endpoints of Svix, one endpoint at a time, and makes of each what is missing of its
// destination. Its memory is what Postrider says at the start: which endpoints have one. So it may be cut off anywhere.
import type { Destination, Subscription } from '../../../sdk/typescript/src/postrider.ts';
import type { PostriderApi, SubscriptionFields } from './postrider-api.ts';
import { RequestError } from './request-error.ts';
import type { SvixApi, SvixApplication, SvixDetails, SvixEndpoint } from './svix-api.ts';
import { originOf, quote, translate, type Note, type Origin, type Translation } from './translate.ts';

export type EndpointResult = 'created' | 'updated' | 'unchanged' | 'left_out' | 'failed';

export type EndpointOutcome = {
  application: SvixApplication;
  endpoint: SvixEndpoint;
  result: EndpointResult;
  /** Null: there is none, or none yet. */
  destinationId: string | null;
  subscriptionsMade: number;
  notes: Note[];
  error: RequestError | null;
};
export type ApplicationOutcome = { application: SvixApplication; endpoints: number; notes: Note[] };
/** A destination of an endpoint that Svix named earlier and names no more. */
export type GoneOutcome = { gone: Known; notes: Note[] };
/** An application comes after its endpoints, what is gone after all applications. */
export type Outcome = EndpointOutcome | ApplicationOutcome | GoneOutcome;

type ImporterOptions = {
  svix: SvixApi;
  /** Null: a dry run that knows nothing of what is there. */
  postrider: PostriderApi | null;
  appPath: string | null;
  isDryRun: boolean;
};

type Known = Origin & { destinationId: string; url: string };
type Carried = Pick<EndpointOutcome, 'result' | 'destinationId' | 'subscriptionsMade'> & { notes?: Note[] };

/** Whether it is to go is left to people: it may have been imported with the token of another environment at Svix. */
const GONE: Note = {
  what: 'gone_at_svix',
  detail: 'this token does not find its endpoint any more; it still gets events here',
};

/** These are about all endpoints, not about one. */
const FATAL_STATUS = new Set([401, 402, 403]);
const FATAL_CODES = new Set(['over_destination_limit', 'invalid_filter', 'not_json', 'not_svix', 'not_postrider']);

export class Importer {
  readonly #options: ImporterOptions;
  /** By the endpoint's id. */
  readonly #known = new Map<string, Known>();
  readonly #named = new Set<string>();

  constructor(options: ImporterOptions) {
    this.#options = options;
  }

  /** Throws RequestError where going on makes no sense; what was made stays. */
  async *run(): AsyncGenerator<Outcome> {
    const { svix, postrider } = this.#options;
    if (postrider !== null) for await (const destination of postrider.destinations()) this.#learn(destination);
    for await (const application of svix.applications()) {
      let endpoints = 0;
      for await (const endpoint of svix.endpoints(application)) {
        endpoints += 1;
        this.#named.add(endpoint.id);
        yield await this.#carry(application, endpoint);
      }
      yield { application, endpoints, notes: await this.#notesOf(application) };
    }
    for (const [endpointId, gone] of this.#known) if (!this.#named.has(endpointId)) yield { gone, notes: [GONE] };
  }

  /** The newest come first, so the oldest of several stays: two imports at once may have made two. */
  #learn(destination: Destination): void {
    const origin = originOf(destination);
    if (origin === null) return;
    this.#known.set(origin.endpointId, { ...origin, destinationId: destination.id, url: destination.url });
  }

  async #notesOf(application: SvixApplication): Promise<Note[]> {
    const notes: Note[] = [];
    const { throttleRate } = application;
    if (throttleRate !== null) notes.push({ what: 'application_throttle_rate', detail: `${throttleRate} a second` });
    const others = await this.#options.svix.countOtherDestinations(application);
    if (others > 0) notes.push({ what: 'other_destinations', detail: `${others} that are no endpoints` });
    return notes;
  }

  async #carry(application: SvixApplication, endpoint: SvixEndpoint): Promise<EndpointOutcome> {
    let notes: Note[] = [];
    const about = { application, endpoint, destinationId: this.#known.get(endpoint.id)?.destinationId ?? null };
    try {
      const details = await this.#options.svix.details(application, endpoint);
      const translation = translate(application, endpoint, details, this.#options.appPath);
      ({ notes } = translation);
      const carried = await this.#bringOver(endpoint, details, translation);
      return { ...about, ...carried, notes: [...notes, ...(carried.notes ?? [])], error: null };
    } catch (error) {
      if (!(error instanceof RequestError) || isFatal(error)) throw error;
      const { destinationId } = this.#known.get(endpoint.id) ?? about;
      return { ...about, destinationId, result: 'failed', subscriptionsMade: 0, notes, error };
    }
  }

  async #bringOver(endpoint: SvixEndpoint, details: SvixDetails, translation: Translation): Promise<Carried> {
    const known = this.#known.get(endpoint.id);
    if (known !== undefined) return this.#bringUpToDate(known, endpoint, details, translation);
    const { secret, subscriptions } = translation;
    if (secret === null) return { result: 'left_out', destinationId: null, subscriptionsMade: 0 };
    const { postrider, isDryRun } = this.#options;
    if (postrider === null || isDryRun) {
      return { result: 'created', destinationId: null, subscriptionsMade: subscriptions.length };
    }
    const destinationId = await this.#create(postrider, endpoint, translation.fields, secret);
    for (const subscription of subscriptions) await postrider.subscribe(destinationId, subscription);
    return { result: 'created', destinationId, subscriptionsMade: subscriptions.length };
  }

  /** One that is to be paused is so before it has a subscription. Cut off before that, it counts as not up to date. */
  async #create(
    postrider: PostriderApi,
    endpoint: SvixEndpoint,
    fields: Translation['fields'],
    secret: string,
  ): Promise<string> {
    const { isDisabled, id: endpointId } = endpoint;
    const unfinished = { svix: { endpoint_id: endpointId } };
    const first = { ...fields, metadata: isDisabled ? unfinished : fields.metadata, signing_secret: secret };
    const created = await postrider.createDestination(first, (one) => originOf(one)?.endpointId === endpointId);
    this.#learn(created);
    if (isDisabled) await postrider.updateDestination(created.id, { status: 'paused', metadata: fields.metadata });
    return created.id;
  }

  async #bringUpToDate(
    known: Known,
    endpoint: SvixEndpoint,
    details: SvixDetails,
    { fields, subscriptions }: Translation,
  ): Promise<Carried> {
    const { postrider, isDryRun } = this.#options;
    const { destinationId } = known;
    const isChanged = known.updatedAt !== endpoint.updatedAt;
    if (isChanged && !isDryRun) {
      const headers = { ...fields.headers, ...(await this.#keptHeaders(destinationId, details)) };
      const status = endpoint.isDisabled ? 'paused' : 'active';
      const patch = known.isDisabled === endpoint.isDisabled ? {} : ({ status } as const);
      await postrider!.updateDestination(destinationId, { ...fields, headers, ...patch });
    }
    const { missing, leftOver, replaced } = await this.#compare(destinationId, subscriptions);
    if (!isDryRun) {
      for (const subscription of missing) await postrider!.subscribe(destinationId, subscription);
      for (const id of replaced) await postrider!.unsubscribe(id);
    }
    const result = isChanged || missing.length > 0 || replaced.length > 0 ? 'updated' : 'unchanged';
    const detail = `no longer asked for at Svix, still subscribed here: ${quote(leftOver)}`;
    const notes = isChanged && leftOver.length > 0 ? [{ what: 'left_over_subscriptions', detail }] : [];
    return { result, destinationId, subscriptionsMade: missing.length, notes };
  }

  /** Those whose values Svix keeps to itself, and somebody has set here. */
  async #keptHeaders(destinationId: string, { sensitiveHeaders }: SvixDetails): Promise<Record<string, string>> {
    if (sensitiveHeaders.length === 0) return {};
    const { headers } = await this.#options.postrider!.readDestination(destinationId);
    const isSensitive = new Set(sensitiveHeaders.map((name) => name.toLowerCase()));
    return Object.fromEntries(Object.entries(headers).filter(([name]) => isSensitive.has(name.toLowerCase())));
  }

  /**
   * A type that has a subscription with a filter is left as it is, however narrow somebody has made that. `replaced`:
   * those for every application's events, where an import with --app-path has narrower ones.
   */
  async #compare(destinationId: string, wanted: readonly SubscriptionFields[]) {
    const missing = new Map(wanted.map((one) => [one.event_type, one]));
    const types = new Set(missing.keys());
    const leftOver: string[] = [];
    const wide: Subscription[] = [];
    for await (const subscription of this.#options.postrider!.subscriptions(destinationId)) {
      const { event_type: type, filter } = subscription;
      if (!types.has(type)) leftOver.push(type);
      else if (filter === null && this.#options.appPath !== null) wide.push(subscription);
      else missing.delete(type);
    }
    return { missing: [...missing.values()], leftOver, replaced: wide.map(({ id }) => id) };
  }
}

function isFatal(error: RequestError): boolean {
  return error.isPassing || FATAL_STATUS.has(error.status!) || FATAL_CODES.has(error.code);
}
