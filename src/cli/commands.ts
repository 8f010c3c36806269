// Every command by its name, in the order of help. Each is loaded when it is asked for: most need neither the service
// nor its client, and `postrider --version` needs none of the others.
import type { CommandEntry, GroupEntry, Section } from './command.ts';

const keys = group('keys', 'Create, list and revoke API keys', {
  create: async () => (await import('./keys/create.ts')).createKeyCommand,
  list: async () => (await import('./keys/list.ts')).listKeysCommand,
  revoke: async () => (await import('./keys/revoke.ts')).revokeKeyCommand,
  delete: async () => (await import('./keys/revoke.ts')).deleteKeyCommand,
});

const destinations = group('destinations', 'Where events go: register, change, test, health', {
  list: async () => (await import('./destinations/list.ts')).listDestinationsCommand,
  get: async () => (await import('./destinations/get.ts')).getDestinationCommand,
  create: async () => (await import('./destinations/create.ts')).createDestinationCommand,
  update: async () => (await import('./destinations/update.ts')).updateDestinationCommand,
  delete: async () => (await import('./destinations/delete.ts')).deleteDestinationCommand,
  test: async () => (await import('./destinations/test.ts')).testDestinationCommand,
  health: async () => (await import('./destinations/health.ts')).destinationHealthCommand,
  rotate: async () => (await import('./destinations/rotate.ts')).rotateSecretCommand,
  recover: async () => (await import('./destinations/recover.ts')).recoverDestinationCommand,
});

const subscriptions = group('subscriptions', 'Which events a destination gets', {
  list: async () => (await import('./subscriptions/list.ts')).listSubscriptionsCommand,
  get: async () => (await import('./subscriptions/get.ts')).getSubscriptionCommand,
  create: async () => (await import('./subscriptions/create.ts')).createSubscriptionCommand,
  delete: async () => (await import('./subscriptions/delete.ts')).deleteSubscriptionCommand,
});

const events = group('events', 'What was published: list, show, send again', {
  list: async () => (await import('./events/list.ts')).listEventsCommand,
  get: async () => (await import('./events/get.ts')).getEventCommand,
  replay: async () => (await import('./events/replay.ts')).replayEventsCommand,
});

const deliveries = group('deliveries', 'One event for one destination, with every attempt', {
  list: async () => (await import('./deliveries/list.ts')).listDeliveriesCommand,
  get: async () => (await import('./deliveries/get.ts')).getDeliveryCommand,
  retry: async () => (await import('./deliveries/retry.ts')).retryDeliveryCommand,
});

const dlq = group('dlq', 'Dead deliveries: list them, give them a fresh schedule', {
  list: async () => (await import('./dlq/list.ts')).listDeadDeliveriesCommand,
  replay: async () => (await import('./dlq/replay.ts')).replayDeadCommand,
});

const operations = group('operations', 'What is sent again in bulk: follow, hold, end', {
  list: async () => (await import('./operations/list.ts')).listOperationsCommand,
  get: async () => (await import('./operations/get.ts')).getOperationCommand,
  cancel: async () => (await import('./operations/change.ts')).cancelOperationCommand,
  pause: async () => (await import('./operations/change.ts')).pauseOperationCommand,
  resume: async () => (await import('./operations/change.ts')).resumeOperationCommand,
});

const imports = group('import', 'Bring destinations over from another service', {
  svix: async () => (await import('./import/svix.ts')).importSvixCommand,
});

/** `verbs`: the second word of each command. */
function group(name: string, summary: string, verbs: Record<string, CommandEntry['load']>): GroupEntry {
  const commands = Object.entries(verbs).map(([verb, load]) => ({ name: `${name} ${verb}`, load }));
  return { name, summary, commands };
}

export const SECTIONS: readonly Section[] = [
  {
    title: 'The service',
    entries: [
      { name: 'serve', load: async () => (await import('./serve.ts')).serveCommand },
      keys,
      { name: 'migrate', load: async () => (await import('./migrate.ts')).migrateCommand },
      { name: 'backup', load: async () => (await import('./backup.ts')).backupCommand },
      { name: 'copy', load: async () => (await import('./copy.ts')).copyCommand },
    ],
  },
  {
    title: 'From elsewhere',
    entries: [{ name: 'relay', load: async () => (await import('./relay.ts')).relayCommand }, imports],
  },
  {
    title: 'Events and where they go',
    entries: [
      { name: 'publish', load: async () => (await import('./send/publish.ts')).publishCommand },
      { name: 'explain', load: async () => (await import('./send/explain.ts')).explainCommand },
      destinations,
      subscriptions,
      events,
      deliveries,
      dlq,
      operations,
    ],
  },
  {
    title: 'Looking on',
    entries: [
      { name: 'tail', load: async () => (await import('./live/tail.ts')).tailCommand },
      { name: 'stats', load: async () => (await import('./live/stats.ts')).statsCommand },
    ],
  },
  {
    title: 'Trying things',
    entries: [
      { name: 'listen', load: async () => (await import('./listen/listen.ts')).listenCommand },
      { name: 'trigger', load: async () => (await import('./send/trigger.ts')).triggerCommand },
      { name: 'demo', load: async () => (await import('./demo.ts')).demoCommand },
      { name: 'receive', load: async () => (await import('./receive.ts')).receiveCommand },
    ],
  },
  {
    title: 'This program',
    entries: [
      { name: 'login', load: async () => (await import('./profiles/login.ts')).loginCommand },
      { name: 'logout', load: async () => (await import('./profiles/logout.ts')).logoutCommand },
      {
        name: 'completion',
        load: async () => (await import('./completion/completion.ts')).completionOf(() => ENTRIES),
      },
      { name: 'version', load: async () => (await import('./version.ts')).versionCommand },
    ],
  },
];

export const ENTRIES: readonly (CommandEntry | GroupEntry)[] = SECTIONS.flatMap(({ entries }) => entries);

/** Every single command, those of groups included. */
export const COMMAND_ENTRIES: readonly CommandEntry[] = ENTRIES.flatMap((entry) =>
  'load' in entry ? [entry] : entry.commands,
);
