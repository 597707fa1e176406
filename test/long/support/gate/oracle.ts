import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Case } from './cases.ts';
import { COLUMNS } from './columns.ts';
import { headerText } from './service.ts';

const SCRIPT = join(import.meta.dirname, 'oracle.py');
/** With fewer usual rows than this, shrinking is not checked. */
const LEAST_USUAL_ROWS = 20;

export interface Judged {
  number: number;
  /** The number of delivered rows, by their values. */
  rows: number | null;
  /** Broken promises, in sentences. */
  broken: string[];
}

/**
 * Asks an independent Python script whether publishing these files would break a promise. @param python has openpyxl
 */
export async function judgeFiles(python: string, cases: readonly Case[]): Promise<Judged[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-'));
  try {
    const asked = await Promise.all(
      cases.map(async (each) => {
        const path = join(folder, String(each.number));
        await writeFile(path, each.bytes);
        return JSON.stringify({ ...promisesOf(each), path });
      }),
    );
    const child = spawn(python, ['-I', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(`${asked.join('\n')}\n`);
    const answers = (await text(child.stdout)).trim().split('\n');
    const judged = answers.map((line): Judged => JSON.parse(line));
    if (judged.length !== cases.length) throw new Error(`Python judged ${judged.length} of ${cases.length} files`);
    return judged;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The settings in the script's format, with the facts of the earlier nights. */
function promisesOf({ number, service, before, exportId, seenIds, end }: Case): object {
  const { columns, required, drift, header, dialect, total, kind, minRows = null, except } = service;
  const { rows = null, header: named = null } = end.manifest?.file ?? {};
  return {
    number,
    kind,
    columns,
    except,
    required,
    total,
    minRows,
    added: drift.added === 'stop',
    removed: drift.removed === 'stop',
    leastRows: leastRows(service, before),
    oldExport: seenIds.includes(exportId),
    trailing: dialect.trailing !== 'none',
    endsWithBreak: before.length > 0 && dialect.finalBreak,
    headerless: header === 'none',
    rows,
    header: named,
    names: columns.map((name) => [name, headerText(name, header), COLUMNS[name].label ?? name]),
  };
}

function leastRows({ maxShrink = 0.5 }: Case['service'], before: readonly number[]): number | null {
  const sorted = [...before].sort((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  const median = low === undefined || high === undefined ? 0 : (low + high) / 2;
  return median < LEAST_USUAL_ROWS ? null : median * (1 - maxShrink);
}
