import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { STEPS } from '../../core/step/steps.ts';
import { bundle } from '../../lib/workflow/step-bundles.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesiseInto } from '../../scripts/synthesise.ts';
import { atMost, type Found, median } from '../kit.ts';

const STARTS = 15;
/** Limits by bundle; all other functions share one limit. No file waits for the start of WriteTable. */
const MOST: Record<string, { kb: number; start: number }> = {
  engine: { kb: 70, start: 1.8 },
  WriteTable: { kb: 570, start: 5 },
};

type Bundle = { name: string; file: string; kb: number };

/** T8: the size of each bundle and its load time in a process, compared with an empty module. */
export function starts(dir: string, rounds = STARTS): Found {
  const empty = join(dir, 'empty.mjs');
  writeFileSync(empty, 'export const handler = async () => {};\n');
  const engine = join(dir, 'engine-only.mjs');
  bundle(join(import.meta.dirname, '..', '..', 'transfer', 'transfer.ts'), engine);
  const files: [string, string][] = [['engine', engine], ...functionBundles(dir)];
  const bundles = files.map(([name, file]) => ({ name, file, kb: statSync(file).size / 1000 }));
  const nothing = { name: 'empty function', file: empty, kb: 0.1 };
  const times = startTimes([nothing, ...bundles], rounds);
  const base = times.get(nothing.name) ?? Number.NaN;
  const ratio = ({ name }: Bundle) => (times.get(name) ?? Number.NaN) / base;
  const targets = bundles.flatMap((one) => {
    const most = MOST[one.name] ?? { kb: 450, start: 3.5 };
    return [atMost(`T8 ${one.name}, KB`, most.kb, one.kb), atMost(`T8 ${one.name}, start`, most.start, ratio(one))];
  });
  const runs = [nothing, ...bundles].map((one) => ({
    test: 'start',
    client: one.name,
    runs: rounds,
    'process s': ((times.get(one.name) ?? 0) / 1000).toFixed(3),
    KB: one.kb.toFixed(1),
    'x empty': ratio(one).toFixed(2),
  }));
  return { targets, runs };
}

/** The deployed functions with all options on: without them, the stack has no WriteTable. */
function functionBundles(dir: string): [string, string][] {
  const outdir = join(dir, 'cdk.out');
  const template = synthesiseInto(outdir, fullDeployment({ local: true }));
  const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
  return Object.keys(STEPS).map((step) => {
    const found = functions.find(({ Properties }) => Properties.FunctionName.endsWith(`-${step}`));
    return [step, join(outdir, `asset.${found?.Properties.Code.S3Key.replace('.zip', '')}`, 'index.mjs')];
  });
}

/** Medians in milliseconds, by name. */
function startTimes(bundles: Bundle[], rounds: number): Map<string, number> {
  const times = new Map<string, number[]>(bundles.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, file } of bundles) {
      const started = performance.now();
      const { status, stderr } = spawnSync('taskset', ['-c', '0', process.execPath, file], { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${name} does not start: ${stderr.slice(-400)}`);
      times.get(name)?.push(performance.now() - started);
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
}
