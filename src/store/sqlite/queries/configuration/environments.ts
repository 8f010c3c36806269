// The environments and their two versions: every change to configuration or keys raises one in its transaction.
import { toEnvironment, type Counters, type EnvironmentRow } from '../../../rows/environment-rows.ts';
import type { Read, ReadContext } from '../../context.ts';
import { statement } from '../../file/database.ts';

const SELECT_ALL = statement<EnvironmentRow>(`
  SELECT e.id, a.name AS account, e.mode, e.config_version, e.auth_version
  FROM environments e JOIN accounts a ON a.id = e.account_id
  ORDER BY e.id`);

const SELECT_COUNTERS = statement<Counters>(
  'SELECT config_version, destination_count, subscription_count FROM environments WHERE id = ?',
);

// With the counts, after the change has been found to be one; on PostgreSQL first of all, for it locks the row there.
const RAISE_CONFIG = statement<{ config_version: number }>(`
  UPDATE environments
  SET config_version = config_version + 1,
      destination_count = destination_count + ?,
      subscription_count = subscription_count + ?
  WHERE id = ?
  RETURNING config_version`);

const RAISE_AUTH = statement('UPDATE environments SET auth_version = auth_version + 1 WHERE id = ?');

export const readEnvironments: Read<'readEnvironments'> = ({ sql }) => sql(SELECT_ALL).all().map(toEnvironment);

type Sql = ReadContext['sql'];

export function readCounters(sql: Sql, environment: number): Counters {
  return known(sql(SELECT_COUNTERS).get(environment), environment);
}

/** The new configuration version, to stamp on the rows that changed. */
export function raiseConfig(
  sql: Sql,
  environment: number,
  { destinations = 0, subscriptions = 0 }: { destinations?: number; subscriptions?: number } = {},
): number {
  return known(sql(RAISE_CONFIG).get(destinations, subscriptions, environment), environment).config_version;
}

export function raiseAuth(sql: Sql, environment: number): void {
  sql(RAISE_AUTH).run(environment);
}

function known<Row>(row: Row | undefined, environment: number): Row {
  if (row === undefined) throw new Error(`there is no environment ${environment}`);
  return row;
}
