import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScreen } from '../cli/runs/screen.ts';
import { startCloud } from '../local/cloud.ts';
import { endLeftovers, openRunRecord } from '../local/processes/run-record.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { atMost, median, printReport, type Target } from './support/report.ts';
import { type Cost, type Job, WARM_CALLS } from './tokens/job.ts';
import { inProcesses } from './tokens/processes.ts';
import { createWorld } from './tokens/world.ts';

/**
 * `npm run bench:tokens`: what a token costs, against the local cloud and a strictly rotating sandbox. Times are compared with
 * a bare GetSecretValue of a fresh process, without the start of the process. Contending clients have a cache each and find
 * the token expired; `x same` compares them with as many bare reads. Losers wait for 0.25 to 1.5 s by design.
 */

const ROUNDS = 7;
/** Clients, and the processes that they are spread over. */
const CONTENDERS = [
  [1, 1],
  [7, 7],
  [50, 10],
  [300, 20],
] as const;

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const cacheDir = join(import.meta.dirname, '..', '.cache');
const screen = createScreen(process.stderr);
await endLeftovers(cacheDir);
const record = await openRunRecord(cacheDir);
try {
  const cloud = await startCloud(screen, record, new AbortController().signal);
  const sandbox = await startSandbox({ rotation: 'strict' });
  const world = await createWorld(cloud, sandbox);
  const bench: Bench = { ...world, sandbox, env: cloud.env };
  const alone = await screen.step('One client: bare read, valid token, warm', () => oneClient(bench));
  const runs = [alone.bare, alone.valid, alone.warm];
  const targets = alone.targets;
  for (const [clients, processes] of CONTENDERS) {
    const work = () => contend(bench, clients, processes, alone.bareMs);
    const contended = await screen.step(expired(clients, processes), work);
    runs.push(contended.run);
    targets.push(...contended.targets);
  }
  printReport(values.json, targets, runs);
  await sandbox.close();
} finally {
  await record.close();
}

interface Bench extends Awaited<ReturnType<typeof createWorld>> {
  sandbox: Sandbox;
  env: Record<string, string>;
}

function spend({ places, crm, env }: Bench, work: Job['work'], clients = 1, processes = 1): Promise<Cost> {
  return inProcesses({ work, clients, places, crm }, processes, env);
}

/** Alternating, so that whatever else the machine does hits both. */
async function oneClient(bench: Bench) {
  const bare: Cost[] = [];
  const valid: Cost[] = [];
  await bench.store(3600);
  bench.sandbox.ledger.clear();
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await spend(bench, 'secret'));
    valid.push(await spend(bench, 'token'));
  }
  const warm = await spend(bench, 'warm');
  const perCall = { ...warm, wallMs: warm.wallMs / WARM_CALLS, cpuMs: warm.cpuMs / WARM_CALLS };
  const calls = bench.sandbox.ledger.count({ kind: 'token' });
  const bareMs = median(bare.map(({ wallMs }) => wallMs));
  const typical = medianCost(valid);
  return {
    bareMs,
    bare: row('bare GetSecretValue, fresh process', medianCost(bare), 0, bareMs),
    valid: row('valid token, fresh process', typical, calls, bareMs),
    warm: row('warm, per call', perCall, calls, bareMs),
    targets: [
      atMost('warm-wall-ms', 1, perCall.wallMs),
      atMost('warm-cpu-ms', 1, perCall.cpuMs),
      exactly('warm-reads', 0, warm.reads),
      exactly('valid-secret-reads', 1, Math.max(...valid.map(({ reads }) => reads))),
      exactly('valid-writes', 0, Math.max(...valid.map((cost) => cost.versions + cost.ledgerWrites)) + calls),
    ],
  };
}

async function contend(bench: Bench, clients: number, processes: number, bareMs: number) {
  const each = clients / processes;
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
  return { run, targets };
}

function expired(clients: number, processes: number): string {
  if (clients === 1) return 'expired token, fresh process';
  return `${clients} clients, ${processes} processes, expired`;
}

function exactly(id: string, aim: number, measured: number): Target {
  return { id, aim: `= ${aim}`, measured, met: measured === aim };
}

function medianCost(costs: Cost[]): Cost {
  const of = (key: Exclude<keyof Cost, 'tokens'>) => median(costs.map((cost) => cost[key]));
  return {
    ...{ wallMs: of('wallMs'), cpuMs: of('cpuMs'), reads: of('reads'), versions: of('versions') },
    ...{ ledgerWrites: of('ledgerWrites'), refusedClaims: of('refusedClaims'), tokens: [] },
  };
}

function row(what: string, cost: Cost, tokenCalls: number, bareMs: number, sameMs?: number) {
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
