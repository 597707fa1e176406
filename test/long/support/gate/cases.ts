import { Draw } from '../../../../sandbox/data/draw.ts';
import { type EndOfNight, nightsOf } from '../../../support/nights.ts';
import { exportIdOf } from '../../../support/published.ts';
import { COLUMNS, LEFT_OUT, LISTED } from './columns.ts';
import type { Fault } from './fault.ts';
import { BYTE_FAULTS } from './fault-bytes.ts';
import { COLUMN_FAULTS } from './fault-columns.ts';
import { ROW_FAULTS } from './fault-rows.ts';
import { drawService, type Service, settingsOf } from './service.ts';
import { tableOf } from './table.ts';
import { csvText, encoded, packed } from './write-csv.ts';
import { xlsxFile } from './write-xlsx.ts';

const FAULTS: Fault[] = [...COLUMN_FAULTS, ...ROW_FAULTS, ...BYTE_FAULTS];
const TONIGHT = 20;
const dateOf = (day: number) => `2026-11-${day}`;

/** The result of one generated file, and how it was made. */
export interface Case {
  number: number;
  service: Service;
  /** The fault of a bad file; `null`: a good file of an ordinary service. */
  fault: string | null;
  bytes: Buffer;
  /** The number of rows before the fault. */
  rows: number;
  /** The row counts of earlier published nights. */
  before: number[];
  exportId: string;
  seenIds: string[];
  end: EndOfNight;
}

/** @param kinds of files that services may write */
export async function runCase(seed: string, number: number, kinds: readonly Service['kind'][]): Promise<Case> {
  const draw = new Draw(seed, number);
  // Faults take turns, so that each occurs, with as many good files between them.
  const faults = FAULTS.filter(({ wish }) => wish?.kind === undefined || kinds.includes(wish.kind));
  const fault = number % 2 === 0 ? null : (faults[(number >> 1) % faults.length] ?? null);
  const service = drawService(draw, kinds, fault?.wish);
  const nights = nightsOf(settingsOf(service));
  const before: number[] = [];
  const seenIds: string[] = [];
  for (let ago = service.nights; ago > 0; ago -= 1) {
    const rows = near(service.rows, draw);
    await goodNight(nights, service, dateOf(TONIGHT - ago), rows, draw);
    before.push(rows);
    seenIds.push(exportIdOf(`of-${dateOf(TONIGHT - ago)}`));
  }
  const tonight = near(service.rows, draw);
  const bytes = fileOf(service, tonight, fault, draw);
  const exportId = fault?.oldExport ? (seenIds.at(-1) ?? '') : exportIdOf('tonight');
  const end = await nights.night({
    date: dateOf(TONIGHT),
    bytes,
    run: { ...runOf(service), exportId },
    named: draw.chance(0.5),
  });
  return { number, service, fault: fault?.name ?? null, bytes, rows: tonight, before, exportId, seenIds, end };
}

/** A number of rows that differs by at most a seventh. */
const near = (rows: number, draw: Draw) => Math.max(1, Math.round(rows * (1 + (draw.next() - 0.5) / 3.5)));

type Nights = ReturnType<typeof nightsOf>;

/** A night that is published after a person has released the differences that need one look. */
async function goodNight(nights: Nights, service: Service, date: string, rows: number, draw: Draw): Promise<void> {
  const end = await nights.night({ date, bytes: fileOf(service, rows, null, draw), run: runOf(service) });
  const mayWait = (service.header === 'unknown' || service.total) && end.releasable;
  const { ended, cause } = mayWait ? await nights.release(`of-${date}`) : end;
  if (ended !== 'PUBLISHED') throw new NightWithheld(date, service, cause || ended);
}

class NightWithheld extends Error {
  constructor(date: string, service: Service, why: string) {
    super(`The good file of ${date} is withheld: ${why} ${JSON.stringify(service)}`);
    this.name = 'NightWithheld';
  }
}

/** @param fault `null` makes a good one */
function fileOf(service: Service, rows: number, fault: Fault | null, draw: Draw): Buffer {
  const table = tableOf(service, rows, draw);
  fault?.table?.(table, draw, service);
  const plain = service.kind === 'xlsx' ? xlsxFile(table, service.sheet) : csvFile();
  const bytes = packed(plain, service);
  return Buffer.from(fault?.packed?.(Buffer.from(bytes), draw, service) ?? bytes);

  function csvFile(): Buffer {
    const text = csvText(table, service.dialect);
    return encoded(fault?.text?.(text, draw, service) ?? text, service.dialect);
  }
}

function runOf({ columns, except }: Service) {
  const others = LISTED.filter((name) => !columns.includes(name));
  const labels = [...columns, ...others].map((name) => COLUMNS[name].label);
  const { name, label } = LEFT_OUT;
  return {
    request: { columns },
    listed: { others, labels, types: null, complete: true },
    excepted: except ? [{ entry: name, name, label }] : [],
  };
}
