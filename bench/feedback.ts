import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { checkOut, hasCommit } from '../scripts/check-out.ts';
import { startListCloud } from './feedback/list-cloud.ts';
import { atMost, median, printReport } from './support/report.ts';

/**
 * `npm run bench:feedback`: how long a person waits, against an earlier commit, on one machine and taking turns. `list` asks a
 * server on loopback that answers at once; `npm start` is warm. With `--tests` also the tests, once each: that takes minutes.
 */

/** What the times are compared with: the commit before the work on them began. */
const BASELINE = '077666f';
const PROJECT = join(import.meta.dirname, '..');
const boolean = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: { json: boolean, tests: boolean, rounds: { type: 'string', short: 'n', default: '5' } },
});
const rounds = Number(values.rounds);

if (!hasCommit(BASELINE) || !(rounds >= 1)) {
  const shallow = `Commit ${BASELINE} is not in this clone, which may be shallow: git fetch --unshallow.`;
  process.stderr.write(`${hasCommit(BASELINE) ? 'A number of rounds is 1 or more: -n 5.' : shallow}\n`);
  process.exitCode = 2;
} else {
  await main();
}

type Trees = { old: string; current: string };

async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const trees = { old: checkOut(BASELINE), current: PROJECT };
  const cloud = await startListCloud();
  const place = ['--deployment', 'local', '--endpoint-url', cloud.endpoint];
  const cli = ['run', '-s', 'cli', '--'];
  const measured = [
    await inTurns(trees, 'help', 0.4, [...cli, '--help']),
    await inTurns(trees, 'list', 0.6, [...cli, 'list', ...place]),
    await inTurns(trees, 'start', 0.7, ['start']),
    ...(values.tests ? await tests(trees) : []),
  ];
  cloud.close();
  const targets = measured.map(({ target }) => target);
  const rows = measured.map(({ row }) => row);
  printReport(values.json, targets, rows);
}

/** Medians of runs that alternate, so that whatever else the machine does hits both. The first of each only warms up. */
async function inTurns({ old, current }: Trees, id: string, limit: number, args: string[]) {
  const times = { old: [] as number[], current: [] as number[] };
  for (const dir of [old, current]) await seconds(dir, args);
  for (let round = 0; round < rounds; round += 1) {
    times.old.push(await seconds(old, args));
    times.current.push(await seconds(current, args));
  }
  return compared(id, limit, median(times.old), median(times.current));
}

async function tests({ old, current }: Trees) {
  const before = await seconds(old, ['test']);
  const unit = await seconds(current, ['exec', '--', 'vitest', 'run', '--project', 'unit']);
  const whole = await seconds(current, ['test']);
  return [compared('unit / npm test', 1 / 6, before, unit), compared('npm test', 0.5, before, whole)];
}

function compared(id: string, limit: number, old: number, current: number) {
  const target = atMost(id, limit, current / old);
  return { target, row: { what: id, [`${BASELINE} s`]: old.toFixed(2), 'now s': current.toFixed(2) } };
}

/** One `npm` command, whose output is shown only when it fails. */
async function seconds(dir: string, args: string[]): Promise<number> {
  const { AWS_ENDPOINT_URL: _, ...env } = process.env;
  const began = performance.now();
  const child = spawn('npm', args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const took = (performance.now() - began) / 1000;
  if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code} in ${dir}:\n${(out + err).slice(-2000)}`);
  process.stderr.write(`npm ${args.join(' ')} (${dir === PROJECT ? 'now' : BASELINE}): ${took.toFixed(2)} s\n`);
  return took;
}
