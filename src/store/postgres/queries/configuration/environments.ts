// The environments and their two versions: every change to configuration or keys raises one in its transaction.
import { toEnvironment, type Counters, type EnvironmentRow } from '../../../rows/environment-rows.ts';
import type { Read } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';

const SELECT_ALL = statement<EnvironmentRow>(
  'environments_all',
  `SELECT e.id, a.name AS account, e.mode, e.config_version, e.auth_version
   FROM environments e JOIN accounts a ON a.id = e.account_id ORDER BY e.id`,
);

const SELECT_VERSION = statement<{ config_version: number }>(
  'environments_version',
  'SELECT config_version FROM environments WHERE id = $1::int4',
);

const RAISE_CONFIG = statement<Counters>(
  'environments_raise_config',
  `UPDATE environments SET config_version = config_version + 1 WHERE id = $1::int4
   RETURNING config_version, destination_count, subscription_count`,
);

const COUNT = statement<never>(
  'environments_count',
  `UPDATE environments
   SET destination_count = destination_count + $2::int4, subscription_count = subscription_count + $3::int4
   WHERE id = $1::int4`,
);

const RAISE_AUTH = statement<never>(
  'environments_raise_auth',
  'UPDATE environments SET auth_version = auth_version + 1 WHERE id = $1::int4',
);

export const readEnvironments: Read<'readEnvironments'> = ({ read, horizons }) =>
  read(async (tx) => {
    // Asked for four times a second by whoever follows the configuration: the horizons come along.
    const [rows] = await Promise.all([tx.run(SELECT_ALL), horizons.refresh(tx)]);
    return rows.map(toEnvironment);
  });

export async function readConfigVersion(tx: Tx, environment: number): Promise<number> {
  const [row] = await tx.run(SELECT_VERSION, [environment]);
  return known(row, environment).config_version;
}

/**
 * The new version, to stamp on the rows that change; the counts are those before the change. First in its transaction:
 * it locks the environment's row, so that the changes of one environment take turns and see each other's results. A
 * change that turns out to be none is refused, which takes the version back.
 */
export async function raiseConfig(tx: Tx, environment: number): Promise<Counters> {
  const [row] = await tx.run(RAISE_CONFIG, [environment]);
  return known(row, environment);
}

export function changeCounts(
  tx: Tx,
  environment: number,
  { destinations = 0, subscriptions = 0 }: { destinations?: number; subscriptions?: number },
): Promise<number> {
  return tx.change(COUNT, [environment, destinations, subscriptions]);
}

export function raiseAuth(tx: Tx, environment: number): Promise<number> {
  return tx.change(RAISE_AUTH, [environment]);
}

function known<Row>(row: Row | undefined, environment: number): Row {
  if (row === undefined) throw new Error(`there is no environment ${environment}`);
  return row;
}
