// What nodes tell the streams of other nodes: batches, kept for a minute so that who comes late or comes back finds
// what it has missed.
import { formatId, idBytes } from '../../../../model/id.ts';
import { MESSAGE_BATCHES_MAX } from '../../../cluster-store.ts';
import type { OfCluster } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { NOW } from './nodes.ts';

const KEPT_MS = 60_000;

const INSERT = statement<never>(
  'stream_batches_insert',
  `INSERT INTO stream_batches (environment, node, number, published_at, lost, messages)
   VALUES ($1::int4, $2, $3::int8, ${NOW}, $4::int4, $5)`,
);

type BatchRow = { node: Uint8Array; number: number; lost: number | null; messages: string };

const SELECT_OF_NODE = statement<BatchRow>(
  'stream_batches_of_node',
  `SELECT node, number, lost, messages FROM stream_batches
   WHERE environment = $1::int4 AND node = $2 AND number > $3::int8 ORDER BY number LIMIT ${MESSAGE_BATCHES_MAX}`,
);

const SELECT_NEWEST = statement<BatchRow>(
  'stream_batches_newest',
  `SELECT node, number, lost, messages FROM stream_batches
   WHERE environment = $1::int4 AND published_at >= ${NOW} - ${KEPT_MS}
   ORDER BY published_at DESC, number DESC LIMIT ${MESSAGE_BATCHES_MAX}`,
);

const DELETE_OLD = statement<never>(
  'stream_batches_delete',
  `DELETE FROM stream_batches WHERE published_at < ${NOW} - ${KEPT_MS}`,
);

export const publishMessages: OfCluster<'publishMessages'> = ({ write }, { environment, node, number, lost, text }) =>
  write(async (tx) => void (await tx.change(INSERT, [environment, idBytes(node), number, lost, text])));

export const readMessages: OfCluster<'readMessages'> = ({ read }, { environment, node, after }) =>
  read(async (tx) => {
    const rows =
      node === null
        ? (await tx.run(SELECT_NEWEST, [environment])).reverse()
        : await tx.run(SELECT_OF_NODE, [environment, idBytes(node), after]);
    return rows.map(({ node: from, messages, ...row }) => {
      return { environment, node: formatId('nod', from), number: row.number, lost: row.lost, text: messages };
    });
  });

export const dropMessages: OfCluster<'dropMessages'> = ({ write }) =>
  write(async (tx) => void (await tx.change(DELETE_OLD)));
