import { expect } from 'vitest';
import { type EndOfNight, type Night, nightsOf } from './nights.ts';

/** Files of leads after nights with a usual one. The CRM lists eight columns; `nationalId` is left out on request. */

export const COLUMNS = ['id', 'name', 'phone'];
export const WIDE_COLUMNS = [...COLUMNS, 'city', 'street', 'zip', 'region'];
const NAMES = [...WIDE_COLUMNS, 'nationalId'];
const LABELS = ['מזהה', 'שם', 'טלפון', 'עיר', 'רחוב', 'מיקוד', 'אזור', 'תעודת זהות'];
/** A value of the left-out column: no text about a file may contain it. */
export const CANARY = '31234';
export const HEADER = `${COLUMNS.join(',')}\n`;
export const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, row) => `${row + from},דנה ${row},05012345\n`).join('');
export const FILE = HEADER + rows(240);

export interface Setting {
  columns?: string[];
  except?: boolean;
  tables?: object;
  leads?: object;
  run?: Partial<Night['run']>;
  /** Earlier nights with usual files. */
  before?: (string | Uint8Array)[];
}

function runOf({ columns = COLUMNS, except = false, run }: Setting): Night['run'] {
  const others = NAMES.filter((name) => !columns.includes(name) && !(except && name === 'nationalId'));
  const labels = [...columns, ...others].map((name) => LABELS[NAMES.indexOf(name)] ?? null);
  return {
    request: { columns },
    listed: { others, labels, types: null, complete: true },
    excepted: except ? [{ entry: 'nationalId', name: 'nationalId', label: 'תעודת זהות' }] : [],
    ...run,
  };
}

/** A bucket with these settings. `next` adds the next night, and expects no canary in any text about it. */
export function oddNights(setting: Setting = {}) {
  const { except, tables, leads } = setting;
  const nights = nightsOf({
    ...(except && { columns: { except: ['nationalId'] } }),
    ...(tables !== undefined && { tables }),
    ...leads,
  });
  let days = 0;
  const next = async (bytes: string | Uint8Array, more: Partial<Night> = {}) => {
    days += 1;
    const date = `2026-11-${9 + days}`;
    const end = await nights.night({ date, bytes, run: runOf(setting), ...more });
    expect(end.told).not.toContain(CANARY);
    return end;
  };
  return { ...nights, next, release: (newNormal = false) => nights.release(`of-2026-11-${9 + days}`, newNormal) };
}

export async function night(bytes: string | Uint8Array, setting: Setting = {}) {
  const nights = oddNights(setting);
  for (const each of setting.before ?? [FILE]) await nights.next(each);
  const end = await nights.next(bytes);
  return { ...end, ...nights };
}

/** `PUBLISHED`, the name of the error, or the checks that stopped it, with `for good` if no person can release it. */
export function outcomeOf({ ended, stoppedBy, releasable }: EndOfNight): string {
  if (ended !== 'FileQuarantined') return ended;
  return `${releasable ? '' : 'for good: '}${stoppedBy.join(', ')}`;
}
