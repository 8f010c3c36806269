// Environments between rows and values.
import type { EnvironmentVersions } from '../store.ts';
import { modeCode } from './codec.ts';

export type EnvironmentRow = {
  id: number;
  account: string;
  mode: number;
  config_version: number;
  auth_version: number;
};

export type Counters = { config_version: number; destination_count: number; subscription_count: number };

export function toEnvironment(row: EnvironmentRow): EnvironmentVersions {
  return {
    environment: row.id,
    account: row.account,
    mode: modeCode.nameOf(row.mode),
    configVersion: row.config_version,
    authVersion: row.auth_version,
  };
}
