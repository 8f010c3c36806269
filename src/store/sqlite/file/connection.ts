// What a connection serves: methods with errors as the store's own, and for the writer the checkpoints between them.
import type { Clock } from '../../../runtime/clock.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import type { Random } from '../../../runtime/random.ts';
import { StoreError } from '../../store.ts';
import { loadBacklog } from '../backlog.ts';
import { createCheckpointer } from '../threads/checkpoint.ts';
import type { PassiveCheckpoints } from '../threads/checkpoint.ts';
import { createReadContext, createWriteContext } from '../context.ts';
import type { WriteOptions } from '../context.ts';
import { BUSY_TIMEOUT_MS, openDatabase } from './database.ts';
import type { Database } from './database.ts';
import { toStoreError } from '../errors.ts';
import { createReadMethods, createWriteMethods } from '../methods.ts';
import type { MethodName } from '../methods.ts';
import { watchServedFiles } from './served-files.ts';

/** One thread's end of the database. */
export interface Connection {
  /** Runs one method. Every error that is the database's comes as a StoreError. */
  run(method: MethodName, parameters: unknown[]): unknown;
  /** Runs several of JOINING in one transaction, or none of them: then it throws, and each may be run by itself. */
  runTogether(calls: Call[]): unknown[];
  /** To be called when a run's result has been handed on: what may take time and nobody should wait for. */
  afterRun: () => void;
  close(): void;
}

export type Call = { method: MethodName; parameters: unknown[] };

type Runtime = { clock: Clock; random: Random };

/** Answers the reading methods; cannot write. */
export function openReader(options: { path: string; masterKey: Uint8Array } & Runtime): Connection {
  const db = openDatabase(options.path, { readOnly: true });
  const methods = createReadMethods(createReadContext(db, createSealer(options.masterKey, options.random)));
  return createConnection({ db, methods, isDiskFull: () => false });
}

/** Answers every method, and is the only one that writes. */
export function createWriter(
  options: { db: Database; masterKey: Uint8Array; passive: PassiveCheckpoints } & WriteOptions & Runtime,
): Connection {
  const { db, random, masterKey, passive } = options;
  const reading = createReadContext(db, createSealer(masterKey, random));
  const backlog = loadBacklog(db);
  // After the first read, with which SQLite opens the log and its index too.
  const files = watchServedFiles(options.dataDir);
  const context = createWriteContext(reading, { ...options, backlog, files });
  const methods = { ...createReadMethods(reading), ...createWriteMethods(context) };
  const checkpointer = createCheckpointer({ db, busyTimeoutMs: BUSY_TIMEOUT_MS, passive });
  const connection = createConnection({
    db,
    methods,
    isDiskFull: () => context.diskReserve.isDiskFull(),
  });
  return {
    ...connection,
    runTogether: (calls) => context.together(() => calls.map((call) => connection.run(call.method, call.parameters))),
    afterRun: () => checkpointer.afterWrite(),
  };
}

/** `methods` are looked up by name; whoever calls has made sure that there is one. */
export function createConnection(options: { db: Database; methods: object; isDiskFull: () => boolean }): Connection {
  const { db, isDiskFull } = options;
  const methods = options.methods as Record<MethodName, (...parameters: unknown[]) => unknown>;
  const connection: Connection = {
    run(method, parameters) {
      try {
        return methods[method](...parameters);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        throw toStoreError(error, isDiskFull);
      }
    },
    runTogether: (calls) => calls.map((call) => connection.run(call.method, call.parameters)),
    afterRun: () => {},
    close() {
      if (db.isOpen) db.close();
    },
  };
  return connection;
}
