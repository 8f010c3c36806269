// Every command by its name, in the order of help. Each is loaded when it is asked for: most need neither the service
// nor its client, and `postrider --version` needs none of the others.
import type { CommandEntry, GroupEntry, Section } from './command.ts';

const keys: GroupEntry = {
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  commands: [
    { name: 'keys create', load: async () => (await import('./keys/create.ts')).createKeyCommand },
    { name: 'keys list', load: async () => (await import('./keys/list.ts')).listKeysCommand },
    { name: 'keys revoke', load: async () => (await import('./keys/revoke.ts')).revokeKeyCommand },
    { name: 'keys delete', load: async () => (await import('./keys/revoke.ts')).deleteKeyCommand },
  ],
};

const destinations: GroupEntry = {
  name: 'destinations',
  summary: 'Where events go: register, change, test, health',
  commands: [
    { name: 'destinations list', load: async () => (await import('./destinations/list.ts')).listDestinationsCommand },
    { name: 'destinations get', load: async () => (await import('./destinations/get.ts')).getDestinationCommand },
    {
      name: 'destinations create',
      load: async () => (await import('./destinations/create.ts')).createDestinationCommand,
    },
    {
      name: 'destinations update',
      load: async () => (await import('./destinations/update.ts')).updateDestinationCommand,
    },
    {
      name: 'destinations delete',
      load: async () => (await import('./destinations/delete.ts')).deleteDestinationCommand,
    },
    { name: 'destinations test', load: async () => (await import('./destinations/test.ts')).testDestinationCommand },
    {
      name: 'destinations health',
      load: async () => (await import('./destinations/health.ts')).destinationHealthCommand,
    },
    { name: 'destinations rotate', load: async () => (await import('./destinations/rotate.ts')).rotateSecretCommand },
    {
      name: 'destinations recover',
      load: async () => (await import('./destinations/recover.ts')).recoverDestinationCommand,
    },
  ],
};

const subscriptions: GroupEntry = {
  name: 'subscriptions',
  summary: 'Which events a destination gets',
  commands: [
    {
      name: 'subscriptions list',
      load: async () => (await import('./subscriptions/list.ts')).listSubscriptionsCommand,
    },
    { name: 'subscriptions get', load: async () => (await import('./subscriptions/get.ts')).getSubscriptionCommand },
    {
      name: 'subscriptions create',
      load: async () => (await import('./subscriptions/create.ts')).createSubscriptionCommand,
    },
    {
      name: 'subscriptions delete',
      load: async () => (await import('./subscriptions/delete.ts')).deleteSubscriptionCommand,
    },
  ],
};

const events: GroupEntry = {
  name: 'events',
  summary: 'What was published: list, show, send again',
  commands: [
    { name: 'events list', load: async () => (await import('./events/list.ts')).listEventsCommand },
    { name: 'events get', load: async () => (await import('./events/get.ts')).getEventCommand },
    { name: 'events replay', load: async () => (await import('./events/replay.ts')).replayEventsCommand },
  ],
};

const deliveries: GroupEntry = {
  name: 'deliveries',
  summary: 'One event for one destination, with every attempt',
  commands: [
    { name: 'deliveries list', load: async () => (await import('./deliveries/list.ts')).listDeliveriesCommand },
    { name: 'deliveries get', load: async () => (await import('./deliveries/get.ts')).getDeliveryCommand },
    { name: 'deliveries retry', load: async () => (await import('./deliveries/retry.ts')).retryDeliveryCommand },
  ],
};

const dlq: GroupEntry = {
  name: 'dlq',
  summary: 'Dead deliveries: list them, give them a fresh schedule',
  commands: [
    { name: 'dlq list', load: async () => (await import('./dlq/list.ts')).listDeadDeliveriesCommand },
    { name: 'dlq replay', load: async () => (await import('./dlq/replay.ts')).replayDeadCommand },
  ],
};

const operations: GroupEntry = {
  name: 'operations',
  summary: 'What is sent again in bulk: follow, hold, end',
  commands: [
    { name: 'operations list', load: async () => (await import('./operations/list.ts')).listOperationsCommand },
    { name: 'operations get', load: async () => (await import('./operations/get.ts')).getOperationCommand },
    { name: 'operations cancel', load: async () => (await import('./operations/change.ts')).cancelOperationCommand },
    { name: 'operations pause', load: async () => (await import('./operations/change.ts')).pauseOperationCommand },
    { name: 'operations resume', load: async () => (await import('./operations/change.ts')).resumeOperationCommand },
  ],
};

const imports: GroupEntry = {
  name: 'import',
  summary: 'Bring destinations over from another service',
  commands: [{ name: 'import svix', load: async () => (await import('./import/svix.ts')).importSvixCommand }],
};

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
