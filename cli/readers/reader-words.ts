import type { Reader } from '../../core/config/reader-settings.ts';

/** The principal as a person names it, without what kind it is. */
export function nameOf({ principal }: Pick<Reader, 'principal'>): string {
  return typeof principal === 'string' ? principal : principal.organization;
}

/** Who may read what, without its dot. */
export function readerText(reader: Reader): string {
  const { principal, entities, of } = reader;
  const kind = typeof principal !== 'string' ? 'organization' : principal.startsWith('arn:') ? 'role' : 'account';
  const which = entities === 'all' ? 'all entities' : entities.join(', ');
  return `the ${kind} ${nameOf(reader)} may read ${of.join(' and ')} of ${which}`;
}
