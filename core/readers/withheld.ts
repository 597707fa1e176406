import { meantInManifests } from '../columns/left-out.ts';
import { exceptedOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { untoldEntries } from '../export/judge.ts';
import { factsOf, type Manifest } from '../export/manifest.ts';
import { exceptedPlaces } from '../gate/checks.ts';

type PublishedFile = Pick<Manifest, 'file' | 'request' | 'fields' | 'leftOut'>;

/**
 * Checks by its manifest whether today's column settings withhold a published file from readers in other accounts: the
 * file has, or may have, a left-out column.
 * @param newest manifest of the entity: it may show which column an entry names
 * @returns the reason, in words; `undefined` if readers may have the file
 */
export function whyWithheld(
  manifest: PublishedFile,
  plan: Pick<EntityPlan, 'columns'>,
  newest?: PublishedFile,
): string | undefined {
  const except = exceptedOf(plan);
  if (except.length === 0) return undefined;
  const others = newest ? [newest] : [];
  const [unknown] = untoldEntries(except, manifest, others);
  if (unknown !== undefined) return `may have the column that columns.except names as "${unknown}"`;
  const facts = factsOf(manifest);
  const names = facts.header ?? manifest.request.columns;
  const meant = new Set(
    except.flatMap((entry) => meantInManifests(entry, names, [manifest, ...others])).map(({ name }) => name),
  );
  const excepted = names.filter((name) => meant.has(name)).length;
  if (!facts.content) return exceptedPlaces(facts)?.detail ?? undefined;
  const { width, otherHeaders } = facts.content;
  const content = { ...facts.content, excepted: Math.max(excepted, facts.content.excepted ?? 0) };
  // The run may have checked the file for other columns than those that are left out today.
  const wereLookedFor = [...meant].every((name) => manifest.leftOut.some((column) => column.name === name));
  if (!wereLookedFor && width === 1) return 'may have cells with several values, of which one must not be there';
  if (!wereLookedFor) content.leftOutHeaders = otherHeaders;
  return exceptedPlaces({ ...facts, content })?.detail ?? undefined;
}
