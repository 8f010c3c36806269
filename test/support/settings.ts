// The settings that the service has when nobody sets any, whatever the environment of the tests says.
import { SETTINGS, type Settings } from '../../src/config.ts';

export function settingsWith(overrides: Partial<Settings> = {}): Settings {
  const defaults = Object.entries(SETTINGS).map(([name, setting]) => [name, setting.parse(setting.default)]);
  return { ...(Object.fromEntries(defaults) as Settings), ...overrides };
}
