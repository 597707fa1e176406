import type { Draw } from '../../../../sandbox/data/draw.ts';

/** The leads in the CRM, and their changes from day to day. */

export const COLUMNS = 'id branch name status score premium sum active day createdAt rowId updatedAt'.split(' ');
export const TYPES = {
  premium: 'double',
  sum: { type: 'decimal', precision: 12, scale: 2 },
  active: 'boolean',
  day: 'date',
  createdAt: 'timestamp',
};
/** A record, in the order of the columns. */
export type Lead = readonly string[];

const NAMES = [
  ...(['Dana', 'דנה כהן', 'לוי', ' x ', '', 'a "b"', 'c;d'] as const),
  ...(['e,f', 'two\nlines', "O'Neill", 'NULL', '007'] as const),
] as const;
const VALUES: Record<string, (draw: Draw) => string> = {
  branch: (draw) => (draw.chance(0.03) ? '' : draw.pick(['north', 'south'])),
  name: (draw) => `${draw.pick(NAMES)}${draw.chance(0.3) ? draw.digits(2) : ''}`,
  status: (draw) => draw.pick(['open', 'closed', 'lost', '']),
  score: (draw) => draw.pick(['', '0', '-7', '42', 'n/a', '9007199254740993']),
  premium: (draw) => draw.pick(['', '0.1', '1e21', '-0', '0', '12345.678', String(draw.next())]),
  sum: (draw) => draw.pick(['', '0', '1.50', '-3.07', '9999999999.99']),
  active: (draw) => draw.pick(['', 'true', 'false']),
  day: (draw) => draw.pick(['', '2026-02-28', '1999-12-31', '0099-01-01']),
  createdAt: (draw) => draw.pick(['', '2026-11-20T10:00:00Z', '2026-03-27T02:30:00+03:00', '1969-12-31T23:59:59.5Z']),
  // A column whose name SQLite reserves, and which is not a key.
  rowId: (draw) => draw.pick(['1', '2', '3']),
  updatedAt: (draw) => `2026-11-20T10:00:${draw.digits(2)}`,
};

function drawLead(id: string, draw: Draw): Lead {
  return COLUMNS.map((name) => (name === 'id' ? id : (VALUES[name]?.(draw) ?? '')));
}

/** @param next the number of the first id */
export function drawLeads(count: number, next: number, draw: Draw): Lead[] {
  return Array.from({ length: count }, (_, place) => drawLead(String(next + place), draw));
}

/** A day in the CRM: edits, deletions, new records, and keys that get lost, repeated or corrected. */
export function nextDay(leads: readonly Lead[], next: number, draw: Draw): Lead[] {
  const kept = leads.filter((lead) => !draw.chance(isOdd(lead, leads) ? 0.2 : 0.02)).map((lead) => edited(lead, draw));
  const again = kept.filter(() => draw.chance(0.02)).map((lead) => (draw.chance(0.5) ? lead : edited(lead, draw, 1)));
  const fresh = drawLeads(draw.int(1, 8), next, draw);
  const keyless = fresh.filter(() => draw.chance(0.2)).map((lead) => ['', ...lead.slice(1)]);
  const all = [...kept, ...again, ...fresh, ...keyless];
  return draw.chance(0.3) ? shuffled(all, draw) : all;
}

const isOdd = ([id]: Lead, leads: readonly Lead[]) => id === '' || leads.filter(([other]) => other === id).length > 1;

function edited(lead: Lead, draw: Draw, probability = 0.1): Lead {
  const touched = draw.chance(0.3) ? ['updatedAt'] : [];
  const changed = draw.chance(probability) ? [...touched, draw.pick(EDITED), 'updatedAt'] : touched;
  return lead.map((value, place) => {
    const name = COLUMNS[place] ?? '';
    return changed.includes(name) ? (VALUES[name]?.(draw) ?? value) : value;
  });
}

const EDITED = ['branch', 'name', 'status', 'score', 'premium', 'sum', 'active', 'day', 'createdAt'] as const;

export function shuffled<T>(all: readonly T[], draw: Draw): T[] {
  return all
    .map((each) => ({ each, place: draw.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ each }) => each);
}
