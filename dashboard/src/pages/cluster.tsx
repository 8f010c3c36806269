import { useQuery } from '@tanstack/react-query';
import { clusterQuery } from '../api/queries.ts';
import { useMode } from '../components/environment.ts';
import { Page } from '../components/page.tsx';
import { Badge, Fault, Time, useTicking } from '../components/show.tsx';
import { count } from '../words/numbers.ts';

/** A node renews its lease every few seconds; one that has not for this long may be gone. */
const SILENT_MS = 15_000;

export function Cluster() {
  const mode = useMode();
  const { data, error } = useQuery(clusterQuery(mode));
  return (
    <Page title="Cluster">
      <Fault error={error} />
      {data !== undefined && (
        <div className="stack">
          <dl className="figures">
            <Figure name="Nodes" value={count(data.data.length)} />
            <Figure name="Shards nobody sends for" value={count(data.shards_free)} isBad={data.shards_free > 0} />
            <Figure name="Unfinished deliveries" value={count(data.backlog)} />
          </dl>
          <section className="card table-wrap">
            <table className="cards" aria-label="Nodes">
              <thead>
                <tr>
                  <th>Node</th>
                  <th>State</th>
                  <th className="number">Shards</th>
                  <th>Address</th>
                  <th>Version</th>
                  <th>Started</th>
                  <th className="number">Last heartbeat</th>
                </tr>
              </thead>
              <tbody>
                {data.data.map((node) => (
                  <tr key={node.id}>
                    <td className="lead">
                      <span className="cut strong" title={node.id}>
                        {node.name}
                      </span>
                    </td>
                    <td className="end">
                      <NodeState lastAt={node.last_heartbeat_at} isLeaving={node.is_leaving} />
                    </td>
                    <td className="number">
                      {node.shards_owned}
                      <span className="narrow-only muted"> shards</span>
                    </td>
                    <td className="mono wide-only">{node.address}</td>
                    <td className="wide-only">{node.version}</td>
                    <td className="wide-only">
                      <Time at={node.started_at} />
                    </td>
                    <td className="number wide-only">
                      <Time at={node.last_heartbeat_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </div>
      )}
    </Page>
  );
}

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd className={isBad ? 'tone-bad' : undefined}>{value}</dd>
    </div>
  );
}

function NodeState({ lastAt, isLeaving }: { lastAt: string; isLeaving: boolean }) {
  const isSilent = useTicking((now) => (now - Date.parse(lastAt) > SILENT_MS ? 1 : 0)) === 1;
  if (isLeaving) return <Badge tone="wait">Leaving</Badge>;
  return isSilent ? <Badge tone="bad">Silent</Badge> : <Badge tone="good">Alive</Badge>;
}
