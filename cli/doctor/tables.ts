import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { type Finding, holds, warning } from '../checks/finding.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { type StandingTable, standingTables } from '../tables/standing-tables.ts';

/**
 * Whether the tables in the bucket stand under today's settings of what is readable. Nothing where there are no tables.
 */
export async function tablesFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Pick<Deployment, 'entities'>,
  place: TargetOptions,
): Promise<Finding[]> {
  const found = await standingTables(target, deployment);
  if (found.length === 0) return [];
  const lagging = found.filter(({ settings }) => settings !== 'today');
  if (lagging.length === 0)
    return [holds(`${manyText(found.length, 'table')}: all stand under today's settings of columns.`)];
  return [...Map.groupBy(lagging, ({ entity }) => entity)].map(([entity, tables]) => findingOf(entity, tables, place));
}

function findingOf(entity: Entity, tables: StandingTable[], place: TargetOptions): Finding {
  const of = (wanted: StandingTable['settings']) => tables.filter(({ settings }) => settings === wanted);
  const other = of('other');
  const unknown = of('unknown');
  const left = of('left');
  const text = [
    ...said(other, 'stand under other settings of columns than today'),
    ...said(unknown, 'do not say under which settings they stand: an earlier release wrote them'),
    ...said(
      left,
      'stand under other settings, and nothing writes them again: they are of another version, or `tables` is gone',
    ),
  ];
  const again = `Write them again: ${commandFor(`table ${entity} --outdated`, place)}.`;
  const remove = 'Remove from the bucket what nothing writes again, or wait until the lifecycle rules do.';
  const advice = [...(other.length + unknown.length > 0 ? [again] : []), ...(left.length > 0 ? [remove] : [])];
  return { ...warning(`Tables of ${entity}: ${text.join('; ')}.`, advice.join(' ')), of: entity };
}

/** Dates that are named one by one. */
const MOST_NAMED = 10;

function said(tables: StandingTable[], what: string): string[] {
  if (tables.length === 0) return [];
  const named = tables.slice(0, MOST_NAMED).map(({ date }) => date);
  const more = tables.length - named.length;
  const dates = `${named.join(', ')}${more > 0 ? ` and ${more} more, up to ${tables.at(-1)?.date}` : ''}`;
  return [`${tables.length} ${what} (${dates})`];
}
