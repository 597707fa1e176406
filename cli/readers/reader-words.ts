import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/reader-settings.ts';
import { kindOf, readerName } from '../../core/readers/readers.ts';
import { type Finding, unknown } from '../checks/finding.ts';

/** Who may read what, without its dot. */
export function readerText(reader: Reader): string {
  const { principal, entities, of } = reader;
  const which = entities === 'all' ? 'all entities' : entities.join(', ');
  return `the ${kindOf(principal)} ${readerName(reader)} may read ${of.join(' and ')} of ${which}`;
}

/** Who may read, for a person to look at: AWS takes an account of others, a role or an organization that is none. */
export function readersFinding({ readers = [] }: Pick<Deployment, 'readers'>): Finding[] {
  if (readers.length === 0) return [];
  const untold = 'Whether one is mistyped cannot be told from here';
  return [
    unknown(`${readers.map(readerText).join('; ')}. ${untold}.`, 'Compare each with `readers` of the configuration.'),
  ];
}
