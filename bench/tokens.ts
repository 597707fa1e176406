import { startCloud } from '../local/cloud.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { benchmark, type Found } from './support/kit.ts';
import { withRecord } from './support/session.ts';
import { atMost, exactly, median } from './support/targets.ts';
import { type Cost, type Figures, figuresOf, type Job, WARM_CALLS } from './tokens/job.ts';
import { inProcesses } from './tokens/processes.ts';
import { createWorld } from './tokens/world.ts';

/**
 * `npm run bench:tokens`: what a token costs, against the local cloud and a strictly rotating sandbox. Times are compared with
 * a bare GetSecretValue of a fresh process, without the start of the process. Contending clients have a cache each and find
 * the token expired; `x same` compares them with as many bare reads. Losers wait for 0.25 to 1.5 s by design.
 */

const ROUNDS = 7;
/** Clients, and the processes that they are spread over. */
const CONTENDERS: [clients: number, processes: number][] = [
  [1, 1],
  [7, 7],
  [50, 10],
  [300, 20],
];
const FEW = CONTENDERS.slice(0, 2);

await benchmark(async ({ quick, screen, experiment }) => {
  await withRecord(async (record) => {
    const cloud = await startCloud(screen, record, new AbortController().signal);
    const sandbox = await startSandbox({ rotation: 'strict' });
    const bench: Bench = { ...(await createWorld(cloud, sandbox)), sandbox, env: cloud.env };
    const what = 'One client: bare read, valid token, warm';
    const rounds = quick ? 1 : ROUNDS;
    await experiment(['one'], what, () => oneClient(bench, rounds));
    for (const [clients, processes] of quick ? FEW : CONTENDERS) {
      await experiment([`${clients}`], expired(clients, processes), () => contend(bench, clients, processes, rounds));
    }
    await sandbox.close();
  });
});

interface Bench extends Awaited<ReturnType<typeof createWorld>> {
  sandbox: Sandbox;
  env: Record<string, string>;
}

function spend({ places, crm, env }: Bench, work: Job['work'], clients = 1, processes = 1): Promise<Cost> {
  return inProcesses({ work, clients, places, crm }, processes, env);
}

/** Alternating, so that whatever else the machine does hits both. */
async function oneClient(bench: Bench, rounds: number): Promise<Found> {
  const bare: Cost[] = [];
  const valid: Cost[] = [];
  await bench.store(3600);
  bench.sandbox.ledger.clear();
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await spend(bench, 'secret'));
    valid.push(await spend(bench, 'token'));
  }
  const warm = await spend(bench, 'warm');
  const perCall = { ...warm, wallMs: warm.wallMs / WARM_CALLS, cpuMs: warm.cpuMs / WARM_CALLS };
  const calls = bench.sandbox.ledger.count({ kind: 'token' });
  const typicalBare = figuresOf(bare, median);
  const bareMs = typicalBare.wallMs;
  return {
    runs: [
      row('bare GetSecretValue, fresh process', typicalBare, 0, bareMs),
      row('valid token, fresh process', figuresOf(valid, median), calls, bareMs),
      row('warm, per call', perCall, calls, bareMs),
    ],
    targets: [
      atMost('warm-wall-ms', 1, perCall.wallMs),
      atMost('warm-cpu-ms', 1, perCall.cpuMs),
      exactly('warm-reads', 0, warm.reads),
      exactly('valid-secret-reads', 1, Math.max(...valid.map(({ reads }) => reads))),
      exactly('valid-writes', 0, Math.max(...valid.map((cost) => cost.versions + cost.ledgerWrites)) + calls),
    ],
  };
}

async function contend(bench: Bench, clients: number, processes: number, rounds: number): Promise<Found> {
  const each = clients / processes;
  const bare: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) bare.push(await spend(bench, 'secret'));
  const bareMs = median(bare.map(({ wallMs }) => wallMs));
  const same = await spend(bench, 'secret', each, processes);
  await bench.store(-60);
  bench.sandbox.ledger.clear();
  const cost = await spend(bench, 'token', each, processes);
  const calls = bench.sandbox.ledger.count({ kind: 'token' });
  const reuses = bench.sandbox.ledger.violations().length;
  const run = row(expired(clients, processes), cost, calls, bareMs, same.wallMs);
  const targets = [
    exactly(`token-calls-${clients}`, 1, calls),
    exactly(`reuses-${clients}`, 0, reuses),
    exactly(`versions-${clients}`, 1, cost.versions),
    exactly(`ledger-writes-${clients}`, 2, cost.ledgerWrites),
    exactly(`tokens-${clients}`, 1, cost.tokens.length),
  ];
  return { runs: [run], targets };
}

function expired(clients: number, processes: number): string {
  if (clients === 1) return 'expired token, fresh process';
  return `${clients} clients, ${processes} processes, expired`;
}

function row(what: string, cost: Figures, tokenCalls: number, bareMs: number, sameMs?: number) {
  const digits = cost.wallMs < 1 ? 4 : 1;
  return {
    what,
    'wall ms': cost.wallMs.toFixed(digits),
    'cpu ms': cost.cpuMs.toFixed(digits),
    'x bare': (cost.wallMs / bareMs).toFixed(digits === 4 ? 4 : 2),
    'x same': sameMs === undefined ? '' : (cost.wallMs / sameMs).toFixed(2),
    'token calls': tokenCalls,
    'secret reads': cost.reads,
    versions: cost.versions,
    'ledger writes': cost.ledgerWrites,
    'refused claims': cost.refusedClaims,
  };
}
