// Endpoints of Svix become destinations with subscriptions, by the APIs of both services. What becomes of what, and
// what has no counterpart, is in docs/guides/moving-from-svix.md.
import { readSvixToken, UsageError } from '../../config.ts';
import { CONNECTION_FLAGS, MissingKeyError, readConnection, readUrl } from '../api/connection.ts';
import type { Command, CommandLine } from '../command.ts';
import { print, tell } from '../output.ts';
import { Importer } from './importer.ts';
import { PostriderApi } from './postrider-api.ts';
import { createReport } from './report.ts';
import { RequestError } from './request-error.ts';
import { SvixApi } from './svix-api.ts';
import { SvixHttp } from './svix-http.ts';

const FROM_EXAMPLE = 'https://api.eu.svix.com';
const PATH_FORM = /^\$[.[]/;

export const importSvixCommand: Command = {
  name: 'import svix',
  summary: 'Make destinations and subscriptions of the endpoints of all applications at Svix',
  usage: ['import svix --from URL [--token TOKEN] [flags]'],
  examples: [
    'import svix --from https://api.eu.svix.com --dry-run',
    "import svix --from https://api.eu.svix.com --app-path '$.customer'",
  ],
  flags: {
    from: { type: 'string', meaning: "address of Svix's API, which is only read", value: 'URL' },
    token: { type: 'string', meaning: 'its API token', value: 'TOKEN', default: 'SVIX_TOKEN of the environment' },
    'app-path': {
      type: 'string',
      meaning: "where an event's body names its application, by uid or id: each subscription gets a filter on it",
      value: 'PATH',
    },
    'dry-run': { type: 'boolean', meaning: 'only report what would be made and what cannot be carried over' },
    ...CONNECTION_FLAGS,
    json: { ...CONNECTION_FLAGS.json, meaning: 'print one JSON object a line: each endpoint, at last the summary' },
  },
  run: importSvix,
};

async function importSvix(line: CommandLine): Promise<number> {
  const isDryRun = line.has('dry-run');
  const appPath = readPath(line.textOf('app-path'));
  const svix = new SvixApi(new SvixHttp({ baseUrl: readFrom(line), token: readToken(line), onWait: tell }));
  const postrider = readPostrider(line, isDryRun);
  if (postrider === null) tell('No --key: what is there already is not looked for.');
  const report = createReport({ isJson: line.has('json'), isDryRun, hasAppPath: appPath !== null });
  let failure: RequestError | null = null;
  try {
    for await (const outcome of new Importer({ svix, postrider, appPath, isDryRun }).run()) {
      const text = report.take(outcome);
      if (text !== null) await print(text);
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    failure = error;
  }
  const summary = report.summary(failure);
  if (summary !== null) await print(summary);
  if (failure !== null) tell(`postrider: ${failure.message}\n${adviceFor(failure, isDryRun)}`);
  return failure !== null || report.hasFailures() ? 1 : 0;
}

function adviceFor({ status, code }: RequestError, isDryRun: boolean): string {
  if (code === 'invalid_filter') return 'See: --app-path';
  if (status === 401 || status === 403) return 'See: --token of Svix, --key of Postrider';
  if (code === 'over_destination_limit') return 'See: the setting MAX_DESTINATIONS';
  return isDryRun ? 'Run it again.' : 'What was made stays. Run it again: it goes on from there.';
}

function readPostrider(line: CommandLine, isDryRun: boolean): PostriderApi | null {
  try {
    return new PostriderApi({ ...readConnection(line), onWait: tell });
  } catch (error) {
    if (isDryRun && error instanceof MissingKeyError) return null;
    throw error;
  }
}

function readToken(line: CommandLine): string {
  const token = line.textOf('token') ?? readSvixToken();
  if (token === null) throw new UsageError('name an API token of Svix: --token sk_…, or set SVIX_TOKEN');
  return token;
}

/** Without what people paste behind it. */
function readFrom(line: CommandLine): string {
  const text = line.textOf('from');
  if (text === null) throw new UsageError(`name the address of Svix's API: --from ${FROM_EXAMPLE}`);
  return readUrl('--from', text, FROM_EXAMPLE).replace(/\/(api\/)?v1$/, '');
}

function readPath(text: string | null): string | null {
  if (text === null || PATH_FORM.test(text)) return text;
  throw new UsageError(`--app-path: "${text}" is not a path into an event's body, like $.customer`);
}
