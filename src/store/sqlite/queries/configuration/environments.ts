// The environments and their two versions: every change to configuration or keys raises one in its transaction.
import { modeCode } from '../../../rows/codec.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import type { Database } from '../../file/database.ts';
import type { EnvironmentVersions } from '../../../store.ts';

type EnvironmentRow = {
  id: number;
  account: string;
  mode: number;
  config_version: number;
  auth_version: number;
};

const SELECT_ALL = `
  SELECT e.id, a.name AS account, e.mode, e.config_version, e.auth_version
  FROM environments e JOIN accounts a ON a.id = e.account_id
  ORDER BY e.id`;

export function createEnvironmentReads({ db }: ReadContext) {
  const selectAll = prepare<EnvironmentRow>(db, SELECT_ALL);
  return {
    readEnvironments(): EnvironmentVersions[] {
      return selectAll.all().map((row) => ({
        environment: row.id,
        account: row.account,
        mode: modeCode.nameOf(row.mode),
        configVersion: row.config_version,
        authVersion: row.auth_version,
      }));
    },
  };
}

/** What an environment holds, and how it changes by the transaction under way. */
interface EnvironmentCounters {
  configVersion(environment: number): number;
  destinationCount(environment: number): number;
  subscriptionCount(environment: number): number;
  /** The new configuration version, to stamp on the rows that changed. */
  raiseConfig(environment: number, change?: { destinations?: number; subscriptions?: number }): number;
  raiseAuth(environment: number): void;
}

const SELECT_COUNTERS = 'SELECT config_version, destination_count, subscription_count FROM environments WHERE id = ?';

const RAISE_CONFIG = `
  UPDATE environments
  SET config_version = config_version + 1,
      destination_count = destination_count + ?,
      subscription_count = subscription_count + ?
  WHERE id = ?
  RETURNING config_version`;

const RAISE_AUTH = 'UPDATE environments SET auth_version = auth_version + 1 WHERE id = ?';

export function createEnvironmentCounters(db: Database): EnvironmentCounters {
  type CounterRow = { config_version: number; destination_count: number; subscription_count: number };
  const select = prepare<CounterRow>(db, SELECT_COUNTERS);
  const raiseConfig = prepare<{ config_version: number }>(db, RAISE_CONFIG);
  const raiseAuth = prepare(db, RAISE_AUTH);
  const counters = (environment: number): CounterRow => known(select.get(environment), environment);
  return {
    configVersion: (environment) => counters(environment).config_version,
    destinationCount: (environment) => counters(environment).destination_count,
    subscriptionCount: (environment) => counters(environment).subscription_count,
    raiseConfig(environment, { destinations = 0, subscriptions = 0 } = {}) {
      return known(raiseConfig.get(destinations, subscriptions, environment), environment).config_version;
    },
    raiseAuth(environment) {
      raiseAuth.run(environment);
    },
  };
}

function known<Row>(row: Row | undefined, environment: number): Row {
  if (row === undefined) throw new Error(`there is no environment ${environment}`);
  return row;
}
