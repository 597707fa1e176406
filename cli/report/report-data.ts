import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { beforeFirstNight, type Cell, type Judge, judgesOf } from '../night/night.ts';
import type { Facts } from '../night/night-facts.ts';
import { lastNightOf } from '../night/night-starts.ts';

export interface ReportData extends Pick<Facts, 'deployment' | 'configured' | 'recorded' | 'rules'> {
  madeAt: string;
  /** The newest date of the night that began last. */
  lastNight: string;
  /** The published entities before the first night; `null` afterwards. */
  exported: Entity[] | null;
  /** Dates, oldest first. */
  nights: string[];
  rows: Row[];
}

interface Row extends Pick<Judge, 'rule' | 'next' | 'failedSince'> {
  entity: Entity;
  /** The cell of the night that began last; its starts may be before and after midnight. */
  last: Cell;
  /** One cell for each night. */
  cells: Cell[];
}

export function reportDataOf(facts: Facts): ReportData {
  const { deployment, configured, now, recorded, rules } = facts;
  const judge = judgesOf(facts);
  const lastNight = lastNightOf(configured, now)?.date ?? dateIn(configured.timeZone, now);
  const newest = [lastNight, ...facts.published.map(({ manifest }) => manifest.run.date)].sort().at(-1) ?? lastNight;
  const nights = Array.from({ length: facts.nights }, (_, index) => dateAfter(newest, index + 1 - facts.nights));
  const rows = ENTITIES.map((entity): Row => {
    const { last, cellOf, ...judged } = judge(entity);
    return { entity, ...judged, last: cellOf(last), cells: nights.map(cellOf) };
  });
  const exported = beforeFirstNight(facts);
  return { deployment, configured, recorded, rules, madeAt: now.toISOString(), lastNight, exported, nights, rows };
}
