import { leftOutToday } from '../columns/left-out.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import { exceptedPlaces } from '../gate/checks.ts';

type PublishedFile = Pick<Manifest, 'file' | 'run'>;

/**
 * Checks by its manifest whether today's column settings withhold a published file from readers in other accounts: the
 * file has, or may have, a left-out column.
 * @param newest manifest of the entity: it may show which column an entry names
 * @returns the reason, in words; `undefined` if readers may have the file
 */
export function withheldReason(
  { file, run }: PublishedFile,
  plan: Pick<EntityPlan, 'columns'>,
  newest?: PublishedFile,
): string | undefined {
  const except = plan.columns.except;
  if (except.length === 0) return undefined;
  const { leftOut, unexplained } = leftOutToday(except, { run, header: file.header }, newest?.run);
  if (unexplained !== undefined) return `may have the column of the entry "${unexplained}" in columns.except`;
  const names = file.header ?? run.request.columns;
  const meant = new Set(leftOut.map(({ name }) => name));
  const excepted = names.filter((name) => meant.has(name)).length;
  if (!file.content) return exceptedPlaces(file)?.detail ?? undefined;
  const { width, otherHeaders } = file.content;
  const content = { ...file.content, excepted: Math.max(excepted, file.content.excepted ?? 0) };
  // When the file was checked, other columns may have been left out than today.
  const wereChecked = [...meant].every((name) => run.excepted.some((column) => column.name === name));
  if (!wereChecked && width === 1) return 'may have cells with several values, of which one must not be there';
  if (!wereChecked) content.leftOutHeaders = otherHeaders;
  return exceptedPlaces({ ...file, content })?.detail ?? undefined;
}
