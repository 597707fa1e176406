import { median } from '../support/targets.ts';
import type { Limit } from './cgroup.ts';
import type { Client } from './clients.ts';
import { type Measured, measure } from './measure.ts';
import type { Call, Servers } from './servers.ts';

/** Medians of a client's runs. `wall` and `cpu` are of the whole process, `seconds` and `cpuSeconds` of the transfer. */
export interface Result {
  name: string;
  wall: number;
  cpu: number;
  rss: number;
  seconds: number;
  cpuSeconds: number;
  runs: number;
  /** The requests to both ends in the last run. */
  calls: { origin: Call[]; sink: Call[] };
}

/**
 * Runs clients one after the other, round by round, so that whatever else the machine does hits all of them.
 * @throws ClientFailed, and Error when a client reports success and the sink has less than the file
 */
export async function interleaved(
  servers: Servers,
  clients: Client[],
  { rounds, bytes, limit, print }: { rounds: number; bytes: number; limit?: Limit; print: (line: string) => void },
): Promise<Result[]> {
  const all = clients.map((client) => ({ client, runs: [] as Measured[], calls: servers.calls() }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const one of all) {
      servers.calls();
      one.runs.push(await measure(one.client, limit));
      one.calls = servers.calls();
      const { wall = 0, reported } = one.runs.at(-1) ?? {};
      print(`${one.client.name}, ${round} of ${rounds}: ${(reported?.seconds ?? wall).toFixed(2)} s`);
      const sent = one.calls.sink.filter(({ method }) => method === 'PUT').reduce((sum, call) => sum + call.bytes, 0);
      if (sent < bytes) throw new Error(`${one.client.name} sent ${sent} of ${bytes} bytes.`);
    }
  }
  return all.map(({ client, runs, calls }) => ({ name: client.name, calls, ...medians(runs) }));
}

function medians(runs: Measured[]) {
  const of = (figure: (run: Measured) => number) => median(runs.map(figure));
  return {
    wall: of((run) => run.wall),
    cpu: of((run) => run.cpu),
    rss: of((run) => run.rss),
    runs: runs.length,
    seconds: of(({ reported, wall }) => reported?.seconds ?? wall),
    cpuSeconds: of(({ reported, cpu }) => reported?.cpuSeconds ?? cpu),
  };
}
